#include "stream_ops/diagnose/window_snapshot.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "diagnosis/measurements/busy_time.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

void AddTo(Completeness* sum, const Completeness& one) {
  sum->events += one.events;
  sum->late += one.late;
  sum->lost += one.lost;
  sum->sampled += one.sampled;
  sum->outside += one.outside;
}

// Gives names indices, in the order in which they come.
class NameTable {
 public:
  explicit NameTable(std::vector<std::string>* names) : names_(*names) {}

  uint32_t IndexOf(const std::string& name) {
    const auto [entry, is_new] = indices_.try_emplace(name, static_cast<uint32_t>(indices_.size()));
    if (is_new) names_.push_back(name);
    return entry->second;
  }

 private:
  std::vector<std::string>& names_;
  std::map<std::string, uint32_t, std::less<>> indices_;
};

std::array<float, kFunctionClassCount> UnlistedPerStep(const PatternBatch& batch,
                                                       double fold_below) {
  const double least_ns = fold_below * static_cast<double>(batch.window.duration_ns());
  std::array<float, kFunctionClassCount> unlisted{};
  for (size_t c = 0; c < unlisted.size(); ++c) {
    const double most_ns = std::min(static_cast<double>(batch.folded_critical_ns[c]), least_ns);
    unlisted[c] = static_cast<float>(PerStep(batch, static_cast<int64_t>(most_ns)));
  }
  return unlisted;
}

void TakeRanks(const CrossRankView& view, const SnapshotLimits& limits, WindowDetail* detail) {
  NameTable hosts(&detail->hosts);
  NameTable role_names(&detail->role_names);
  detail->ranks.reserve(view.ranks().size());
  for (const RankView& rank : view.ranks()) {
    const PatternBatch& batch = *rank.batch;
    detail->ranks.push_back({.rank = rank.rank.value,
                             .role = rank.role,
                             .host = hosts.IndexOf(batch.host),
                             .role_name = role_names.IndexOf(batch.role),
                             .device = batch.device,
                             .pid = batch.pid,
                             .silent = rank.silent,
                             .steps = static_cast<float>(rank.step.steps),
                             .step_ns = rank.step.duration_ns,
                             .busy_ns = rank.step.busy_ns(),
                             .wait_ns = rank.step.wait_ns,
                             .completeness = batch.completeness,
                             .levels = batch.levels,
                             .unlisted_ns_per_step = UnlistedPerStep(batch, limits.fold_below)});
  }
  for (const BusyTime& busy : view.busy_times()) {
    detail->ranks[busy.rank].peers_busy_ns = busy.peers_busy_ns;
    detail->ranks[busy.rank].excess_ns = busy.excess_ns;
  }
}

FunctionSnapshot TakeFunction(const CrossRankView& view, const FunctionColumn& column) {
  const size_t rows = column.size();
  FunctionSnapshot function{.id = column.function,
                            .name = column.sample->name,
                            .stack = column.sample->stack,
                            .function_class = column.sample->function_class,
                            .wait = column.sample->wait,
                            .resource = column.sample->resource,
                            .rank = column.rank,
                            .beta = column.beta,
                            .mu = std::vector<float>(rows),
                            .sigma = std::vector<float>(rows),
                            .call_ns = column.call_ns,
                            .critical_ns_per_step = std::vector<float>(rows),
                            .count = std::vector<uint32_t>(rows)};
  constexpr uint64_t kCountMax = std::numeric_limits<uint32_t>::max();
  for (size_t i = 0; i < rows; ++i) {
    const FunctionPattern& pattern = *column.pattern[i];
    function.mu[i] = static_cast<float>(pattern.mu);
    function.sigma[i] = static_cast<float>(pattern.sigma);
    function.count[i] = static_cast<uint32_t>(std::min(pattern.count, kCountMax));
    function.critical_ns_per_step[i] =
        static_cast<float>(PerStep(view.ranks()[column.rank[i]].step, column.critical_ns[i]));
  }
  return function;
}

int64_t MostOfOneRank(const std::vector<int64_t>& critical_ns) {
  return std::accumulate(critical_ns.begin(), critical_ns.end(), int64_t{0},
                         [](int64_t most, int64_t one) { return std::max(most, one); });
}

// Those in which any rank spends the most, as many as there is room for: what holds the others up
// may be run by one rank alone.
void TakeFunctions(const CrossRankView& view, const SnapshotLimits& limits, WindowDetail* detail) {
  std::vector<std::pair<int64_t, const FunctionColumn*>> order;
  for (const FunctionColumn& column : view.functions())
    order.emplace_back(MostOfOneRank(column.critical_ns), &column);
  std::ranges::stable_sort(order, std::greater<>(), [](const auto& entry) { return entry.first; });
  size_t rows = 0;
  for (const auto& [critical, column] : order) {
    if (detail->functions.size() == limits.functions) break;
    if (rows + column->size() > limits.function_rows) continue;
    rows += column->size();
    detail->functions.push_back(TakeFunction(view, *column));
  }
}

