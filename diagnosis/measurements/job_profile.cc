#include "diagnosis/measurements/job_profile.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "diagnosis/measurements/mean_step.h"
#include "diagnosis/statistics/robust_statistics.h"
#include "schemas/codec.h"

namespace eroica {
namespace {

constexpr double kLeastShare = 0.002;

// How many steps the functions of the rank were watched in: those that do not count
// (suppressed_steps.h) are among them.
double StepsCovered(const PatternBatch& batch) {
  const auto kept = static_cast<double>(batch.steps.size());
  const Window& window = batch.window;
  if (window.first_step < 0 || window.last_step < window.first_step) return kept;
  return std::max(
      kept, static_cast<double>(window.last_step) - static_cast<double>(window.first_step) + 1);
}

// A few ranks of each role, for what a whole role has in common.
class RoleSample {
 public:
  explicit RoleSample(const CrossRankView& view)
      : chosen_(view.ranks().size()), size_(view.role_count()), values_(view.role_count()) {
    std::vector<size_t> members(view.role_count());
    for (const RankView& rank : view.ranks()) ++members[rank.role];
    std::vector<size_t> met(view.role_count());
    for (RankIndex i = 0; i < view.ranks().size(); ++i) {
      const uint32_t role = view.ranks()[i].role;
      const size_t stride = (members[role] + kMost - 1) / kMost;
      chosen_[i] = met[role]++ % stride == 0 && view.ranks()[i].has_steps();
      size_[role] += chosen_[i];
    }
  }

  // Of what the function takes on the ranks of its column, the median over the role in which that
  // is most; who does not run it takes nothing.
  double MostOf(const CrossRankView& view, const FunctionColumn& column,
                const std::vector<double>& steps_covered) {
    for (std::vector<double>& values : values_) values.clear();
    for (size_t i = 0; i < column.size(); ++i) {
      if (chosen_[column.rank[i]] == 0) continue;
      const uint32_t role = view.ranks()[column.rank[i]].role;
      values_[role].push_back(static_cast<double>(column.critical_ns[i]) /
                              steps_covered[column.rank[i]]);
    }
    double most = 0;
    for (uint32_t role = 0; role < values_.size(); ++role) {
      std::vector<double>& values = values_[role];
      if (2 * values.size() < size_[role] || values.empty()) continue;
      values.resize(size_[role]);
      most = std::max(most, Median(std::span(values)));
    }
    return most;
  }

