// No callback after init allocates, frees or takes a mutex: malloc and its kin, and the locks of
// pthread, are this program's own and count while the plugin is called. The core behind it is
// empty, so that what is counted is the plugin's.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <semaphore.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <vector>

#include "producers/nccl/abi_adapters.h"
#include "producers/nccl/testing/empty_core.h"
#include "producers/nccl/testing/nccl_harness.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<uint64_t> allocations{0};
std::atomic<uint64_t> locks{0};

void Count(std::atomic<uint64_t>& counter) {
  if (counting.load(std::memory_order_relaxed)) counter.fetch_add(1, std::memory_order_relaxed);
}

template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* memory);

void* malloc(size_t size) {
  Count(allocations);
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  Count(allocations);
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  Count(allocations);
  return __libc_realloc(memory, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  Count(allocations);
  return __libc_memalign(alignment, size);
}
void free(void* memory) {
  Count(allocations);
  __libc_free(memory);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static auto* real = Real<int(pthread_mutex_t*)>("pthread_mutex_lock");
  Count(locks);
  return real(mutex);
}
int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  static auto* real = Real<int(pthread_mutex_t*)>("pthread_mutex_trylock");
  Count(locks);
  return real(mutex);
}
int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  static auto* real = Real<int(pthread_rwlock_t*)>("pthread_rwlock_rdlock");
  Count(locks);
  return real(lock);
}
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  static auto* real = Real<int(pthread_rwlock_t*)>("pthread_rwlock_wrlock");
  Count(locks);
  return real(lock);
}
int sem_wait(sem_t* semaphore) {
  static auto* real = Real<int(sem_t*)>("sem_wait");
  Count(locks);
  return real(semaphore);
}

}  // extern "C"

namespace eroica::nccl {
namespace {

class CallbackCostTest : public ::testing::TestWithParam<int> {
 protected:
  CallbackCostTest() : recorder_({.proxy_sampling = 2}, {.operations = 64, .children = 64}) {
    SetProcessRecorder(&recorder_);
    const std::array<void*, 5> tables = {&v3_, &v4_, &v5_, &v6_, &v7_};
    harness_ = MakeNcclHarness(GetParam(), tables[static_cast<size_t>(GetParam() - 3)]);
  }
  ~CallbackCostTest() override {
    counting = false;
    SetProcessRecorder(nullptr);
  }

  CollectiveRecorder recorder_;
  ProfilerV3 v3_ = MakeProfilerV3();
  ProfilerV4 v4_ = MakeProfilerV4();
  ProfilerV5 v5_ = MakeProfilerV5();
  ProfilerV6 v6_ = MakeProfilerV6();
  ProfilerV7 v7_ = MakeProfilerV7();
  std::unique_ptr<NcclHarness> harness_;
};
INSTANTIATE_TEST_SUITE_P(Abi, CallbackCostTest, ::testing::Values(3, 4, 5, 6, 7));

TEST(CallbackCost, TheCountersCount) {
  counting = true;
  allocations = 0;
  locks = 0;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  int* volatile made = new int(1);
  delete made;
  counting = false;
  EXPECT_GE(allocations, 2u);
  EXPECT_EQ(locks, 1u);
}

TEST_P(CallbackCostTest, CallbacksNeitherAllocateNorLock) {
  HarnessCommunicator tp = {.id = 3, .name = "tp", .nodes = 2, .ranks = 4, .rank = 0};
  harness_->Init(&tp);
  // Version 3 tells of the communicator with its first operation, which may cost what an init does.
  harness_->Stop(harness_->Start(tp, {}));
  const uint64_t before = EmptyCoreLaunched();
  std::array<void*, 8> channels{};
  allocations = 0;
  locks = 0;
  counting = true;
  for (uint64_t i = 0; i < 2'000; ++i) {
    harness_->StartOfType(tp, kGroupEvent, nullptr);
    void* operation = harness_->Start(tp, {.sequence = i, .channels = 8});
    void* proxy = harness_->StartProxyOp(tp, operation, {});
    void* step = harness_->StartOfType(tp, kProxyStepEvent, proxy);
    harness_->Record(step, kProxyStepSendWait, 100);
    uint8_t number = 0;
    for (void*& channel : channels) {
      channel = harness_->StartKernelChannel(tp, operation, number++, 1'000 + i);
    }
    harness_->Stop(operation);
    // Now and then what NCCL forgets: the paths for full pools and stale handles.
    if (i % 5 > 0) harness_->Stop(step);
    if (i % 7 > 0) harness_->Stop(proxy);
    for (void* channel : channels) harness_->StopKernelChannel(channel, 2'000 + i);
    harness_->Stop(operation);
  }
  harness_->Finalize(tp.context);
  counting = false;
  EXPECT_EQ(allocations, 0u);
  EXPECT_EQ(locks, 0u);
  EXPECT_GT(EmptyCoreLaunched(), before + 100);
  EXPECT_EQ(EmptyCoreEnded(), EmptyCoreLaunched());
}

}  // namespace
}  // namespace eroica::nccl
