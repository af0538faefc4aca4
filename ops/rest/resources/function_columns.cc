#include "ops/rest/resources/function_columns.h"

#include <algorithm>
#include <span>

#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

double MedianOf(std::vector<float> values) { return Median(std::span<float>(values)); }

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
                const std::vector<float>& column) {
  const auto largest = std::ranges::max_element(column);
  const auto row = static_cast<size_t>(largest - column.begin());
  return {{"median", MedianOf(column)},
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
                                  const std::vector<float>& column, size_t row) {
  const uint32_t role = detail.ranks[function.rank[row]].role;
  std::vector<float> peers;
  for (size_t i = 0; i < column.size(); ++i) {
    if (i != row && detail.ranks[function.rank[i]].role == role) peers.push_back(column[i]);
  }
  if (peers.empty()) return std::nullopt;
  return MedianOf(std::move(peers));
}

std::vector<double> MedianByRole(const WindowDetail& detail, const FunctionSnapshot& function,
                                 const std::vector<float>& column) {
  std::vector<std::vector<float>> by_role;
  for (const RankRow& rank : detail.ranks) {
    if (rank.role >= by_role.size()) by_role.resize(rank.role + size_t{1});
  }
  for (size_t i = 0; i < column.size(); ++i)
    by_role[detail.ranks[function.rank[i]].role].push_back(column[i]);
  std::vector<double> medians;
  for (std::vector<float>& values : by_role) medians.push_back(MedianOf(std::move(values)));
  return medians;
}

}  // namespace eroica
