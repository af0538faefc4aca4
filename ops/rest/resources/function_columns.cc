#include "ops/rest/resources/function_columns.h"

#include <algorithm>
#include <span>
#include <utility>

#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

double MedianOf(std::vector<float> values) { return Median(std::span<float>(values)); }

uint32_t RoleOf(const WindowDetail& detail, const FunctionSnapshot& function, size_t row) {
  return detail.ranks[function.rank[row]].role;
}

// How many ranks each role has.
std::vector<size_t> RoleSizes(const WindowDetail& detail) {
  std::vector<size_t> sizes;
  for (const RankRow& rank : detail.ranks) {
    if (rank.role >= sizes.size()) sizes.resize(rank.role + size_t{1});
    ++sizes[rank.role];
  }
  return sizes;
}

// By role, the values of its ranks.
std::vector<std::vector<float>> ValuesByRole(const WindowDetail& detail,
                                             const FunctionSnapshot& function,
                                             const FunctionMeasure& measure) {
  const std::vector<size_t> sizes = RoleSizes(detail);
  std::vector<std::vector<float>> by_role(sizes.size());
  const std::vector<float>& column = function.*measure.column;
  for (size_t row = 0; row < column.size(); ++row)
    by_role[RoleOf(detail, function, row)].push_back(column[row]);
  if (measure.not_run == FunctionMeasure::NotRun::kZero)
    for (size_t role = 0; role < sizes.size(); ++role) by_role[role].resize(sizes[role]);
  return by_role;
}

}  // namespace

Json FunctionJson(const FunctionSnapshot& function) {
  return {{"function", HexOf(function.id.value)},
          {"name", function.name},
          {"stack", function.stack},
          {"class", ToString(function.function_class)},
          {"wait", ToString(function.wait)},
          {"resource", function.resource == Resource::kNone ? "" : ToString(function.resource)}};
}

Json SpreadJson(const WindowDetail& detail, const FunctionSnapshot& function,
                const FunctionMeasure& measure) {
  const std::vector<float>& column = function.*measure.column;
  const auto largest = std::ranges::max_element(column);
  const auto row = static_cast<size_t>(largest - column.begin());
  return {{"median", MedianByRole(detail, function, measure)[RoleOf(detail, function, row)]},
          {"max", *largest},
          {"max_rank", detail.ranks[function.rank[row]].rank}};
}

const FunctionSnapshot* FindFunction(const WindowDetail& detail, uint64_t id) {
  const auto function = std::ranges::find(detail.functions, FunctionId(id), &FunctionSnapshot::id);
  return function == detail.functions.end() ? nullptr : &*function;
}

std::optional<size_t> RowOf(const WindowDetail& detail, const FunctionSnapshot& function,
                            uint32_t rank) {
  const auto place = std::ranges::lower_bound(detail.ranks, rank, {}, &RankRow::rank);
  if (place == detail.ranks.end() || place->rank != rank) return std::nullopt;
  const auto index = static_cast<uint32_t>(place - detail.ranks.begin());
  const auto row = std::ranges::lower_bound(function.rank, index);
  if (row == function.rank.end() || *row != index) return std::nullopt;
  return static_cast<size_t>(row - function.rank.begin());
}

std::optional<double> PeersMedian(const WindowDetail& detail, const FunctionSnapshot& function,
                                  const FunctionMeasure& measure, size_t row) {
  const uint32_t role = RoleOf(detail, function, row);
  const std::vector<float>& column = function.*measure.column;
  std::vector<float> peers;
  for (size_t i = 0; i < column.size(); ++i) {
    if (i != row && RoleOf(detail, function, i) == role) peers.push_back(column[i]);
  }
  if (measure.not_run == FunctionMeasure::NotRun::kZero)
    peers.resize(static_cast<size_t>(std::ranges::count(detail.ranks, role, &RankRow::role)) - 1);
  if (peers.empty()) return std::nullopt;
  return MedianOf(std::move(peers));
}

std::optional<double> PeersCriticalAtMost(const WindowDetail& detail,
                                          const FunctionSnapshot& function, size_t row) {
  const uint32_t role = RoleOf(detail, function, row);
  const auto function_class = static_cast<size_t>(function.function_class);
  std::vector<float> peers;
  size_t next = 0;  // of the function's rows
  for (uint32_t place = 0; place < detail.ranks.size(); ++place) {
    const bool has_row = next < function.rank.size() && function.rank[next] == place;
    const size_t of_place = has_row ? next++ : next;
    if (detail.ranks[place].role != role || place == function.rank[row]) continue;
    peers.push_back(has_row ? function.critical_ns_per_step[of_place]
                            : detail.ranks[place].unlisted_ns_per_step[function_class]);
  }
  if (peers.empty()) return std::nullopt;
  return MedianOf(std::move(peers));
}

std::vector<double> MedianByRole(const WindowDetail& detail, const FunctionSnapshot& function,
                                 const FunctionMeasure& measure) {
  std::vector<double> medians;
  for (std::vector<float>& values : ValuesByRole(detail, function, measure))
    medians.push_back(MedianOf(std::move(values)));
  return medians;
}

}  // namespace eroica
