#include "diagnosis/regression/unneeded_python.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

#include "diagnosis/deciding_numbers.h"
#include "diagnosis/measurements/device_kernels.h"
#include "diagnosis/measurements/stack_frames.h"
#include "diagnosis/regression/active_steps.h"

namespace eroica {
namespace {

template <size_t N>
bool HasPart(std::string_view frame, const std::array<std::string_view, N>& parts) {
  return std::any_of(parts.begin(), parts.end(), [frame](std::string_view part) {
    return frame.find(part) != std::string_view::npos;
  });
}

// "train.py(120): forward" and "model.py: forward" are called forward.
bool IsCalled(std::string_view frame, std::string_view name) {
  return frame == name || frame.ends_with(": " + std::string(name));
}

// What feeds, saves, compiles or communicates: its cost has other reasons than the code.
bool FeedsOrSaves(std::string_view frame) {
  static constexpr std::array<std::string_view, 10> kParts = {
      "dataloader",    "DataLoader", "dataset",     "Dataset", "utils/data",
      "serialization", "checkpoint", "distributed", "_dynamo", "_inductor"};
  return HasPart(frame, kParts) || IsCalled(frame, "__getitem__") || IsCalled(frame, "__next__");
}

// What computes and applies gradients.
bool Trains(std::string_view frame) {
  static constexpr std::array<std::string_view, 6> kParts = {
      "nn.Module", "torch/nn/", "autograd", "torch/optim", "optimizer", "Optimizer"};
  return HasPart(frame, kParts) || IsCalled(frame, "forward") || IsCalled(frame, "backward");
}

// What a training step is made of.
bool IsOfTraining(std::string_view frame) { return FeedsOrSaves(frame) || Trains(frame); }

// CPython's own, as traces show it.
bool Sleeps(std::string_view frame) {
  return IsBuiltin(frame) && frame.find("sleep") != std::string_view::npos;
}

struct FrameTime {
  double ns = 0;        // a step
  double sleep_ns = 0;  // of these
  size_t depth = 0;
  std::string_view stack;
};

using FrameTimes = std::map<std::string_view, FrameTime>;

// All Python on the critical path, whatever it is for.
class PythonOfRank {
 public:
  explicit PythonOfRank(const PatternBatch& batch) {
    for (const FunctionPattern& pattern : batch.patterns) {
      if (pattern.function_class != FunctionClass::kPython || pattern.critical_ns <= 0) continue;
      const auto ns = static_cast<double>(pattern.critical_ns);
      const std::vector<std::string_view> frames = FramesOf(pattern);
      if (std::any_of(frames.begin(), frames.end(), Trains)) trains_ns_ += ns;
      if (pattern.wait == WaitKind::kNone) all_ns_ += ns;
      // An annotation without callers does not show which function it lies in.
      if (IsPythonCall(pattern.name) || !pattern.stack.empty()) Hold(frames, ns);
    }
  }

  // Where no frame is recognized as training, none can be called unneeded.
  bool KnowsTraining() const { return trains_ns_ > 0 && trains_ns_ >= kLeastKnown * all_ns_; }
  // Whether the frame contains the training loop: a module's own code runs once, so that one which
  // is seen in most steps contains them; and so does a frame that calls nearly all that is seen.
  bool IsLoop(std::string_view frame) const {
    if (IsCalled(frame, "<module>")) return true;
    const auto held = held_.find(frame);
    return held != held_.end() && held->second.calls && held->second.ns >= kLoop * held_ns_;
  }

 private:
  static constexpr double kLeastKnown = 0.1;
  static constexpr double kLoop = 0.95;  // stacks that are too deep lack their outermost frames
  struct Held {
    double ns = 0;
    bool calls = false;
  };

  void Hold(const std::vector<std::string_view>& frames, double ns) {
    held_ns_ += ns;
    for (size_t i = 0; i < frames.size(); ++i) {
      Held& held = held_[frames[i]];
      const auto here = frames.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::find(frames.begin(), here, frames[i]) == here) held.ns += ns;
      if (i + 1 < frames.size()) held.calls = true;
    }
  }

