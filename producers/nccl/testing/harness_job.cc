#include "producers/nccl/testing/harness_job.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

#include "producers/nccl/abi_types.h"
#include "schemas/mutex.h"

namespace eroica::nccl {
namespace {

uint64_t DeviceTimer() {
  constexpr uint64_t kDeviceAheadNs = 77'000'000'000;  // the device counts from elsewhere
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return kDeviceAheadNs +
         static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

// What the launching thread hands to the proxy thread.
class KernelQueue {
 public:
  void Push(std::vector<void*> operations) {
    const MutexLock lock(mutex_);
    kernels_.push_back(std::move(operations));
    changed_.notify_all();
  }
  void Close() {
    const MutexLock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  bool Pop(std::vector<void*>* operations) {
    MutexLock lock(mutex_);
    changed_.wait(lock.native(), [&] { return closed_ || !kernels_.empty(); });
    if (kernels_.empty()) return false;
    *operations = std::move(kernels_.front());
    kernels_.pop_front();
    return true;
  }

 private:
  Mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::vector<void*>> kernels_;
  bool closed_ = false;
};

void SendOverNetwork(NcclHarness* harness, const HarnessCommunicator& communicator, void* parent) {
  constexpr uint64_t kStepBytes = 1 << 19;
  void* operation = harness->StartProxyOp(communicator, parent, {});
  for (int step = 0; step < 2; ++step) {
    void* handle = harness->StartOfType(communicator, kProxyStepEvent, operation);
    if (handle == nullptr) continue;
    harness->Record(handle, kProxyStepSendWait, kStepBytes);
    harness->Stop(handle);
  }
  if (operation != nullptr) harness->Stop(operation);
}

// The proxy thread's share: all channels of a kernel start, then all stop.
void RunKernel(NcclHarness* harness, const HarnessJob& job, const HarnessCommunicator& communicator,
               const std::vector<void*>& operations) {
  std::vector<void*> channels;
  for (void* operation : operations) {
    for (uint8_t channel = 0; channel < job.channels; ++channel) {
      channels.push_back(
          harness->StartKernelChannel(communicator, operation, channel, DeviceTimer()));
    }
    if (job.network) SendOverNetwork(harness, communicator, operation);
  }
  for (void* channel : channels) harness->StopKernelChannel(channel, DeviceTimer());
}

uint64_t PlayCommunicator(NcclHarness* harness, const HarnessJob& job, int index) {
  HarnessCommunicator communicator = {
      .id = static_cast<uint64_t>(index) + 1, .name = "", .nodes = 2, .ranks = 4, .rank = 0};
  harness->Init(&communicator);
  KernelQueue queue;
  const HarnessCommunicator seen_by_proxy = communicator;
  std::thread proxy([&] {
    std::vector<void*> operations;
    while (queue.Pop(&operations)) RunKernel(harness, job, seen_by_proxy, operations);
  });
  uint64_t launched = 0, sequence = 0;
  for (int kernel = 0; kernel < job.kernels; ++kernel) {
    void* group = harness->StartOfType(communicator, kGroupEvent, nullptr);
    std::vector<void*> operations;
    for (int i = 0; i < job.operations_of_a_kernel; ++i) {
      void* operation =
          harness->Start(communicator, {.sequence = sequence++, .channels = job.channels});
      operations.push_back(operation);
      if (operation != nullptr) ++launched;
    }
    queue.Push(operations);
    for (void* operation : operations) {
      if (operation != nullptr) harness->Stop(operation);
    }
    if (group != nullptr) harness->Stop(group);
  }
  if (job.finalize_early) harness->Finalize(communicator.context);
  queue.Close();
  proxy.join();
  if (!job.finalize_early) harness->Finalize(communicator.context);
  return launched;
}

}  // namespace

uint64_t PlayJob(NcclHarness* harness, const HarnessJob& job) {
  std::atomic<uint64_t> launched{0};
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(job.communicators));
  for (int i = 0; i < job.communicators; ++i) {
    threads.emplace_back([&, i] { launched += PlayCommunicator(harness, job, i); });
  }
  for (std::thread& thread : threads) thread.join();
  return launched;
}

}  // namespace eroica::nccl
