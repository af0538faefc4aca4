// No hot call allocates, frees or takes a lock on the thread that makes it, in the library as
// training processes load it: malloc and its kin and the locks of pthread are this program's own,
// and count on a thread that asks for it. What the emitter's thread does is its own matter.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <semaphore.h>

#include <cstdlib>
#include <functional>
#include <thread>

#include "producers/core/testing/attached_core.h"

namespace {

thread_local bool counting = false;
thread_local uint64_t allocations = 0;
thread_local uint64_t locks = 0;

void Count(uint64_t& counter) {
  if (counting) ++counter;
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
int pthread_cond_signal(pthread_cond_t* condition) {
  static auto* real = Real<int(pthread_cond_t*)>("pthread_cond_signal");
  Count(locks);
  return real(condition);
}
int sem_wait(sem_t* semaphore) {
  static auto* real = Real<int(sem_t*)>("sem_wait");
  Count(locks);
  return real(semaphore);
}

}  // extern "C"

namespace eroica {
namespace {

AttachedCore& Core() {
  static AttachedCore core;
  return core;
}

struct HotCalls {
  uint32_t kernel =
      eroica_function("kernel", EROICA_GPU_COMPUTE, EROICA_WAIT_NONE, EROICA_NO_PARENT);
  uint32_t reduce =
      eroica_function("all_reduce", EROICA_COLLECTIVE, EROICA_WAIT_NONE, EROICA_NO_PARENT);
  uint8_t lane = eroica_lane("stream 7", EROICA_DEVICE_STREAM);
  uint16_t communicator = eroica_communicator(5, "dp", "data", 8, nullptr);

  void Make(int64_t i) const {
    const int64_t now = eroica_now_ns();
    const EroicaCollective collective{
        .communicator = communicator,
        .operation = EROICA_ALL_REDUCE,
        .peer = -1,
        .sequence = i % 2 == 0 ? EROICA_NO_SEQUENCE : static_cast<uint64_t>(i),
        .bytes = 1 << 20};
    const EroicaConnection connection{
        .peer = 3, .resource = EROICA_NIC, .bytes = 9, .communicator = communicator};
    eroica_step(now);
    eroica_dataloader_next(now);
    eroica_training_function(kernel);
    if (eroica_trainer().thread == 0) std::abort();
    if (eroica_trains()) eroica_trainer_ended(eroica_trainer().number);
    eroica_interval(now, now + 5, kernel, lane);
    eroica_mark(now, EROICA_FORWARD_BEGIN, 0);
    eroica_sample(now, EROICA_CPU, 0.5F);
    const uint64_t ticket = eroica_collective_launched(&collective, now);
    eroica_collective_started(ticket);
    // Some are never heard of again: the table of what is in flight fills up.
    if (i % 16 != 0) eroica_collective_ended(ticket, now, now + 7, reduce, lane);
    if (i % 64 == 0) eroica_collective_dropped(ticket);
    eroica_connection(now, &connection);
    eroica_lost(EROICA_LOST_SAMPLE, 1, 1);
    eroica_optimizer_step(eroica_from_realtime_ns(now));
    eroica_interval(eroica_from_monotonic_ns(now), now, kernel, lane);
    if (!eroica_enabled() || !eroica_wants(EROICA_PYTHON) || eroica_capture_level() < 0)
      std::abort();
  }
};

void CountWhile(const std::function<void()>& work) {
  allocations = 0;
  locks = 0;
  counting = true;
  work();
  counting = false;
}

TEST(HotCallCost, TheCountersCount) {
  CountWhile([] {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    int* volatile made = new int(1);
    delete made;
  });
  EXPECT_GE(allocations, 2u);
  EXPECT_EQ(locks, 1u);
}

// The library's own calls to malloc meet this program's: else the test below could not fail.
TEST(HotCallCost, TheCountersSeeIntoTheLibrary) {
  ASSERT_TRUE(Core().attached()) << eroica_off_reason();
  CountWhile([] {
    eroica_function("a name that nobody has asked for yet", EROICA_PYTHON, 0, EROICA_NO_PARENT);
  });
  EXPECT_GT(allocations, 0u);
  EXPECT_GT(locks, 0u);
}

TEST(HotCallCost, HotCallsNeitherAllocateNorLock) {
  ASSERT_TRUE(Core().attached()) << eroica_off_reason();
  const HotCalls calls;
  const uint64_t before =
      AttachedCore::Statistics().events_taken + AttachedCore::Statistics().events_lost;
  calls.Make(0);  // the first event of a thread takes a ring
  // More than a ring holds: the path for full rings is among them.
  CountWhile([&] {
    for (int64_t i = 1; i < 20'000; ++i) calls.Make(i);
  });
  EXPECT_EQ(allocations, 0u);
  EXPECT_EQ(locks, 0u);
  EXPECT_TRUE(AttachedCore::AwaitEvents(before + 100'000))
      << "nothing was taken, so that nothing was counted";
}

TEST(HotCallCost, NorInOtherThreads) {
  ASSERT_TRUE(Core().attached()) << eroica_off_reason();
  const HotCalls calls;
  uint64_t counted = 1;
  std::thread([&] {
    calls.Make(0);
    CountWhile([&] {
      for (int64_t i = 1; i < 5'000; ++i) calls.Make(i);
    });
    counted = allocations + locks;
  }).join();
  EXPECT_EQ(counted, 0u);
}

}  // namespace
}  // namespace eroica
