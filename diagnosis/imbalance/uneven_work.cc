#include "diagnosis/imbalance/uneven_work.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "diagnosis/deciding_numbers.h"
#include "diagnosis/measurements/lasting_excess.h"
#include "diagnosis/statistics/distributions.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

constexpr size_t kMostRanks = 256;    // of a role: more would not tell more
constexpr size_t kFewestWindows = 3;  // fewer show nothing of what windows differ by

// of one window, by rank of a role: own work / that of the role's median rank; 0 where it is not
// known
using Row = std::vector<double>;

Row RowOf(const CrossRankView& view, std::span<const RankIndex> role, const RankTimes& window) {
  Row work;
  for (const RankIndex rank : role) {
    const uint32_t number = view.ranks()[rank].rank.value;
    const auto row = std::ranges::lower_bound(window.rows, number, {}, &RankTime::rank);
    const bool known =
        row != window.rows.end() && row->rank == number && row->busy_ns + row->wait_ns > 0;
    work.push_back(known ? 2 * static_cast<double>(row->busy_ns) /
                               static_cast<double>(row->busy_ns + row->wait_ns)
                         : 0);
  }
  return work;
}

double MeanOf(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(std::max<size_t>(1, values.size()));
}

// The windows of one look at the ranks of one role that all of them have.
class WorkTable {
 public:
  // rows: newest last. columns: those that all of them have.
  WorkTable(std::span<const Row> rows, std::span<const size_t> columns)
      : rows_(rows.size()), means_(columns.size(), 0) {
    for (size_t w = 0; w < rows.size(); ++w) {
      for (const size_t column : columns) rows_[w].push_back(rows[w][column]);
      for (size_t r = 0; r < columns.size(); ++r)
        means_[r] += rows_[w][r] / static_cast<double>(rows.size());
    }
  }

  const Row& means() const { return means_; }

  // That ranks differ by so much where only windows do; 1 where few of them are ranks of their own.
  double Chance(size_t min_independent) {
    const double grand = MeanOf(means_);
    residuals_ = rows_;
    const auto windows = static_cast<double>(rows_.size());
    double between = 0;
    for (const double mean : means_) between += windows * (mean - grand) * (mean - grand);
    double within = 0;
    for (Row& row : residuals_) {
      const double common = MeanOf(row);
      for (size_t r = 0; r < row.size(); ++r) {
        row[r] += grand - means_[r] - common;
        within += row[r] * row[r];
      }
    }
    const auto others = static_cast<double>(means_.size() - 1);
    const double variance = std::max(kNoiseFloor * kNoiseFloor, within / (others * (windows - 1)));
    const size_t independent = CountIndependent();
    if (independent < min_independent) return 1;
    const double factor = ErrorFactor(rows_.size(), Correlation());
    const auto freedom = static_cast<double>(independent - 1);
    // Devices differ for good, which no number of windows averages away.
    const double expected = variance * factor + windows * kDeviceSpread * kDeviceSpread;
    return FisherTail(between / others / expected, freedom, freedom * (windows - 1) / factor);
  }

 private:
  static constexpr double kNoiseFloor = 0.002;  // nobody measures growth better

  // Ranks whose inputs are their own. Those that share them (tensor parallel) have the same work in
  // most windows, if a kernel or two that took long put the one or the other off: closer to each
  // other than half of what independent ranks are. By their medians such ranks are neighbors.
  size_t CountIndependent() const {
    constexpr double kAlike = 0.5;
    constexpr size_t kNeighbors = 8;
    Row distances;
    for (const Row& row : residuals_)
      std::ranges::transform(row, std::back_inserter(distances),
                             [](double value) { return std::abs(value); });
    const double most =
        kAlike * std::numbers::sqrt2 * std::max(kNoiseFloor, Median(std::span(distances)));
    std::vector<std::pair<double, size_t>> order;
    for (size_t r = 0; r < means_.size(); ++r) {
      Row of_rank;
      for (const Row& row : rows_) of_rank.push_back(row[r]);
      order.emplace_back(Median(std::span(of_rank)), r);
    }
    std::ranges::sort(order);
    size_t independent = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      bool seen = false;
      for (size_t k = 1; k <= std::min(i, kNeighbors) && !seen; ++k)
        seen = DistanceOf(order[i].second, order[i - k].second) <= most;
      independent += seen ? 0 : 1;
    }
    return independent;
  }

  // Of two ranks in the median window.
  double DistanceOf(size_t a, size_t b) const {
    Row distances;
    for (const Row& row : rows_) distances.push_back(std::abs(row[a] - row[b]));
    return Median(std::span(distances));
  }

  // How much a window of the median rank is like its window before, of what is left of it (Chance).
  double Correlation() const {
    Row correlations;
    for (size_t r = 0; r < means_.size(); ++r) {
      Row of_rank;
      for (const Row& row : residuals_) of_rank.push_back(row[r]);
      correlations.push_back(CorrelationOf(of_rank));
    }
    return Median(std::span(correlations));
  }

  std::vector<Row> rows_;       // by window
  std::vector<Row> residuals_;  // what neither the rank nor the window explains
  Row means_;
};