CommunicatorSnapshot TakeCommunicator(const CollectiveSummary& summary) {
  CommunicatorSnapshot communicator{.id = summary.communicator,
                                    .name = summary.communicator_name,
                                    .description = summary.communicator_description,
                                    .operations = summary.operations,
                                    .incomplete = summary.incomplete,
                                    .bytes = summary.bytes,
                                    .transfer_ns = summary.transfer_ns,
                                    .missing = {},
                                    .members = {},
                                    .pairs = summary.pairs};
  for (const RankId rank : summary.missing) communicator.missing.push_back(rank.value);
  communicator.members.reserve(summary.members.size());
  for (const MemberSummary& member : summary.members) {
    communicator.members.push_back(
        {.rank = member.rank.value,
         .operations = member.count,
         .wait_ns = member.wait_ns,
         .exposed_wait_ns = member.exposed_wait_ns,
         .arrived_last = member.last_count,
         .lateness_ns = member.lateness_ns,
         .caused_wait_ns = member.caused_wait_ns,
         .blocker = member.blockers.empty() ? std::string() : member.blockers.front().name});
  }
  return communicator;
}

// A rank's connections lie by peer and resource: those of several communicators become one link.
void TakeLinks(const CrossRankView& view, const SnapshotLimits& limits, WindowDetail* detail) {
  for (const RankView& rank : view.ranks()) {
    const size_t first = detail->links.size();
    for (const ConnectionPattern& connection : rank.batch->connections) {
      if (detail->links.size() == first || detail->links.back().destination != connection.peer ||
          detail->links.back().resource != connection.resource) {
        detail->links.push_back({.source = rank.rank.value,
                                 .destination = connection.peer,
                                 .resource = connection.resource});
      }
      LinkRow& link = detail->links.back();
      link.bytes += connection.bytes;
      link.busy_ns += connection.busy_ns;
      link.retransmits += connection.retransmits;
    }
  }
  if (detail->links.size() <= limits.links) return;
  detail->links_dropped = detail->links.size() - limits.links;
  const auto by_ends = [](const LinkRow& a, const LinkRow& b) {
    return std::tie(a.source, a.destination, a.resource) <
           std::tie(b.source, b.destination, b.resource);
  };
  std::ranges::nth_element(detail->links,
                           detail->links.begin() + static_cast<ptrdiff_t>(limits.links),
                           std::greater<>(), &LinkRow::bytes);
  detail->links.resize(limits.links);
  std::ranges::sort(detail->links, by_ends);
}

// Text counts for what it holds; rows for their size.
uint64_t BytesOf(const WindowDetail& detail) {
  uint64_t bytes = sizeof(WindowDetail);
  for (const std::string& host : detail.hosts) bytes += sizeof(host) + host.size();
  for (const std::string& name : detail.role_names) bytes += sizeof(name) + name.size();
  for (const RankRow& rank : detail.ranks)
    bytes += sizeof(rank) + rank.levels.size() * sizeof(ResourceLevel);
  constexpr uint64_t kFunctionRow = 2 * sizeof(uint32_t) + 5 * sizeof(float);
  for (const FunctionSnapshot& function : detail.functions) {
    bytes += sizeof(function) + function.name.size() + function.stack.size() +
             function.rank.size() * kFunctionRow;
  }
  for (const CommunicatorSnapshot& communicator : detail.communicators) {
    bytes += sizeof(communicator) + communicator.name.size() + communicator.description.size() +
             communicator.missing.size() * sizeof(uint32_t) +
             communicator.pairs.size() * sizeof(PairSummary);
    for (const MemberRow& member : communicator.members)
      bytes += sizeof(member) + member.blocker.size();
  }
  return bytes + detail.links.size() * sizeof(LinkRow);
}

std::shared_ptr<const WindowDetail> TakeDetail(const CrossRankView& view,
                                               const SnapshotLimits& limits) {
  auto detail = std::make_shared<WindowDetail>();
  TakeRanks(view, limits, detail.get());
  TakeFunctions(view, limits, detail.get());
  for (const CollectiveSummary& summary : view.summaries())
    detail->communicators.push_back(TakeCommunicator(summary));
  std::ranges::stable_sort(detail->communicators, std::greater<>(), &CommunicatorSnapshot::wait_ns);
  TakeLinks(view, limits, detail.get());
  detail->bytes = BytesOf(*detail);
  return detail;
}

