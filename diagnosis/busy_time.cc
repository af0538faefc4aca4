#include "diagnosis/busy_time.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <span>

#include "diagnosis/robust_statistics.h"
#include "schemas/check.h"

namespace eroica {
namespace {

constexpr double kTimerResolutionNs = 1'000;   // no trace is finer than a microsecond or so
constexpr double kRelativeNoiseFloor = 0.002;  // of a step: what nobody can measure

double Mean(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double MeanButLargest(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return (sum - *std::max_element(values.begin(), values.end())) / static_cast<double>(values.size() - 1);
}

// Median of a sorted sequence without the element at `left_out`.
double MedianWithout(const std::vector<double>& sorted, size_t left_out) {
  const size_t n = sorted.size() - 1;
  EROICA_CHECK(n >= 1);
  const auto at = [&](size_t i) { return sorted[i < left_out ? i : i + 1]; };
  return n % 2 == 1 ? at(n / 2) : (at(n / 2 - 1) + at(n / 2)) / 2;
}

// For each value the median of all the others, O(n log n).
std::vector<double> MediansOfOthers(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> sorted;
  for (const size_t i : order) sorted.push_back(values[i]);
  std::vector<double> result(values.size());
  for (size_t position = 0; position < order.size(); ++position) result[order[position]] = MedianWithout(sorted, position);
  return result;
}

// Step x member table of one role, over the steps that at least half of the members report and the members that report all of those.
class RoleTable {
 public:
  RoleTable(const CrossRankView& view, const std::vector<RankIndex>& members) : view_(view) {
    std::map<int64_t, size_t> reports;
    for (const RankIndex member : members) {
      for (const StepRecord& step : view.ranks()[member].batch->steps) ++reports[step.id];
    }
    for (const auto& [id, count] : reports) {
      if (2 * count >= members.size()) step_ids_.push_back(id);
    }
    for (const RankIndex member : members) AddMember(member);
  }

  bool comparable() const { return members_.size() >= 2 && !step_ids_.empty(); }

  void Compare(std::vector<BusyTime>& out) const {
    std::vector<double> means;
    for (const auto& row : busy_) means.push_back(Mean(row));
    const std::vector<double> peer_medians = MediansOfOthers(means);
    const std::vector<std::vector<double>> excess = ExcessByStep();
    const double step_error = ErrorOfTheMean(means);
    const double deviation = PooledDeviation(means);
    for (size_t m = 0; m < members_.size(); ++m) {
      BusyTime entry{.rank = members_[m], .role = view_.ranks()[members_[m]].role};
      entry.steps = static_cast<uint32_t>(step_ids_.size());
      entry.peers = static_cast<uint32_t>(members_.size() - 1);
      entry.step_ns = Mean(duration_[m]);
      entry.busy_ns = means[m];
      entry.wait_ns = entry.step_ns - entry.busy_ns;
      entry.peers_busy_ns = peer_medians[m];
      entry.excess_ns = Mean(excess[m]);
      entry.noise_ns = std::max({PeerSpread(means, m), step_error, kTimerResolutionNs, kRelativeNoiseFloor * entry.step_ns});
      entry.lasting_ns = MeanButLargest(excess[m]);
      const double half = entry.excess_ns / 2;
      entry.slow_steps =
          static_cast<uint32_t>(std::count_if(excess[m].begin(), excess[m].end(), [half](double e) { return e > 0 && e >= half; }));
      entry.chance = ChanceOf(entry, deviation);
      out.push_back(entry);
    }
  }

 private:
  void AddMember(RankIndex member) {
    std::vector<double> busy;
    std::vector<double> duration;
    size_t next = 0;
    for (const StepRecord& step : view_.ranks()[member].batch->steps) {
      if (next == step_ids_.size() || step.id != step_ids_[next]) continue;
      ++next;
      duration.push_back(static_cast<double>(step.duration_ns));
      busy.push_back(static_cast<double>(std::max<int64_t>(0, step.duration_ns - step.peer_wait_ns)));
    }
    if (next != step_ids_.size()) return;
    members_.push_back(member);
    busy_.push_back(std::move(busy));
    duration_.push_back(std::move(duration));
  }

  // [member][step]: busy time less the median of the others' in the same step.
  std::vector<std::vector<double>> ExcessByStep() const {
    std::vector<std::vector<double>> excess(members_.size());
    std::vector<double> column(members_.size());
    for (size_t s = 0; s < step_ids_.size(); ++s) {
      for (size_t m = 0; m < members_.size(); ++m) column[m] = busy_[m][s];
      const std::vector<double> others = MediansOfOthers(column);
      for (size_t m = 0; m < members_.size(); ++m) excess[m].push_back(column[m] - others[m]);
    }
    return excess;
  }

  // How far the peers' means lie apart. In a big role one member more or less changes nothing, so the role's own spread will do there.
  static double PeerSpread(const std::vector<double>& means, size_t member) {
    constexpr size_t kExactUpTo = 64;
    std::vector<double> peers = means;
    if (means.size() <= kExactUpTo) peers.erase(peers.begin() + static_cast<std::ptrdiff_t>(member));
    return kSigmaPerMad * TakeMedianAndMad(std::span(peers)).mad;
  }

  // Steps vary alike on all ranks (a long sequence is long for everyone): what counts is how one rank's steps vary against the role's.
  double ErrorOfTheMean(const std::vector<double>& means) const {
    std::vector<double> residuals;
    std::vector<double> column;
    for (size_t s = 0; s < step_ids_.size(); ++s) {
      column.clear();
      for (size_t m = 0; m < busy_.size(); ++m) column.push_back(busy_[m][s] - means[m]);
      const double common = Median(std::span(column));  // reorders the column, which is no matter: only its values count
      for (const double value : column) residuals.push_back(std::abs(value - common));
    }
    return kSigmaPerMad * Median(std::span(residuals)) / std::sqrt(static_cast<double>(step_ids_.size()));
  }

  double freedom() const { return static_cast<double>(members_.size() - 1) * static_cast<double>(step_ids_.size() - 1); }

  // Of a rank's busy time in one step from what the rank and the step have in common with others (two-way layout without interaction).
  double PooledDeviation(const std::vector<double>& means) const {
    if (freedom() <= 0) return 0;
    const double grand = Mean(means);
    double squares = 0;
    for (size_t s = 0; s < step_ids_.size(); ++s) {
      double common = 0;
      for (const auto& row : busy_) common += row[s];
      common /= static_cast<double>(busy_.size());
      for (size_t m = 0; m < busy_.size(); ++m) {
        const double residual = busy_[m][s] - means[m] - common + grand;
        squares += residual * residual;
      }
    }
    return std::sqrt(squares / freedom());
  }

  double ChanceOf(const BusyTime& entry, double deviation) const {
    if (freedom() <= 0) return 1;
    constexpr double kVarianceOfMedian = 1.5708;  // of a mean's, for normal data
    const double of_peers = 1 + kVarianceOfMedian / static_cast<double>(members_.size() - 1);
    const double error = std::sqrt(deviation * deviation * of_peers / static_cast<double>(step_ids_.size()));
    return StudentTail(entry.excess_ns / std::max({error, kTimerResolutionNs, kRelativeNoiseFloor * entry.step_ns}), freedom());
  }

  const CrossRankView& view_;
  std::vector<RankIndex> members_;
  std::vector<int64_t> step_ids_;
  std::vector<std::vector<double>> busy_;      // [member][step]
  std::vector<std::vector<double>> duration_;  // [member][step]
};

}  // namespace

std::vector<BusyTime> CompareBusyTime(const CrossRankView& view) {
  std::vector<std::vector<RankIndex>> roles(view.role_count());
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    const RankView& rank = view.ranks()[i];
    if (!rank.batch->silent && !rank.batch->steps.empty()) roles[rank.role].push_back(i);
  }
  std::vector<BusyTime> result;
  for (const std::vector<RankIndex>& members : roles) {
    if (members.size() < 2) continue;
    const RoleTable table(view, members);
    if (table.comparable()) table.Compare(result);
  }
  std::sort(result.begin(), result.end(), [](const BusyTime& a, const BusyTime& b) { return a.rank < b.rank; });
  return result;
}

}  // namespace eroica
