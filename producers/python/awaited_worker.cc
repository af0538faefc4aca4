#include "producers/python/awaited_worker.h"

#include <atomic>

#include "producers/core/producer_core.h"

namespace eroica {
namespace {

std::atomic<uint64_t> awaited{0};  // the process above the function; 0: none

}  // namespace

void AwaitWorker(const AwaitedWorker& worker) {
  if (worker.process <= 0 || !eroica_trains()) return;
  awaited.store(static_cast<uint64_t>(worker.process) << 32 | worker.function,
                std::memory_order_relaxed);
}

void EndOfAwait() { awaited.store(0, std::memory_order_relaxed); }

std::optional<AwaitedWorker> WorkerThatIsAwaited() {
  const uint64_t packed = awaited.load(std::memory_order_relaxed);
  if (packed == 0) return std::nullopt;
  return AwaitedWorker{.process = static_cast<int32_t>(packed >> 32),
                       .function = static_cast<uint32_t>(packed)};
}

}  // namespace eroica
