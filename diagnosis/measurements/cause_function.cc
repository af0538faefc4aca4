#include "diagnosis/measurements/cause_function.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <string_view>

#include "diagnosis/measurements/class_excess.h"
#include "diagnosis/measurements/loader_workers.h"
#include "diagnosis/measurements/mean_step.h"
#include "diagnosis/measurements/sampled_stacks.h"
#include "diagnosis/measurements/stack_frames.h"
#include "diagnosis/measurements/starvation.h"
#include "diagnosis/measurements/symptom.h"
#include "diagnosis/measurements/thread_function.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

// Critical time of one frame, with all that it calls.
struct Inclusive {
  double ns = 0;
  double waited_ns = 0;       // for a processor, beside that; where that is much of the window
  double weighted_depth = 0;  // of the frame, weighted by time
  double heaviest_ns = 0;
  uint32_t active_steps = 0;  // at least: the most of any stack that holds it
  const FunctionPattern* heaviest = nullptr;
  bool is_leaf = false;  // of its heaviest function

  double depth() const { return ns > 0 ? weighted_depth / ns : 0; }
};

using InclusiveTimes = std::map<std::string_view, Inclusive>;

// Waits for the interpreter's lock are one frame, whoever held it, on this rank or on another: the
// holder is known a second or two after the first wait only, and each rank has its own.
std::string_view KeyOf(std::string_view frame) {
  return frame.starts_with(kWaitForGil) ? kWaitForGil : frame;
}

bool NamesHolder(const FunctionPattern& pattern) {
  return pattern.name.find(',') != std::string::npos;
}

// Whether the pattern describes the frame better than what was seen of it so far: it is heavier,
// and of waits for the lock one that names the holder.
bool DescribesBetter(const FunctionPattern& pattern, double ns, const Inclusive& so_far) {
  if (so_far.heaviest == nullptr) return true;
  const bool names = NamesHolder(pattern), named = NamesHolder(*so_far.heaviest);
  if (pattern.name.starts_with(kWaitForGil) && names != named) return names;
  return ns > so_far.heaviest_ns;
}

void AddWaits(const PatternBatch& batch, const FunctionPattern& pattern, InclusiveTimes* times) {
  std::vector<std::string_view> frames = FramesOf(pattern);
  frames.pop_back();
  for (const std::string_view frame : std::set(frames.begin(), frames.end()))
    (*times)[KeyOf(frame)].waited_ns += PerStep(batch, pattern.total_ns);
}

InclusiveTimes InclusiveTimesOf(const PatternBatch& batch) {
  InclusiveTimes times;
  for (const FunctionPattern& pattern : batch.patterns) {
    if (pattern.name == kWaitsWithin) AddWaits(batch, pattern, &times);
    if (IsSymptom(pattern) || pattern.critical_ns <= 0) continue;
    const double ns = PerStep(batch, pattern.critical_ns);
    const std::vector<std::string_view> frames = FramesOf(pattern);
    std::set<std::string_view> counted;  // a recursive frame counts once, at its outermost call
    for (size_t depth = 0; depth < frames.size(); ++depth) {
      if (!counted.insert(frames[depth]).second) continue;
      Inclusive& entry = times[KeyOf(frames[depth])];
      entry.ns += ns;
      entry.weighted_depth += ns * static_cast<double>(depth);
      entry.active_steps = std::max(entry.active_steps, pattern.active_steps);
      if (DescribesBetter(pattern, ns, entry)) {
        entry.heaviest_ns = ns;
        entry.heaviest = &pattern;
        entry.is_leaf = depth + 1 == frames.size();
      }
    }
  }
  std::erase_if(times, [](const auto& entry) { return entry.second.heaviest == nullptr; });
  return times;
}

std::vector<RankIndex> PeersOf(const CrossRankView& view, RankIndex rank,
                               const CauseOptions& options) {
  std::vector<RankIndex> all;
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    const bool is_peer =
        options.peers_of_any_role || view.ranks()[i].role == view.ranks()[rank].role;
    if (i != rank && is_peer && !view.ranks()[i].silent) all.push_back(i);
  }
  if (all.size() <= options.max_peers) return all;
  std::vector<RankIndex> spread;
  for (uint32_t k = 0; k < options.max_peers; ++k)
    spread.push_back(all[k * all.size() / options.max_peers]);
  return spread;
}

