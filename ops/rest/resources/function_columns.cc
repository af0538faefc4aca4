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

// What of a rank without a row counts.
std::optional<float> WithoutRow(const FunctionMeasure& measure, const FunctionSnapshot& function,
                                const RankRow& rank) {
  switch (measure.not_run) {
    case FunctionMeasure::NotRun::kZero: return 0.F;
    case FunctionMeasure::NotRun::kAtMost:
      return rank.unlisted_ns_per_step[static_cast<size_t>(function.function_class)];
    case FunctionMeasure::NotRun::kLeftOut: break;
  }
  return std::nullopt;
}

// Of each rank that counts: its place, and its value.
template <typename Take>
void EachRank(const WindowDetail& detail, const FunctionSnapshot& function,
              const FunctionMeasure& measure, Take take) {
  size_t row = 0;
  for (uint32_t place = 0; place < detail.ranks.size(); ++place) {
    if (row < function.rank.size() && function.rank[row] == place) {
      take(place, (function.*measure.column)[row++]);
    } else if (const auto value = WithoutRow(measure, function, detail.ranks[place])) {
      take(place, *value);
    }
  }
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
  const uint32_t own = function.rank[row];
  std::vector<float> peers;
  EachRank(detail, function, measure, [&](uint32_t place, float value) {
    if (place != own && detail.ranks[place].role == detail.ranks[own].role) peers.push_back(value);
  });
  if (peers.empty()) return std::nullopt;
  return MedianOf(std::move(peers));
}

std::vector<double> MedianByRole(const WindowDetail& detail, const FunctionSnapshot& function,
                                 const FunctionMeasure& measure) {
  std::vector<std::vector<float>> by_role;
  for (const RankRow& rank : detail.ranks)
    if (rank.role >= by_role.size()) by_role.resize(rank.role + size_t{1});
  EachRank(detail, function, measure, [&](uint32_t place, float value) {
    by_role[detail.ranks[place].role].push_back(value);
  });
  std::vector<double> medians;
  for (std::vector<float>& values : by_role) medians.push_back(MedianOf(std::move(values)));
  return medians;
}

}  // namespace eroica