// The newest ids of the ranks' steps, ascending.
std::vector<int64_t> StepIds(const CrossRankView& view, size_t newest) {
  std::vector<int64_t> ids;
  std::vector<int64_t> merged;
  for (const RankView& rank : view.ranks()) {
    std::vector<int64_t> own;
    for (const StepRecord& step : rank.batch->steps) own.push_back(step.id);
    merged.clear();
    std::ranges::set_union(ids, own, std::back_inserter(merged));
    ids.swap(merged);
    if (ids.size() > 2 * newest) ids.erase(ids.begin(), ids.end() - static_cast<ptrdiff_t>(newest));
  }
  if (ids.size() > newest) ids.erase(ids.begin(), ids.end() - static_cast<ptrdiff_t>(newest));
  return ids;
}

StepColumns TakeSteps(const CrossRankView& view, const SnapshotLimits& limits) {
  StepColumns steps;
  steps.step = StepIds(view, limits.steps);
  const size_t count = steps.step.size();
  steps.max_ns.assign(count, 0);
  steps.busy_max_ns.assign(count, -1);
  steps.busiest_rank.assign(count, 0);
  std::vector<std::vector<int64_t>> durations(count);
  std::vector<std::vector<int64_t>> busy(count);
  const size_t every = (view.ranks().size() + limits.sampled_ranks - 1) / limits.sampled_ranks;
  for (size_t i = 0; i < view.ranks().size(); ++i) {
    const RankView& rank = view.ranks()[i];
    const bool sampled = i % every == 0;
    size_t at = 0;
    for (const StepRecord& step : rank.batch->steps) {
      while (at < count && steps.step[at] < step.id) ++at;
      if (at == count || steps.step[at] != step.id) continue;
      const int64_t busy_ns = step.duration_ns - step.peer_wait_ns;
      steps.max_ns[at] = std::max(steps.max_ns[at], step.duration_ns);
      if (busy_ns > steps.busy_max_ns[at]) {
        steps.busy_max_ns[at] = busy_ns;
        steps.busiest_rank[at] = rank.rank.value;
      }
      if (!sampled) continue;
      durations[at].push_back(step.duration_ns);
      busy[at].push_back(busy_ns);
    }
  }
  for (size_t at = 0; at < count; ++at) {
    steps.median_ns.push_back(static_cast<int64_t>(Median(std::span<int64_t>(durations[at]))));
    steps.busy_median_ns.push_back(static_cast<int64_t>(Median(std::span<int64_t>(busy[at]))));
  }
  return steps;
}

}  // namespace

int64_t CommunicatorSnapshot::wait_ns() const {
  int64_t wait_ns = 0;
  for (const MemberRow& member : members) wait_ns += member.exposed_wait_ns;
  for (const PairSummary& pair : pairs) wait_ns += pair.receive_wait_ns + pair.send_wait_ns;
  return wait_ns;
}

WindowSummary SummarizeWindow(const CrossRankView& view, const SuppressedSteps& suppressed,
                              int64_t timestamp_ms) {
  WindowSummary summary{.kind = view.window_kind(),
                        .index = view.window_index(),
                        .timestamp_ms = timestamp_ms,
                        .world_size = view.world_size(),
                        .roles = view.role_count(),
                        .max_step_rank = {},
                        .completeness = {},
                        .suppressed = suppressed,
                        .finding_ids = {}};
  std::vector<double> steps;
  bool all_final = true;
  for (const RankView& rank : view.ranks()) {
    const PatternBatch& batch = *rank.batch;
    ++(rank.silent ? summary.ranks_silent : summary.ranks_seen);
    if (!rank.silent && summary.ranks_seen == 1) {
      summary.start_ns = batch.window.start_ns;
      summary.end_ns = batch.window.end_ns;
    }
    all_final = all_final && batch.final;
    AddTo(&summary.completeness, batch.completeness);
    if (batch.window.first_step >= 0 &&
        (summary.first_step < 0 || batch.window.first_step < summary.first_step))
      summary.first_step = batch.window.first_step;
    summary.last_step = std::max(summary.last_step, batch.window.last_step);
    if (!rank.has_steps()) continue;
    steps.push_back(rank.step.duration_ns);
    if (rank.step.duration_ns <= summary.max_step_ns) continue;
    summary.max_step_ns = rank.step.duration_ns;
    summary.max_step_rank = rank.rank.value;
  }
  summary.median_step_ns = Median(std::span<double>(steps));
  summary.last_of_job = all_final && !view.ranks().empty();
  return summary;
}

WindowSnapshot TakeSnapshot(const CrossRankView& view, WindowSummary summary,
                            const SnapshotLimits& limits) {
  WindowSnapshot snapshot{.summary = std::move(summary),
                          .steps = TakeSteps(view, limits),
                          .detail = TakeDetail(view, limits)};
  snapshot.summary.functions = static_cast<uint32_t>(snapshot.detail->functions.size());
  snapshot.summary.functions_dropped =
      static_cast<uint32_t>(view.functions().size() - snapshot.detail->functions.size());
  return snapshot;
}

}  // namespace eroica
