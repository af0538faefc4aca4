// The process that loads the batch which the training thread waits for, as the thread says. The
// training thread writes, the sampler's thread reads.
#pragma once

#include <cstdint>
#include <optional>

namespace eroica {

struct AwaitedWorker {
  int32_t process = 0;
  uint32_t function = 0;  // the wait, of the core's function table
};

// [the training thread; of others it does nothing]
void AwaitWorker(const AwaitedWorker& worker);
// Or another thread trains.
void EndOfAwait();
// [any thread] Nothing while no batch of a worker is waited for.
std::optional<AwaitedWorker> WorkerThatIsAwaited();

}  // namespace eroica
