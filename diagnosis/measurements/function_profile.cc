#include "diagnosis/measurements/function_profile.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace eroica {
namespace {

constexpr double kMinMeanBeta = 0.01;

// One name over all its call stacks.
struct NameRow {
  std::string_view name;
  std::vector<const FunctionColumn*> columns;
  double beta = 0;   // summed over ranks
  size_t ranks = 0;  // that run it
};

// Whether the column says what a rank computes: kernels of a device, or operators of a rank without
// one.
class Computes {
 public:
  explicit Computes(std::span<const RankView> ranks) {
    for (const RankView& rank : ranks) host_only_.push_back(rank.batch->host_only);
  }
  static bool May(const FunctionColumn& column) {
    return column.sample->function_class == FunctionClass::kGpuCompute ||
           column.sample->function_class == FunctionClass::kCpuOp;
  }
  // Calls visit(rank, row) for the rows that do.
  template <typename Visit>
  void ForEach(const FunctionColumn& column, Visit visit) const {
    const bool of_host = column.sample->function_class == FunctionClass::kCpuOp;
    for (size_t i = 0; i < column.size(); ++i) {
      if (host_only_[column.rank[i]] == of_host) visit(column.rank[i], i);
    }
  }

 private:
  std::vector<uint8_t> host_only_;  // by rank
};

std::vector<NameRow> RowsByName(const Computes& computes, size_t ranks,
                                std::span<const FunctionColumn> functions) {
  std::vector<NameRow> rows;
  std::unordered_map<std::string_view, size_t> position;
  for (const FunctionColumn& column : functions) {
    if (!Computes::May(column)) continue;
    const auto [known, inserted] = position.try_emplace(column.sample->name, rows.size());
    if (inserted) rows.push_back({.name = column.sample->name, .columns = {}});
    rows[known->second].columns.push_back(&column);
  }
  std::vector<const NameRow*> seen_in(ranks, nullptr);  // by rank: the last name that it runs
  for (NameRow& row : rows) {
    for (const FunctionColumn* column : row.columns) {
      computes.ForEach(*column, [&](RankIndex rank, size_t i) {
        row.beta += static_cast<double>(column->beta[i]);
        row.ranks += seen_in[rank] != &row ? 1 : 0;
        seen_in[rank] = &row;
      });
    }
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

std::vector<NameSet> FunctionProfiles(std::span<const RankView> ranks,
                                      std::span<const FunctionColumn> functions) {
  const Computes computes(ranks);
  std::vector<NameRow> rows = RowsByName(computes, ranks.size(), functions);
  std::erase_if(rows, [](const NameRow& row) {
    return row.ranks == 0 || row.beta < kMinMeanBeta * static_cast<double>(row.ranks);
  });
  std::sort(rows.begin(), rows.end(), [](const NameRow& a, const NameRow& b) {
    return a.beta != b.beta ? a.beta > b.beta : a.name < b.name;
  });
  if (rows.size() > NameSet::kNames) rows.resize(NameSet::kNames);
  std::vector<NameSet> profiles(ranks.size());
  for (size_t name = 0; name < rows.size(); ++name) {
    for (const FunctionColumn* column : rows[name].columns) {
      computes.ForEach(*column, [&](RankIndex rank, size_t) { profiles[rank].Insert(name); });
    }
  }
  return profiles;
}

}  // namespace eroica
