#include "tests/evaluation/simulate/pipeline_schedule.h"

#include <algorithm>
#include <cstddef>

namespace eroica::simulate {
namespace {

struct Pass {
  bool backward = false;
  uint32_t micro_batch = 0;
  uint32_t chunk = 0;
};

// The number-th forward or backward pass of a stage: groups of `stages` micro batches go through
// chunk after chunk; backward from the last chunk on.
Pass NumberedPass(const PipelineShape& shape, uint32_t number, bool backward) {
  if (shape.chunks == 1) return {.backward = backward, .micro_batch = number};
  const uint32_t group = number / (shape.stages * shape.chunks);
  const uint32_t place = number % (shape.stages * shape.chunks);
  const uint32_t chunk = place / shape.stages;
  return {.backward = backward,
          .micro_batch = group * shape.stages + place % shape.stages,
          .chunk = backward ? shape.chunks - 1 - chunk : chunk};
}

// Forward passes before the first backward one.
uint32_t WarmUpPasses(const PipelineShape& shape, uint32_t stage) {
  const uint32_t after = shape.stages - 1 - stage;
  const uint32_t warm_up =
      shape.chunks == 1 ? after : 2 * after + (shape.chunks - 1) * shape.stages;
  return std::min(warm_up, shape.micro_batches * shape.chunks);
}

std::vector<Pass> PassesOf(const PipelineShape& shape, uint32_t stage) {
  const uint32_t total = shape.micro_batches * shape.chunks;
  const uint32_t warm_up = WarmUpPasses(shape, stage);
  std::vector<Pass> passes;
  passes.reserve(size_t{2} * total);
  for (uint32_t i = 0; i < warm_up; ++i) passes.push_back(NumberedPass(shape, i, false));
  for (uint32_t i = 0; i < total; ++i) {
    if (i + warm_up < total) passes.push_back(NumberedPass(shape, i + warm_up, false));
    passes.push_back(NumberedPass(shape, i, true));
  }
  return passes;
}

// What a stage is sent, from each side in the order of sending: from the stage before, then from
// the one after; all in the first where these two are one.
struct Inbox {
  std::vector<PipelineAction> from[2];
};

// The stages of one step. Sends follow the passes; receives follow the order of what the neighbors
// send.
class Scheduler {
 public:
  explicit Scheduler(const PipelineShape& shape) : shape_(shape), inboxes_(shape.stages) {
    for (uint32_t stage = 0; stage < shape.stages; ++stage) {
      passes_.push_back(PassesOf(shape, stage));
      for (const Pass& pass : passes_.back()) FillInbox(stage, pass);
    }
  }

  StageSchedule Schedule(uint32_t stage) const {
    StageSchedule schedule;
    Receiver receiver(shape_, inboxes_[stage], schedule);
    const std::vector<Pass>& passes = passes_[stage];
    const size_t ahead = shape_.chunks > 1 ? 1 : 0;
    for (size_t i = 0; i < passes.size(); ++i) {
      for (size_t j = i; j <= i + ahead && j < passes.size(); ++j)
        receiver.ReceiveFor(passes[j], NeedsInput(stage, passes[j]));
      const Pass& pass = passes[i];
      schedule.push_back(
          {.kind = pass.backward ? PipelineActionKind::kBackward : PipelineActionKind::kForward,
           .micro_batch = pass.micro_batch,
           .chunk = pass.chunk,
           .message = receiver.MessageFor(pass)});
      if (!GivesOutput(stage, pass)) continue;
      schedule.push_back({.kind = PipelineActionKind::kSend,
                          .gradients = pass.backward,
                          .micro_batch = pass.micro_batch,
                          .chunk = pass.chunk,
                          .peer_stages = pass.backward ? -1 : 1});
    }
    return schedule;
  }

 private:
  // Adds receives to a stage's schedule, each once, none before those that its sender sends
  // earlier.
  class Receiver {
   public:
    Receiver(const PipelineShape& shape, const Inbox& inbox, StageSchedule& schedule)
        : shape_(shape),
          inbox_(inbox),
          schedule_(schedule),
          messages_(size_t{2} * shape.chunks * shape.micro_batches, PipelineAction::kNoMessage) {}

    void ReceiveFor(const Pass& pass, bool needs_input) {
      const size_t side = pass.backward && shape_.stages > 2 ? 1 : 0;
      while (needs_input && MessageFor(pass) == PipelineAction::kNoMessage) {
        PipelineAction receive = inbox_.from[side][received_[side]++];
        receive.message = count_++;
        messages_[PlaceOf({.backward = receive.gradients,
                           .micro_batch = receive.micro_batch,
                           .chunk = receive.chunk})] = receive.message;
        schedule_.push_back(receive);
      }
    }
    uint32_t MessageFor(const Pass& pass) const { return messages_[PlaceOf(pass)]; }

   private:
    size_t PlaceOf(const Pass& pass) const {
      return (size_t{pass.chunk} * shape_.micro_batches + pass.micro_batch) * 2 +
             (pass.backward ? 1 : 0);
    }

    const PipelineShape& shape_;
    const Inbox& inbox_;
    StageSchedule& schedule_;
    std::vector<uint32_t> messages_;  // by the pass that needs it
    size_t received_[2] = {0, 0};
    uint32_t count_ = 0;
  };

  bool IsFirst(uint32_t stage, uint32_t chunk) const { return stage == 0 && chunk == 0; }
  bool IsLast(uint32_t stage, uint32_t chunk) const {
    return stage + 1 == shape_.stages && chunk + 1 == shape_.chunks;
  }
  bool NeedsInput(uint32_t stage, const Pass& pass) const {
    return pass.backward ? !IsLast(stage, pass.chunk) : !IsFirst(stage, pass.chunk);
  }
  bool GivesOutput(uint32_t stage, const Pass& pass) const {
    return pass.backward ? !IsFirst(stage, pass.chunk) : !IsLast(stage, pass.chunk);
  }

  void FillInbox(uint32_t stage, const Pass& pass) {
    if (!GivesOutput(stage, pass)) return;
    PipelineAction receive = {.kind = PipelineActionKind::kReceive,
                              .gradients = pass.backward,
                              .micro_batch = pass.micro_batch};
    const bool wraps = pass.backward ? stage == 0 : stage + 1 == shape_.stages;
    const uint32_t to = (stage + (pass.backward ? shape_.stages - 1 : 1)) % shape_.stages;
    receive.chunk = !wraps ? pass.chunk : pass.backward ? pass.chunk - 1 : pass.chunk + 1;
    receive.peer_stages = pass.backward ? 1 : -1;
    inboxes_[to].from[pass.backward && shape_.stages > 2 ? 1 : 0].push_back(receive);
  }

  PipelineShape shape_;
  std::vector<std::vector<Pass>> passes_;  // by stage
  std::vector<Inbox> inboxes_;             // by stage
};

}  // namespace

std::vector<StageSchedule> SchedulePipeline(const PipelineShape& shape) {
  const Scheduler scheduler(shape);
  std::vector<StageSchedule> schedules;
  schedules.reserve(shape.stages);
  for (uint32_t stage = 0; stage < shape.stages; ++stage)
    schedules.push_back(scheduler.Schedule(stage));
  return schedules;
}

}  // namespace eroica::simulate
