#include "diagnosis/slow_rank/unattributed_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "diagnosis/measurements/sampled_stacks.h"
#include "diagnosis/measurements/starvation.h"
#include "diagnosis/measurements/symptom.h"
#include "diagnosis/measurements/thread_function.h"
#include "diagnosis/report/duration_text.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/report/held_up.h"
#include "diagnosis/report/shared_processors.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

uint64_t MissingOf(const PatternBatch& batch) {
  return batch.completeness.lost + batch.completeness.late;
}

// By how much waits for a processor lengthen whatever a rank's thread runs, recorded or not.
double LengthenedByWaits(const RankView& rank) {
  const double runs_ns = WantsToRunNs(*rank.batch, rank.step);
  return runs_ns > 0 ? rank.step.busy_ns() / runs_ns : 1;
}

// Lost events may be longer than others.
bool MayBeLostWaits(const PatternBatch& batch, const BusyTime& busy) {
  constexpr double kFactor = 2;
  const auto missing = static_cast<double>(MissingOf(batch));
  if (missing <= 0) return false;
  const double lost_share = missing / (missing + static_cast<double>(batch.completeness.events));
  return busy.excess_ns <= kFactor * lost_share * busy.step_ns;
}

bool HasStacks(const PatternBatch& batch) {
  return std::ranges::any_of(batch.patterns, [](const FunctionPattern& pattern) {
    return pattern.function_class == FunctionClass::kPython && !IsStarvation(pattern.name);
  });
}

// In functions that were recorded, and that are no waits.
int64_t AttributedNs(const PatternBatch& batch) {
  int64_t attributed_ns = 0;
  for (const FunctionPattern& pattern : batch.patterns)
    attributed_ns += IsSymptom(pattern) ? 0 : pattern.critical_ns;
  for (int i = 0; i < kFunctionClassCount; ++i) {
    if (static_cast<FunctionClass>(i) != FunctionClass::kCollective)
      attributed_ns += batch.folded_critical_ns[static_cast<size_t>(i)];
  }
  return attributed_ns;
}

std::string CaveatOf(const PatternBatch& batch) {
  const uint64_t missing = MissingOf(batch);
  if (missing > 0)
    return fmt::format("Undecided which function: at least {} of this rank {} missing.",
                       missing == 1 ? "1 event" : fmt::format("{} events", missing),
                       missing == 1 ? "is" : "are");
  if (!HasStacks(batch))
    return "Undecided which function: Python call stacks of this rank were not recorded.";
  return "Undecided which function: what the thread ran there left no events.";
}

}  // namespace

double UnattributedNs(const RankView& rank) {
  return std::max(0.0, rank.step.busy_ns() - PerStep(rank.step, AttributedNs(*rank.batch)));
}

double UnattributedOfWindowNs(const PatternBatch& batch) {
  int64_t busy_ns = 0;
  for (const StepRecord& step : batch.steps) busy_ns += step.duration_ns - step.peer_wait_ns;
  return static_cast<double>(std::max<int64_t>(0, busy_ns - AttributedNs(batch)));
}

std::optional<UnattributedWork> FindUnattributedWork(const CrossRankView& view,
                                                     const BusyTime& busy, double min_coverage) {
  const RankView& rank = view.ranks()[busy.rank];
  if (MayBeLostWaits(*rank.batch, busy)) return std::nullopt;
  std::vector<double> peers;
  std::vector<double> lengthened;
  for (const RankView& peer : view.ranks()) {
    if (peer.role != rank.role || !peer.has_steps() || &peer == &rank) continue;
    peers.push_back(UnattributedNs(peer));
    lengthened.push_back(LengthenedByWaits(peer));
  }
  const double factor = Median(std::span(lengthened));
  const UnattributedWork work{.own_ns = factor * UnattributedNs(rank),
                              .peers_ns = factor * Median(std::span(peers))};
  if (work.excess_ns() < min_coverage * busy.excess_ns) return std::nullopt;
  return work;
}

Finding DescribeUnattributedWork(const CrossRankView& view, const BusyTime& busy,
                                 const UnattributedWork& work, double min_separation) {
  const RankView& rank = view.ranks()[busy.rank];
  Finding finding;
  finding.kind = FindingKind::kSlowRank;
  finding.subkind = "undecided";
  finding.culprits = {CulpritOf(rank)};
  finding.victims = VictimsOf(view, busy);
  finding.evidence = {
      {"busy_time_per_step", "ns", busy.busy_ns, busy.peers_busy_ns, 0, busy.steps},
      WaitForPeersOf(busy, finding.victims),
      {"unattributed_time_per_step", "ns", work.own_ns, work.peers_ns, 0, busy.steps},
      {std::string(kExcessOverNoise), "ratio", busy.separation(), 1, min_separation, busy.steps},
      SlowStepsOf(busy)};
  finding.lost_ns_per_step = busy.excess_ns;
  finding.confidence = 0.8 * busy.slow_steps / (busy.slow_steps + 1.0);
  finding.first_step = FirstStepOf(rank, busy);
  finding.last_step = rank.batch->steps.back().id;
  finding.title = HoldsUpText(rank, busy, finding.victims) +
                  ": its training thread takes it, in functions that were not recorded.";
  finding.explanation =
      fmt::format("{} For {} a step of rank {}, and for {} of its peers', nothing was recorded.",
                  BusierThanPeersText(rank, busy), DurationText(work.own_ns), rank.rank.value,
                  DurationText(work.peers_ns));
  finding.caveats = {CaveatOf(*rank.batch)};
  finding.suggested_action = fmt::format(
      "Capture the trace of {} again, whole and with Python stacks: it shows what runs there.",
      PlaceOf(rank));
  // Where stacks are sampled it may be a wait that no sample saw.
  if (std::ranges::any_of(rank.batch->patterns, IsSeenInStacks))
    SayThatProcessorsAreShared(view, busy.rank, &finding);
  return finding;
}

}  // namespace eroica
