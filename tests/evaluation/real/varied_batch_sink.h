// Records a job in another way, on its way to the stages: only some of its ranks, in windows of
// another length, without the marks of its steps. What the ranks know of the job, such as its world
// size, stays. One thread; batches of each producer in order.
#pragma once

#include <cstdint>
#include <map>

#include "producers/core/batch_sink.h"
#include "tests/evaluation/real/variation.h"

namespace eroica {

class VariedBatchSink final : public BatchSink {
 public:
  // Both must outlive this. variation.stacks is the matter of whoever chooses the batches.
  VariedBatchSink(BatchSink& sink, const Variation& variation)
      : sink_(sink), variation_(variation) {}

  absl::Status Write(const EventBatch& batch) override;

 private:
  // Of a rank whose events are all of one step.
  struct OnlyStep {
    bool begun = false;
    int64_t end_ns = 0;  // of what has ended last
  };
  void MakeOneStep();

  BatchSink& sink_;
  const Variation& variation_;
  std::map<uint32_t, OnlyStep> only_steps_;  // by rank
  EventBatch batch_;
};

}  // namespace eroica