  std::map<std::string_view, Held> held_;
  double held_ns_ = 0;
  double trains_ns_ = 0;
  double all_ns_ = 0;
};

// Of Python that training does not need, by frame.
FrameTimes UnneededOf(const PatternBatch& batch) {
  FrameTimes times;
  if (!batch.host_only && !ComputesOnDevice(batch)) return times;
  const PythonOfRank python(batch);
  if (batch.host_only && !python.KnowsTraining()) return times;
  const double steps = static_cast<double>(batch.steps.size());
  for (const FunctionPattern& pattern : batch.patterns) {
    if (pattern.function_class != FunctionClass::kPython || pattern.wait != WaitKind::kNone ||
        pattern.critical_ns <= 0 || !IsPythonCall(pattern.name))
      continue;
    if (pattern.active_steps < kMostSteps * steps) continue;
    const std::vector<std::string_view> frames = FramesOf(pattern);
    if (std::any_of(frames.begin(), frames.end(), batch.host_only ? IsOfTraining : FeedsOrSaves))
      continue;
    const double ns = static_cast<double>(pattern.critical_ns) / steps;
    for (size_t depth = batch.host_only ? 0 : frames.size() - 1; depth < frames.size(); ++depth) {
      const bool recursive =
          std::find(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(depth),
                    frames[depth]) != frames.begin() + static_cast<std::ptrdiff_t>(depth);
      if (recursive || python.IsLoop(frames[depth])) continue;
      FrameTime& time = times[frames[depth]];
      time.ns += ns;
      if (Sleeps(frames.back())) time.sleep_ns += ns;
      time.depth = std::max(time.depth, depth);
      const std::string_view stack = pattern.stack;
      const bool leaf = depth + 1 == frames.size();
      time.stack =
          leaf ? stack : stack.substr(0, static_cast<size_t>(frames[depth].data() - stack.data()));
    }
  }
  if (batch.host_only)
    std::erase_if(times,
                  [](const auto& time) { return time.second.sleep_ns < kHalf * time.second.ns; });
  return times;
}

// Frames that hold too much of a step on all of the ranks, with the least of them.
FrameTimes OnAll(const CrossRankView& view, const std::vector<RankIndex>& ranks,
                 const ExpectationOptions& options) {
  FrameTimes least;
  std::map<std::string_view, double> most;
  for (const RankIndex rank : ranks) {
    const PatternBatch& batch = *view.ranks()[rank].batch;
    FrameTimes own = UnneededOf(batch);
    const double least_ns = options.max_python_share * view.ranks()[rank].step.duration_ns;
    std::erase_if(own, [least_ns](const auto& entry) { return entry.second.ns < least_ns; });
    if (rank == ranks.front()) least = own;
    std::erase_if(least, [&own](const auto& entry) { return !own.contains(entry.first); });
    if (least.empty()) return {};
    for (auto& [frame, time] : least) {
      const double ns = own.at(frame).ns;
      time.ns = std::min(time.ns, ns);
      most[frame] = std::max(most[frame], ns);
    }
  }
  std::erase_if(least, [&](const auto& entry) {
    return most.at(entry.first) > (1 + options.max_spread) * entry.second.ns;
  });
  return least;
}

std::string Callers(std::string_view stack) {
  if (stack.ends_with(kStackSeparator)) stack.remove_suffix(kStackSeparator.size());
  return std::string(stack);
}

}  // namespace

std::optional<UnneededPython> FindUnneededPython(const CrossRankView& view,
                                                 const ExpectationOptions& options) {
  std::vector<std::vector<RankIndex>> roles(view.role_count());
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    const RankView& rank = view.ranks()[i];
    if (rank.batch->steps.size() >= options.min_steps) roles[rank.role].push_back(i);
  }
  for (const std::vector<RankIndex>& ranks : roles) {
    if (ranks.size() < options.min_ranks) continue;
    const FrameTimes frames = OnAll(view, ranks, options);
    double best_ns = 0;
    for (const auto& [frame, time] : frames) best_ns = std::max(best_ns, time.ns);
    const std::pair<const std::string_view, FrameTime>* chosen = nullptr;
    for (const auto& entry : frames) {
      if (IsBuiltin(entry.first) || entry.second.ns < kHalf * best_ns) continue;
      if (chosen == nullptr || entry.second.depth > chosen->second.depth) chosen = &entry;
    }
    if (chosen == nullptr) continue;
    const double step_ns = view.ranks()[ranks.front()].step.duration_ns;
    return UnneededPython{.name = std::string(chosen->first),
                          .stack = Callers(chosen->second.stack),
                          .ns = chosen->second.ns,
                          .step_ns = step_ns,
                          .ranks = static_cast<uint32_t>(ranks.size())};
  }
  return std::nullopt;
}

}  // namespace eroica
