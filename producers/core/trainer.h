// Which thread of the process trains: the one that calls the step, the optimizer, the data loader
// or the backward pass. In most jobs that is the main thread; Ray Train, notebooks and scripts that
// train in a thread have another one. What is sampled of the training thread follows it.
//
// It is the main thread until any thread shows a sign of training. The first one to do so trains.
// Another one takes its place
//   at once      where the signs that it has shown since then weigh more than those of the thread
//                that trains. A sign weighs more than all that are smaller: steps that the script
//                counts, then backward passes, optimizer steps, batches. So a thread that only
//                loads batches ahead, or the engine's thread that steps optimizers within the
//                backward pass, does not train beside the one that calls the backward pass. Of two
//                threads with the same signs the first one stays.
//   after a time where the thread that trains shows none any more: for kPatienceNs, and for three
//                times the longest time that it was silent before.
//   by its end   Ended: the main thread stands in until the next sign.
// A thread is known by a number that is never given twice, so that a thread which gets the system
// id of one that has ended is another thread.
//
// Owner: any threads; the hot path has no lock. Times: of one clock, nanoseconds. After a fork the
// child has no core, and with it no trainer.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "schemas/event_batch.h"

namespace eroica {

enum class TrainingSign : uint8_t { kBatch = 1, kOptimizer = 2, kBackward = 4, kStep = 8 };

// What a mark of that kind is a sign of.
std::optional<TrainingSign> SignOf(MarkKind kind);

// What the detection of steps needs to know of the thread that has set a mark, at that moment.
enum class MarkedBy : uint8_t {
  kTrainer,                // it trains, or steps the optimizers of the one that does
  kTrainerWithoutBatches,  // likewise; the one that trains takes its batches from no data loader
  kLoader,                 // it trains as far as anybody knows: it has shown batches and no more
  kOther,                  // another thread trains
};

// What a thread keeps of itself; one a thread. Written by Trainer alone.
struct ThreadSigns {
  int32_t thread = 0;   // as gettid() says
  uint32_t number = 0;  // 0: it has shown no sign yet
  uint8_t seen = 0;     // signs, since the thread numbered trainer trains
  uint32_t trainer = 0;
};

class Trainer {
 public:
  static constexpr int64_t kPatienceNs = 10'000'000'000;
  static constexpr int64_t kLongestSilenceNs = 60'000'000'000;  // that counts

  struct Thread {
    int32_t thread = 0;   // as gettid() says
    uint32_t number = 0;  // 0: the main thread, as long as nobody has shown a sign
    friend bool operator==(const Thread&, const Thread&) = default;
  };

  explicit Trainer(int32_t main_thread) : main_thread_(main_thread) {}

  // The calling thread, whose record is `mine`, shows a sign.
  void Take(ThreadSigns& mine, TrainingSign sign, int64_t now_ns);
  bool Is(const ThreadSigns& mine) const;
  // Of a mark that the calling thread sets, behind Take. The engine's thread steps the optimizers
  // of the thread that trains, where that one steps none.
  MarkedBy Marking(const ThreadSigns& mine, MarkKind kind) const;
  Thread Read() const;
  // The thread of this number has ended.
  void Ended(uint32_t number);

 private:
  bool TakesOver(const ThreadSigns& mine, uint64_t held, int64_t now_ns) const;
  void Renew(const ThreadSigns& mine, uint64_t held, TrainingSign sign, int64_t now_ns);

  const int32_t main_thread_;
  // Number, thread and signs of the one that trains; 0: nobody has shown a sign.
  std::atomic<uint64_t> held_{0};
  // Of the one that trains: its last sign, the longest time between two. A thread that has just
  // lost its place may still write them; the next sign puts them right.
  std::atomic<int64_t> last_ns_{0};
  std::atomic<int64_t> longest_ns_{0};
};

}  // namespace eroica
