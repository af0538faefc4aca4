#include "producers/import/pause_marks.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace eroica {
namespace {

// The ends of the names: traces give paths in full or from the package on.
constexpr std::array<std::pair<std::string_view, Pause>, 13> kPausing = {{
    {"torch/serialization.py: save", Pause::kCheckpoint},
    {"torch/distributed/checkpoint/state_dict_saver.py: save", Pause::kCheckpoint},
    {"torch/distributed/checkpoint/state_dict_saver.py: async_save", Pause::kCheckpoint},
    {"safetensors/torch.py: save_file", Pause::kCheckpoint},
    {"transformers/trainer.py: _save_checkpoint", Pause::kCheckpoint},
    {"lightning/pytorch/trainer/trainer.py: save_checkpoint", Pause::kCheckpoint},
    {"megatron/training/checkpointing.py: save_checkpoint", Pause::kCheckpoint},
    {"deepspeed/runtime/engine.py: save_checkpoint", Pause::kCheckpoint},
    {"transformers/trainer.py: evaluate", Pause::kEvaluation},
    {"transformers/trainer.py: evaluation_loop", Pause::kEvaluation},
    {"lightning/pytorch/loops/evaluation_loop.py: run", Pause::kEvaluation},
    {"megatron/training/training.py: evaluate", Pause::kEvaluation},
    {"megatron/training/training.py: evaluate_and_print_results", Pause::kEvaluation},
}};

// By number, where the begins of the rank's steps lie.
std::map<int64_t, int64_t> StepsByBegin(const RankTrace& trace) {
  std::map<int64_t, int64_t> steps;
  for (const Mark& mark : trace.marks) {
    if (mark.kind == MarkKind::kStepBegin) steps.emplace(mark.time_ns, mark.id);
  }
  return steps;
}

}  // namespace

Pause PauseOfFunction(std::string_view name) {
  for (const auto& [end, pause] : kPausing) {
    if (!name.ends_with(end)) continue;
    const size_t before = name.size() - end.size();
    return before == 0 || name[before - 1] == '/' ? pause : Pause::kNone;
  }
  return Pause::kNone;
}

void PauseMarks::Add(int64_t start_ns, int64_t end_ns, uint8_t lane, Pause pause) {
  if (frames_.size() < kMostFrames) frames_.push_back({start_ns, end_ns, lane, pause});
}

void PauseMarks::AppendTo(RankTrace* trace) {
  std::erase_if(frames_, [trace](const Frame& frame) {
    return trace->lanes[frame.lane].kind != LaneKind::kTrainingThread;
  });
  const std::map<int64_t, int64_t> steps = StepsByBegin(*trace);
  std::set<int64_t> paused;
  for (const Frame& frame : frames_) {
    const auto next = steps.upper_bound(frame.start_ns);
    if (next != steps.begin()) paused.insert(std::prev(next)->second);
  }
  if (2 * paused.size() > steps.size()) return;
  // The outermost frames: what a checkpoint calls is part of it.
  std::ranges::sort(frames_, {},
                    [](const Frame& frame) { return std::pair(frame.start_ns, -frame.end_ns); });
  int64_t until_ns = 0;
  for (const Frame& frame : frames_) {
    if (frame.start_ns < until_ns) continue;
    until_ns = frame.end_ns;
    const bool checkpoint = frame.pause == Pause::kCheckpoint;
    trace->marks.push_back(
        {frame.start_ns, checkpoint ? MarkKind::kCheckpointBegin : MarkKind::kEvaluationBegin});
    trace->marks.push_back(
        {frame.end_ns, checkpoint ? MarkKind::kCheckpointEnd : MarkKind::kEvaluationEnd});
  }
}

}  // namespace eroica