std::string_view CallerOf(const FunctionPattern& pattern) {
  const std::string_view stack = pattern.stack;
  const size_t separator = stack.rfind(kStackSeparator);
  return separator == std::string_view::npos ? stack
                                             : stack.substr(separator + kStackSeparator.size());
}

// True where several ranks spend time in the leaf, and call it from here and there: then the place
// that called it on one rank is a coincidence, and what they share is the leaf. (Garbage collection
// strikes below whatever frame runs.)
bool IsCalledFromAnywhere(const CrossRankView& view, RankIndex rank, std::string_view leaf) {
  constexpr size_t kFewestRanks = 3;  // two ranks may have two faults
  // of what the rank takes: in rotation, others have a stroke where it has a few
  constexpr double kSmallPart = 1.0 / 8;
  constexpr double kOnePlace = 0.9;
  std::vector<const FunctionColumn*> columns;  // one a caller and stack
  std::vector<double> of_rank(view.ranks().size(), 0);
  for (const FunctionColumn& column : view.functions()) {
    if (column.sample->name != leaf || IsSymptom(*column.sample)) continue;
    columns.push_back(&column);
    for (size_t i = 0; i < column.size(); ++i)
      of_rank[column.rank[i]] +=
          PerStep(*view.ranks()[column.rank[i]].batch, column.critical_ns[i]);
  }
  const auto takes_part = [&](RankIndex other) {
    return of_rank[other] > 0 && of_rank[other] >= kSmallPart * of_rank[rank];
  };
  std::map<std::string_view, double> by_caller;
  std::set<RankIndex> ranks;
  double all_ns = 0;
  for (const FunctionColumn* column : columns) {
    for (size_t i = 0; i < column->size(); ++i) {
      if (!takes_part(column->rank[i])) continue;
      const double ns = PerStep(*view.ranks()[column->rank[i]].batch, column->critical_ns[i]);
      by_caller[CallerOf(*column->sample)] += ns;
      all_ns += ns;
      ranks.insert(column->rank[i]);
    }
  }
  if (ranks.size() < kFewestRanks) return false;
  return std::all_of(by_caller.begin(), by_caller.end(),
                     [all_ns](const auto& entry) { return entry.second < kOnePlace * all_ns; });
}

std::string CallersOf(const FunctionPattern& pattern, std::string_view frame) {
  const std::vector<std::string_view> frames = FramesOf(pattern);
  std::string callers;
  for (const std::string_view f : frames) {
    if (f == frame) break;
    if (!callers.empty()) callers += kStackSeparator;
    callers += f;
  }
  return callers;
}

std::string_view NameOfFrame(std::string_view frame, const Inclusive& own) {
  return KeyOf(frame) == kWaitForGil ? std::string_view(own.heaviest->name) : frame;
}

CauseFunction Describe(std::string_view frame, const Inclusive& own, double peers_ns,
                       double excess_ns) {
  CauseFunction cause;
  cause.name = NameOfFrame(frame, own);
  cause.stack = CallersOf(*own.heaviest, cause.name);
  if (!own.is_leaf) cause.hottest_leaf = own.heaviest->name;
  cause.function_class = own.heaviest->function_class;
  cause.leaf = own.heaviest->function;
  cause.own_ns = own.ns;
  cause.peers_ns = peers_ns;
  cause.coverage = excess_ns > 0 ? cause.excess_ns() / excess_ns : 0;
  cause.specificity = own.ns > 0 ? cause.excess_ns() / own.ns : 0;
  return cause;
}

// What a peer without a row ran of a kernel. All ranks of a role run the same ones: what is too
// small for a row the peer folded, and the rank did not. Other functions are the rank's own.
double FoldedBeyond(const PatternBatch& own, const PatternBatch& peer,
                    FunctionClass function_class) {
  if (function_class != FunctionClass::kGpuCompute) return 0;
  const auto c = static_cast<size_t>(function_class);
  return std::max(
      0.0, PerStep(peer, peer.folded_critical_ns[c]) - PerStep(own, own.folded_critical_ns[c]));
}

// What the peers of a rank ran of the frames that it ran.
class PeerTimes {
 public:
  PeerTimes(const CrossRankView& view, RankIndex rank, const CauseOptions& options)
      : view_(view), own_(view.ranks()[rank]), peers_(PeersOf(view, rank, options)) {
    for (const RankIndex peer : peers_)
      times_.push_back(InclusiveTimesOf(*view.ranks()[peer].batch));
  }

