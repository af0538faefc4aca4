#include "diagnosis/function_profile.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace eroica {
namespace {

constexpr double kMinMeanBeta = 0.01;

// One name over all its call stacks.
struct NameRow {
  std::string_view name;
  double beta = 0;  // summed over ranks
  std::vector<RankIndex> ranks;
};

std::vector<NameRow> RowsByName(std::span<const RankView> ranks, std::span<const FunctionColumn> functions) {
  std::vector<bool> host_only;
  for (const RankView& rank : ranks) host_only.push_back(rank.batch->host_only);
  std::vector<NameRow> rows;
  std::unordered_map<std::string_view, size_t> position;
  for (const FunctionColumn& column : functions) {
    const FunctionClass of_column = column.sample->function_class;
    if (of_column != FunctionClass::kGpuCompute && of_column != FunctionClass::kCpuOp) continue;
    const auto [it, inserted] = position.try_emplace(column.sample->name, rows.size());
    if (inserted) rows.push_back({.name = column.sample->name, .beta = 0, .ranks = {}});
    NameRow& row = rows[it->second];
    for (size_t i = 0; i < column.size(); ++i) {
      if (host_only[column.rank[i]] != (of_column == FunctionClass::kCpuOp)) continue;
      row.beta += static_cast<double>(column.beta[i]);
      row.ranks.push_back(column.rank[i]);
    }
  }
  std::erase_if(rows, [](const NameRow& row) { return row.ranks.empty(); });
  for (NameRow& row : rows) {
    if (!std::is_sorted(row.ranks.begin(), row.ranks.end())) std::sort(row.ranks.begin(), row.ranks.end());
    row.ranks.erase(std::unique(row.ranks.begin(), row.ranks.end()), row.ranks.end());
  }
  return rows;
}

}  // namespace

int CommonNames(const NameSet& a, const NameSet& b) {
  int count = 0;
  for (size_t w = 0; w < a.words.size(); ++w) count += std::popcount(a.words[w] & b.words[w]);
  return count;
}

int NamesWithout(const NameSet& a, const NameSet& b) {
  int count = 0;
  for (size_t w = 0; w < a.words.size(); ++w) count += std::popcount(a.words[w] & ~b.words[w]);
  return count;
}

std::vector<NameSet> FunctionProfiles(std::span<const RankView> ranks, std::span<const FunctionColumn> functions) {
  std::vector<NameRow> rows = RowsByName(ranks, functions);
  std::erase_if(rows, [](const NameRow& row) { return row.beta < kMinMeanBeta * static_cast<double>(row.ranks.size()); });
  std::sort(rows.begin(), rows.end(),
            [](const NameRow& a, const NameRow& b) { return a.beta != b.beta ? a.beta > b.beta : a.name < b.name; });
  if (rows.size() > NameSet::kNames) rows.resize(NameSet::kNames);
  std::vector<NameSet> profiles(ranks.size());
  for (size_t name = 0; name < rows.size(); ++name) {
    for (const RankIndex rank : rows[name].ranks) profiles[rank].Insert(name);
  }
  return profiles;
}

}  // namespace eroica