// Divides ranks, sorted by work, so that both parts are as equal as they can be. How many have
// less.
size_t SplitOf(std::span<const double> sorted) {
  const double all = std::accumulate(sorted.begin(), sorted.end(), 0.0);
  const auto count = static_cast<double>(sorted.size());
  double best = -1;
  size_t split = 1;
  double sum = 0;
  for (size_t k = 1; k < sorted.size(); ++k) {
    sum += sorted[k - 1];
    const auto less = static_cast<double>(k);
    const double apart = (all - sum) / (count - less) - sum / less;
    const double between = less * (count - less) * apart * apart;
    if (between > best) split = k;
    best = std::max(best, between);
  }
  return split;
}

std::optional<UnevenWork> Divide(const Row& means, std::span<const RankIndex> ranks,
                                 double min_growth) {
  std::vector<std::pair<double, RankIndex>> order;
  for (size_t r = 0; r < ranks.size(); ++r) order.emplace_back(means[r], ranks[r]);
  std::ranges::sort(order);
  Row sorted;
  for (const auto& [work, rank] : order) sorted.push_back(work);
  const size_t split = SplitOf(sorted);
  UnevenWork uneven;
  uneven.growth =
      MeanOf(std::span(sorted).subspan(split)) / MeanOf(std::span(sorted).first(split)) - 1;
  if (uneven.growth < min_growth) return std::nullopt;
  for (size_t i = 0; i < split; ++i) uneven.less.push_back(order[i].second);
  std::ranges::sort(uneven.less);
  return uneven;
}

// Of one role, over the look that tells most.
std::optional<UnevenWork> FindInRole(std::span<const Row> rows, const std::vector<RankIndex>& role,
                                     double most_chance, const UnevenWorkOptions& options) {
  std::optional<UnevenWork> best;
  for (const size_t windows : kLooks) {
    if (windows > rows.size()) break;
    if (windows < kFewestWindows) continue;
    const std::span<const Row> look = rows.last(windows);
    std::vector<size_t> columns;
    std::vector<RankIndex> ranks;
    for (size_t column = 0; column < role.size(); ++column) {
      if (!std::ranges::all_of(look, [column](const Row& row) { return row[column] > 0; }))
        continue;
      columns.push_back(column);
      ranks.push_back(role[column]);
    }
    if (ranks.size() < options.min_independent) break;
    WorkTable table(look, columns);
    std::optional<UnevenWork> uneven = Divide(table.means(), ranks, options.min_growth);
    if (!uneven) continue;
    uneven->windows = static_cast<uint32_t>(windows);
    uneven->chance = table.Chance(options.min_independent);
    if (uneven->chance <= (best ? best->chance : most_chance)) best = std::move(uneven);
  }
  return best;
}

}  // namespace

std::vector<UnevenWork> FindUnevenWork(const CrossRankView& view,
                                       const UnevenWorkOptions& options) {
  const RankTimes& now = view.work_times();
  const std::span<const RankTimes> past =
      Uninterrupted(view.past().work, now.window.kind, now.window.index, now.world_size);
  if (past.size() + 1 < kFewestWindows) return {};
  std::vector<std::vector<RankIndex>> roles(view.role_count());
  for (RankIndex i = 0; i < view.ranks().size(); ++i) roles[view.ranks()[i].role].push_back(i);
  const double most_chance = FalseAlarmsAllowed(now.window.index, LastingOptions{}) /
                             static_cast<double>(std::max<size_t>(1, roles.size()));
  std::vector<UnevenWork> found;
  for (const std::vector<RankIndex>& role : roles) {
    const size_t stride = (role.size() + kMostRanks - 1) / kMostRanks;
    std::vector<RankIndex> some;
    for (size_t i = 0; i < role.size(); i += stride) some.push_back(role[i]);
    std::vector<Row> rows;
    for (const RankTimes& window : past.last(std::min(past.size(), kLooks.back() - 1)))
      rows.push_back(RowOf(view, some, window));
    rows.push_back(RowOf(view, some, now));
    if (std::optional<UnevenWork> uneven = FindInRole(rows, some, most_chance, options))
      found.push_back(std::move(*uneven));
  }
  return found;
}

}  // namespace eroica