  // A step; 0 without peers. Of waits for a processor what they would be on a peer that wants one
  // for as long as the rank: who runs more waits more, and that is no fault of the processors.
  double MedianNs(std::string_view frame, const Inclusive& own) const {
    std::vector<double> ns;
    for (size_t i = 0; i < peers_.size(); ++i) {
      const RankView& peer = view_.ranks()[peers_[i]];
      const auto it = times_[i].find(KeyOf(frame));
      ns.push_back(it != times_[i].end()
                       ? it->second.ns
                       : FoldedBeyond(*own_.batch, *peer.batch, own.heaviest->function_class));
      const double runs_ns = WantsToRunNs(*peer.batch, peer.step);
      if (frame.starts_with(kWaitForProcessor) && runs_ns > 0)
        ns.back() *= WantsToRunNs(*own_.batch, own_.step) / runs_ns;
    }
    return ns.empty() ? 0 : Median(std::span(ns));
  }

 private:
  const CrossRankView& view_;
  const RankView& own_;
  std::vector<RankIndex> peers_;
  std::vector<InclusiveTimes> times_;  // by peer
};

using Candidates = std::map<std::string_view, std::pair<const Inclusive*, CauseFunction>>;

// Whether it covers nearly as much of the excess as the best one. More than all of it covers no
// better, where it is most of what the other one does: the excess is of the window's steps, and
// may be less than the function takes.
bool CoversAsMuch(double coverage, double best, double slack) {
  constexpr double kMost = 0.75;
  if (coverage >= best * (1 - slack)) return true;
  return coverage >= kMost * best && coverage >= std::min(1.0, best) * (1 - slack);
}

// Those that are nearly as specific as the most specific one, and of these those that cover nearly
// as much as the best.
Candidates Best(const Candidates& candidates, const CauseOptions& options) {
  double best_specificity = 0;
  for (const auto& [frame, candidate] : candidates)
    best_specificity = std::max(best_specificity, candidate.second.specificity);
  double best_coverage = 0;
  for (const auto& [frame, candidate] : candidates) {
    if (candidate.second.specificity >= best_specificity - options.specificity_slack) {
      best_coverage = std::max(best_coverage, candidate.second.coverage);
    }
  }
  Candidates best;
  for (const auto& [frame, candidate] : candidates) {
    const CauseFunction& cause = candidate.second;
    if (cause.specificity < best_specificity - options.specificity_slack) continue;
    if (CoversAsMuch(cause.coverage, best_coverage, options.coverage_slack))
      best.emplace(frame, candidate);
  }
  return best;
}

// The deepest source frame, or the deepest built-in one.
const CauseFunction* Deepest(const Candidates& candidates, bool builtin) {
  const Inclusive* deepest = nullptr;
  const CauseFunction* cause = nullptr;
  for (const auto& [frame, candidate] : candidates) {
    if (IsBuiltin(frame) != builtin ||
        (deepest != nullptr && candidate.first->depth() <= deepest->depth()))
      continue;
    deepest = candidate.first;
    cause = &candidate.second;
  }
  return cause;
}

// What a source frame spends most of its time in, and the rank as much more below other frames.
const CauseFunction* BuiltinBeyond(const CauseFunction& source, const Candidates& candidates,
                                   const CauseOptions& options) {
  const auto leaf = candidates.find(source.hottest_leaf);
  if (leaf == candidates.end() || !IsBuiltin(leaf->first)) return nullptr;
  return leaf->second.second.coverage > source.coverage * (1 + options.coverage_slack)
             ? &leaf->second.second
             : nullptr;
}

// The candidates that are source frames which peers do not run at all, where peers run the best
// name so far (`source`), too: the part of the program that only this rank runs is named, if it
// holds most of the excess.
Candidates OnlyHere(const Candidates& candidates, const CauseFunction& source) {
  constexpr double kMost = 0.75;  // of what the frame around it explains
  Candidates only;
  if (source.peers_ns <= 0) return only;
  for (const auto& [frame, candidate] : candidates) {
    const CauseFunction& cause = candidate.second;
    if (cause.peers_ns <= 0 && cause.coverage >= kMost * source.coverage && !IsBuiltin(frame))
      only.emplace(frame, candidate);
  }
  return only;
}