 private:
  static constexpr size_t kMost = 16;  // of a role
  std::vector<uint8_t> chosen_;        // by rank
  std::vector<size_t> size_;           // by role
  std::vector<std::vector<double>> values_;
};

FunctionPattern Row(FunctionId function, const FunctionPattern& like, double ns_per_step,
                    size_t ranks) {
  FunctionPattern row;
  row.function = function;
  row.name = like.name;
  row.stack = like.stack;
  row.function_class = like.function_class;
  row.wait = like.wait;
  row.critical_ns = static_cast<int64_t>(ns_per_step);
  row.count = ranks;
  return row;
}

FunctionPattern TransferRow(const CrossRankView& view, double steps) {
  double transfer_ns = 0;
  for (const CollectiveSummary& summary : view.summaries()) {
    transfer_ns +=
        static_cast<double>(summary.transfer_ns) * static_cast<double>(summary.members.size());
  }
  const FunctionPattern like{.name = std::string(kTransferOfCollectives),
                             .function_class = FunctionClass::kCollective};
  const double ranks = static_cast<double>(std::max<size_t>(1, view.ranks().size()));
  return Row(TransferOfCollectives(), like, transfer_ns / ranks / steps, view.ranks().size());
}

// Less is latency, not speed, or another operation.
constexpr uint64_t kLeastBytes = 1 << 20;

std::vector<ConnectionPattern> ConnectionRows(const CrossRankView& view, size_t steps) {
  std::map<CommId, size_t> members;
  for (const CollectiveSummary& summary : view.summaries())
    members[summary.communicator] = summary.members.size();
  struct Kind {
    std::vector<double> speeds;
    double bytes = 0;
  };
  std::map<std::tuple<uint32_t, Resource, uint8_t>, Kind> kinds;
  for (const RankView& rank : view.ranks()) {
    for (const ConnectionPattern& connection : rank.batch->connections) {
      if (connection.bytes < kLeastBytes || connection.busy_ns <= 0) continue;
      const auto known = members.find(connection.communicator);
      const size_t others = known != members.end() && known->second > 0 ? known->second - 1 : 0;
      Kind& kind = kinds[{static_cast<uint32_t>(others), connection.resource, connection.channels}];
      kind.speeds.push_back(static_cast<double>(connection.bytes) /
                            static_cast<double>(connection.busy_ns));
      kind.bytes += static_cast<double>(connection.bytes) / static_cast<double>(steps);
    }
  }
  std::vector<ConnectionPattern> rows;
  for (auto& [key, kind] : kinds) {
    const auto [peer, resource, channels] = key;
    const double busy_ns = std::min(kind.bytes / Median(std::span(kind.speeds)),
                                    static_cast<double>(CodecLimits::kMaxTimeNs) / 2);
    rows.push_back({.peer = std::min(peer, view.world_size() > 0 ? view.world_size() - 1 : 0),
                    .resource = resource,
                    .bytes = static_cast<uint64_t>(kind.bytes),
                    .busy_ns = static_cast<int64_t>(busy_ns),
                    .channels = channels});
  }
  return rows;
}

}  // namespace

void TypicalSteps::Add(const PatternBatch& batch) {
  constexpr size_t kManyRanks = 64;  // what so many have seen is taken for what all have
  auto next = by_step_.begin();      // ranks list the same steps, in order
  for (const StepRecord& step : batch.steps) {
    if (next == by_step_.end() || next->first != step.id)
      next = by_step_.try_emplace(step.id).first;
    Times& times = next->second;
    if (times.duration_ns.size() == kManyRanks) {
      times.duration_ns.reserve(ranks_);
      times.peer_wait_ns.reserve(ranks_);
    }
    times.duration_ns.push_back(step.duration_ns);
    times.peer_wait_ns.push_back(step.peer_wait_ns);
    ++next;
  }
}

std::vector<StepRecord> TypicalSteps::Take() {
  std::vector<StepRecord> steps;
  for (auto& [id, times] : by_step_) {
    steps.push_back({.id = id,
                     .duration_ns = static_cast<int64_t>(Median(std::span(times.duration_ns))),
                     .peer_wait_ns = static_cast<int64_t>(Median(std::span(times.peer_wait_ns)))});
  }
  by_step_.clear();
  return steps;
}

PatternBatch ProfileOf(const CrossRankView& view, std::vector<StepRecord> typical_steps) {
  PatternBatch profile;
  profile.job = view.job();
  profile.world_size = std::max(1u, view.world_size());
  if (!view.ranks().empty()) profile.window = view.ranks().front().batch->window;
  profile.steps = std::move(typical_steps);
  if (profile.steps.empty()) return profile;
  const double step_ns = MeanStepOf(profile).duration_ns;
  std::vector<double> steps_covered;  // by rank; 0 where it reported none
  steps_covered.reserve(view.ranks().size());
  for (const RankView& rank : view.ranks())
    steps_covered.push_back(rank.step.steps > 0 ? StepsCovered(*rank.batch) : 0);
  RoleSample roles(view);
  std::vector<double> per_step;
  for (const FunctionColumn& column : view.functions()) {
    per_step.clear();
    for (size_t i = 0; i < column.size(); ++i) {
      const double covered = steps_covered[column.rank[i]];
      if (covered > 0) per_step.push_back(static_cast<double>(column.critical_ns[i]) / covered);
    }
    const double typical = Median(std::span(per_step));
    const bool on_thread = column.sample->function_class == FunctionClass::kPython;
    const double on_stage = on_thread && view.role_count() > 1
                                ? std::max(typical, roles.MostOf(view, column, steps_covered))
                                : typical;
    if (on_stage < kLeastShare * step_ns) continue;
    profile.patterns.push_back(Row(column.function, *column.sample, typical, column.size()));
    profile.patterns.back().total_ns = static_cast<int64_t>(on_stage);
  }
  profile.connections = ConnectionRows(view, profile.steps.size());
  profile.patterns.push_back(TransferRow(view, StepsCovered(profile)));
  std::sort(profile.patterns.begin(), profile.patterns.end(),
            [](const auto& a, const auto& b) { return a.function < b.function; });
  return profile;
}

FunctionId TransferOfCollectives() {
  static const FunctionId id =
      HashFunction(FunctionClass::kCollective, "eroica: transfer of collectives", FunctionId{0});
  return id;
}

const FunctionPattern* FindRow(const PatternBatch& profile, FunctionId function) {
  const auto row =
      std::ranges::lower_bound(profile.patterns, function, {}, &FunctionPattern::function);
  return row != profile.patterns.end() && row->function == function ? &*row : nullptr;
}

double FunctionNsOf(const PatternBatch& profile, FunctionId function) {
  const FunctionPattern* row = FindRow(profile, function);
  return row != nullptr ? static_cast<double>(row->critical_ns) : 0;
}

double FunctionNsOnStage(const PatternBatch& profile, FunctionId function) {
  const FunctionPattern* row = FindRow(profile, function);
  return row != nullptr ? static_cast<double>(std::max(row->critical_ns, row->total_ns)) : 0;
}

}  // namespace eroica
