#include "diagnosis/slow_transfer/slow_transfer_operator.h"

#include <fmt/format.h>

#include <algorithm>

#include "diagnosis/device_kernels.h"
#include "diagnosis/duration_text.h"
#include "diagnosis/host_ranks.h"
#include "diagnosis/robust_statistics.h"
#include "diagnosis/slow_transfer/exposed_transfer.h"

namespace eroica {
namespace {

bool HasConnections(const CrossRankView& view) {
  return std::any_of(view.ranks().begin(), view.ranks().end(),
                     [](const RankView& rank) { return !rank.batch->connections.empty(); });
}

bool SamplesItsHost(const RankView& rank) {
  return std::ranges::find(rank.batch->levels, Resource::kHostCpu, &ResourceLevel::resource) !=
         rank.batch->levels.end();
}

// Live producers follow the ranks' own sockets, and report those that lead from one address to
// another. Where they report none on the only host, what its ranks exchange in host memory stays on
// it.
bool LiesNoNetworkBetween(const CrossRankView& view) {
  if (view.hosts().size() != 1 || view.hosts().front().ranks.size() < view.ranks().size())
    return false;
  if (std::ranges::any_of(view.ranks(),
                          [](const RankView& rank) { return ComputesOnDevice(*rank.batch); }))
    return false;
  return std::ranges::any_of(view.ranks(), SamplesItsHost);
}

// Collectives can take no more of a step than all waiting for peers: mostly it is short, and
// nothing needs to be looked at closer.
bool AllWaitLong(const CrossRankView& view, double min_share) {
  return std::ranges::all_of(view.ranks(), [min_share](const RankView& rank) {
    return !rank.has_steps() || rank.step.wait_ns > min_share * rank.step.duration_ns;
  });
}

double Medians(const std::vector<ExposedTransfer>& transfers, double ExposedTransfer::*part) {
  std::vector<double> values;
  for (const ExposedTransfer& transfer : transfers) values.push_back(transfer.*part);
  return Median(std::span(values));
}

Finding Describe(const CrossRankView& view, const std::vector<ExposedTransfer>& transfers,
                 const SlowTransferOptions& options) {
  const double exposed_ns = Medians(transfers, &ExposedTransfer::exposed_ns);
  const double late_ns = Medians(transfers, &ExposedTransfer::late_ns);
  const double step_ns = Medians(transfers, &ExposedTransfer::step_ns);
  Finding finding;
  finding.kind = FindingKind::kCommunication;
  finding.subkind = "undecided";
  finding.function_class = FunctionClass::kCollective;
  finding.lost_ns_per_step = exposed_ns - options.max_share * step_ns;
  finding.confidence = 0.6;
  const auto ranks = static_cast<uint64_t>(transfers.size());
  finding.evidence = {
      {"exposed_collectives_per_step", "ns", exposed_ns, 0, options.max_share * step_ns, ranks},
      {"wait_for_late_members_per_step", "ns", late_ns, 0, options.max_late_share * exposed_ns,
       ranks}};
  for (const ExposedTransfer& transfer : transfers) {
    const double lost_ns =
        std::max(0.0, transfer.exposed_ns - options.max_share * transfer.step_ns);
    const auto steps = static_cast<double>(view.FindRank(transfer.rank)->batch->steps.size());
    finding.victims.push_back({.rank = transfer.rank,
                               .lost_ns = static_cast<int64_t>(lost_ns * steps),
                               .lost_ns_per_step = lost_ns});
  }
  finding.title = fmt::format(
      "The network holds all ranks up: {} of each step of {} pass in collectives, on all ranks; "
      "which link is slow is undecided.",
      DurationText(exposed_ns), DurationText(step_ns));
  finding.explanation = fmt::format(
      "Every rank spends more than {} of its steps in collectives with nothing else running, none "
      "clearly less than the others, so nobody "
      "is late: only {} a step are more than the "
      "shortest of each group. A collective ends for all members together, when its slowest link "
      "is done, so durations do not tell which "
      "link that is.",
      PercentText(options.max_share), DurationText(late_ns));
  finding.suggested_action =
      "Capture what each connection carries: TCP_INFO of every rank (ss -tin, as ss_rankN.txt "
      "beside the traces), NCCL's proxy operations, "
      "or the NICs' counters.";
  finding.caveats = {
      "Undecided between a slow link, a slow network and a job that communicates so much by "
      "design: the connections' busy times would "
      "tell."};
  const PatternBatch& batch = *view.FindRank(transfers.front().rank)->batch;
  finding.first_step = batch.steps.front().id;
  finding.last_step = batch.steps.back().id;
  return finding;
}

}  // namespace

void SlowTransferOperator::Evaluate(const CrossRankView& view,
                                    std::vector<Finding>& findings) const {
  if (!AllWaitLong(view, options_.max_share) || HasConnections(view) ||
      LiesNoNetworkBetween(view) || LacksMembers(view))
    return;
  const std::vector<ExposedTransfer> transfers = FindExposedTransfers(view);
  if (transfers.size() < 2) return;
  const double typical_ns = Medians(transfers, &ExposedTransfer::exposed_ns);
  for (const ExposedTransfer& transfer : transfers) {
    if (view.FindRank(transfer.rank)->batch->steps.size() < options_.min_steps ||
        transfer.share() <= options_.max_share)
      return;
    if (transfer.late_ns > options_.max_late_share * transfer.exposed_ns ||
        transfer.exposed_ns < options_.least_alike * typical_ns)
      return;
  }
  findings.push_back(Describe(view, transfers, options_));
}

}  // namespace eroica