// The candidates that a frame of the data loader spends most of its excess in, of the script's.
Candidates CalledByLoader(const Candidates& candidates, const CauseFunction& loader,
                          const CauseOptions& options) {
  constexpr double kMost = 0.75;
  const double depth = candidates.at(loader.name).first->depth();
  Candidates called;
  for (const auto& [frame, candidate] : candidates) {
    const CauseFunction& cause = candidate.second;
    if (IsBuiltin(frame) || IsOfDataLoader(frame) || candidate.first->depth() <= depth) continue;
    if (cause.coverage >= kMost * loader.coverage &&
        cause.specificity >= loader.specificity - options.specificity_slack)
      called.emplace(frame, candidate);
  }
  return called;
}

// The best name of all candidates; nullptr where there are none.
const CauseFunction* NameOf(const CrossRankView& view, RankIndex rank, const Candidates& candidates,
                            const CauseOptions& options) {
  const Candidates best = Best(candidates, options);
  const CauseFunction* source = Deepest(best, false);
  const CauseFunction* builtin = Deepest(best, true);
  if (source == nullptr) return builtin == nullptr ? nullptr : &candidates.at(builtin->name).second;
  const Candidates only = OnlyHere(candidates, *source);
  if (!only.empty()) source = &candidates.at(Deepest(Best(only, options), false)->name).second;
  if (IsOfDataLoader(source->name)) {
    const Candidates called = CalledByLoader(candidates, *source, options);
    if (!called.empty())
      source = &candidates.at(Deepest(Best(called, options), false)->name).second;
  }
  if (builtin == nullptr) builtin = BuiltinBeyond(*source, candidates, options);
  const bool is_builtin = builtin != nullptr && (options.prefer_builtin ||
                                                 IsCalledFromAnywhere(view, rank, builtin->name));
  return &candidates.at(is_builtin ? builtin->name : source->name).second;
}

}  // namespace

namespace {

// Who holds the interpreter's lock runs: the rank competes with it for a processor, too. Where a
// rank waits for the lock as its peers do not, and a fair part of all that it waits longer, its
// longer waits for a processor are the holder's. Answers them, a step.
double ProcessorWaitOfHolder(const PatternBatch& batch, const InclusiveTimes& own,
                             const PeerTimes& peers) {
  constexpr double kFairPart = 0.25;
  constexpr double kErrors = 3;  // few ticks see the lock waited for in a short window
  const auto lock = own.find(kWaitForGil);
  if (lock == own.end()) return 0;
  const double lock_ns = lock->second.ns;
  const double peers_ns = peers.MedianNs(lock->first, lock->second);
  double longer_ns = 0;
  for (const auto& [frame, inclusive] : own) {
    if (frame.starts_with(kWaitForProcessor))
      longer_ns += std::max(0.0, inclusive.ns - peers.MedianNs(frame, inclusive));
  }
  const bool of_this_rank = 2 * peers_ns < lock_ns;
  const bool fair_part = lock_ns - peers_ns >= kFairPart * (lock_ns - peers_ns + longer_ns);
  const auto steps = static_cast<double>(batch.steps.size());
  const double errors = SamplingErrorsBetween(lock_ns * steps, peers_ns * steps, SampleNs(batch));
  return of_this_rank && fair_part && errors >= kErrors ? longer_ns : 0;
}

}  // namespace

std::optional<CauseFunction> FindCauseFunction(const CrossRankView& view, RankIndex rank,
                                               double excess_ns, const CauseOptions& options) {
  const PatternBatch& batch = *view.ranks()[rank].batch;
  const InclusiveTimes own = InclusiveTimesOf(batch);
  const PeerTimes peers(view, rank, options);
  Candidates candidates;
  for (const auto& [frame, inclusive] : own) {
    const double beside_ns = frame == kWaitForGil ? ProcessorWaitOfHolder(batch, own, peers) : 0;
    const double least = std::min(options.min_coverage, options.min_coverage_alone);
    const double most_ns = inclusive.ns + inclusive.waited_ns + beside_ns;
    if (most_ns < least * excess_ns) continue;
    CauseFunction cause = Describe(frame, inclusive, peers.MedianNs(frame, inclusive), excess_ns);
    const bool is_alone = cause.peers_ns <= 0 && !IsStarvation(frame);
    // A function that peers run, too, waits longer because its processors are short.
    const double also_ns = beside_ns + (is_alone ? inclusive.waited_ns : 0);
    cause.own_ns += is_alone ? inclusive.waited_ns : 0;
    cause.processor_wait_ns = beside_ns;
    if (excess_ns > 0) cause.coverage += also_ns / excess_ns;
    if (cause.coverage >= (is_alone ? options.min_coverage_alone : options.min_coverage))
      candidates.emplace(NameOfFrame(frame, inclusive), std::pair(&inclusive, cause));
  }
  const CauseFunction* cause = NameOf(view, rank, candidates, options);
  return cause == nullptr ? std::nullopt : std::optional(*cause);
}

