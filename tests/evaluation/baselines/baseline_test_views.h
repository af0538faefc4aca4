// What the tests of the baselines share: asking one, and the communicators that they are asked
// about.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "diagnosis/measurements/training_view.h"
#include "diagnosis/operator.h"
#include "schemas/time_unit.h"

namespace eroica {

// What the baseline says of a job made of batches and summaries.
template <typename Baseline, typename Job>
std::vector<Finding> Ask(Job&& job) {
  std::vector<PatternBatch> batches;
  std::vector<CollectiveSummary> summaries;
  if constexpr (requires { job.summaries(); }) {
    batches = job.batches();
    summaries = job.summaries();
  } else if constexpr (requires { job.summaries; }) {
    batches = job.batches;
    summaries = job.summaries;
  } else {
    batches = job.batches();
  }
  const CrossRankView view(batches, summaries);
  std::vector<Finding> findings;
  Baseline().Evaluate(view, findings);
  return findings;
}

// A communicator with ten collectives, in each of which a member waited so many milliseconds and
// data moved for `transfer_ms`.
inline CollectiveSummary& AddWaits(TrainingView& job,
                                   std::initializer_list<std::pair<uint32_t, double>> waits,
                                   double transfer_ms = 5) {
  CollectiveSummary& summary = job.AddSummary();
  summary.operations = 10;
  summary.bytes = 10'000'000;
  summary.transfer_ns = static_cast<int64_t>(10 * transfer_ms * kNsPerMs);
  for (const auto& [rank, wait_ms] : waits) {
    summary.members.push_back({.rank = RankId{rank},
                               .count = 10,
                               .wait_ns = static_cast<int64_t>(10 * wait_ms * kNsPerMs)});
  }
  return summary;
}

// Receives of ten messages, each waited for so many milliseconds by the receiver and by the sender.
inline void AddPair(CollectiveSummary& summary, uint32_t source, uint32_t destination,
                    double receive_ms, double send_ms = 0) {
  summary.pairs.push_back({.source = RankId{source},
                           .destination = RankId{destination},
                           .count = 10,
                           .receive_wait_ns = static_cast<int64_t>(10 * receive_ms * kNsPerMs),
                           .send_wait_ns = static_cast<int64_t>(10 * send_ms * kNsPerMs)});
}

inline std::vector<int32_t> CulpritRanks(const Finding& finding) {
  std::vector<int32_t> ranks;
  for (const Culprit& culprit : finding.culprits) ranks.push_back(culprit.rank);
  return ranks;
}

}  // namespace eroica