std::optional<CauseFunction> FindLargestPart(const CrossRankView& view, RankIndex rank,
                                             double excess_ns, double least_coverage,
                                             const CauseOptions& options) {
  CauseOptions part = options;
  part.min_coverage = part.min_coverage_alone = least_coverage;
  std::optional<CauseFunction> cause = FindCauseFunction(view, rank, excess_ns, part);
  if (cause && cause->specificity < 0.5) cause.reset();  // the whole program runs longer
  return cause;
}

std::optional<CauseFunction> FindOccasionalFunction(const CrossRankView& view, RankIndex rank,
                                                    double excess_ns, uint32_t most_steps,
                                                    const CauseOptions& options) {
  const InclusiveTimes own = InclusiveTimesOf(*view.ranks()[rank].batch);
  Candidates candidates;
  for (const auto& [frame, inclusive] : own) {
    if (inclusive.active_steps > most_steps) continue;
    const CauseFunction cause = Describe(frame, inclusive, 0, excess_ns);
    const bool is_that_long =
        cause.coverage >= options.min_coverage && cause.coverage * options.min_coverage <= 1;
    if (is_that_long)
      candidates.emplace(NameOfFrame(frame, inclusive), std::pair(&inclusive, cause));
  }
  const CauseFunction* cause = NameOf(view, rank, candidates, options);
  if (cause == nullptr) return std::nullopt;
  const bool is_name = options.prefer_builtin || !IsBuiltin(cause->name) ||
                       IsCalledFromAnywhere(view, rank, cause->name);
  if (!is_name) return std::nullopt;  // the frame that calls it runs in most steps
  const Inclusive& inclusive = own.at(KeyOf(cause->name));
  return Describe(cause->name, inclusive,
                  PeerTimes(view, rank, options).MedianNs(cause->name, inclusive), excess_ns);
}

double LargestExcessOverPeers(const CrossRankView& view, RankIndex rank,
                              const CauseOptions& options) {
  const PeerTimes peers(view, rank, options);
  double largest_ns = 0;
  for (const auto& [frame, inclusive] : InclusiveTimesOf(*view.ranks()[rank].batch)) {
    if (inclusive.ns > largest_ns)
      largest_ns = std::max(largest_ns, inclusive.ns - peers.MedianNs(frame, inclusive));
  }
  return largest_ns;
}

std::optional<CauseFunction> FindCauseClass(const CrossRankView& view, RankIndex rank,
                                            double excess_ns, const CauseOptions& options) {
  const PatternBatch& batch = *view.ranks()[rank].batch;
  const std::array<int64_t, kFunctionClassCount> excess_by_class = ClassExcessOverPeers(view, rank);
  const auto heaviest = std::max_element(excess_by_class.begin(), excess_by_class.end());
  const auto function_class = static_cast<FunctionClass>(heaviest - excess_by_class.begin());
  int64_t own_ns = batch.folded_critical_ns[static_cast<size_t>(function_class)];
  for (const FunctionPattern& pattern : batch.patterns) {
    if (pattern.function_class == function_class && !IsSymptom(pattern))
      own_ns += pattern.critical_ns;
  }
  CauseFunction cause{.name = "every " + std::string(ToString(function_class)) + " function",
                      .function_class = function_class};
  cause.own_ns = PerStep(batch, own_ns);
  cause.peers_ns = cause.own_ns - static_cast<double>(*heaviest);
  cause.coverage = excess_ns > 0 ? cause.excess_ns() / excess_ns : 0;
  cause.specificity = own_ns > 0 ? cause.excess_ns() / cause.own_ns : 0;
  if (cause.coverage < options.min_coverage) return std::nullopt;
  return cause;
}

}  // namespace eroica
