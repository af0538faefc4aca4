#include "tests/evaluation/baselines/eroica_printed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "diagnosis/report/duration_text.h"
#include "diagnosis/statistics/robust_statistics.h"
#include "tests/evaluation/baselines/claim.h"

namespace eroica {
namespace {

constexpr float kMinBeta = 0.01F;
constexpr double kDelta = 0.4;
constexpr double kMads = 5;
constexpr size_t kSample = 100;
constexpr uint64_t kSeed = 250608528;

using Pattern3 = std::array<float, 3>;  // beta, mu, sigma

struct Row {
  const FunctionColumn* column = nullptr;
  std::vector<size_t> flagged;  // rows of the column
  size_t worst = 0;             // the row of the largest beta
  double mean_beta = 0;         // of the flagged
  double unexpected = 0;        // the largest D
  double delta = 0;             // the largest Delta
  double threshold = 0;         // of Delta
};

// The largest beta that is expected of a function of the class.
double ExpectedBeta(FunctionClass function_class) {
  switch (function_class) {
    case FunctionClass::kPython: return 0.01;
    case FunctionClass::kCollective: return 0.30;
    case FunctionClass::kGpuCompute:
    case FunctionClass::kMemoryOp:
    case FunctionClass::kCpuOp: return 1;
  }
  return 1;
}

// SplitMix64: the same draw on every machine.
uint64_t NextRandom(uint64_t& state) {
  uint64_t x = state += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// min(100, |W|) of the workers, each at most once.
std::vector<uint32_t> SampleOf(size_t workers, FunctionId function) {
  std::vector<uint32_t> order(workers);
  for (size_t i = 0; i < workers; ++i) order[i] = static_cast<uint32_t>(i);
  uint64_t state = kSeed ^ function.value;
  const size_t size = std::min(kSample, workers);
  for (size_t i = 0; i < size; ++i)
    std::swap(order[i], order[i + NextRandom(state) % (workers - i)]);
  order.resize(size);
  return order;
}

// The ranks that report, numbered.
struct Workers {
  std::vector<uint32_t> of_rank;  // by RankIndex
  size_t count = 0;
};

Workers WorkersOf(const CrossRankView& view) {
  Workers workers;
  for (const RankView& rank : view.ranks())
    workers.of_rank.push_back(static_cast<uint32_t>(rank.batch->silent ? 0 : workers.count++));
  return workers;
}

// By worker; workers without the function at the origin.
std::vector<Pattern3> Normalized(const FunctionColumn& column, const Workers& workers) {
  std::vector<Pattern3> patterns(workers.count, Pattern3{});
  Pattern3 largest{};
  for (size_t i = 0; i < column.size(); ++i) {
    Pattern3& pattern = patterns[workers.of_rank[column.rank[i]]];
    const FunctionPattern& row = *column.pattern[i];
    pattern = {column.beta[i], static_cast<float>(row.mu), static_cast<float>(row.sigma)};
    for (size_t d = 0; d < pattern.size(); ++d) largest[d] = std::max(largest[d], pattern[d]);
  }
  for (Pattern3& pattern : patterns) {
    for (size_t d = 0; d < pattern.size(); ++d)
      pattern[d] = largest[d] > 0 ? pattern[d] / largest[d] : 0;
  }
  return patterns;
}

double Distance(const Pattern3& a, const Pattern3& b) {
  double sum = 0;
  for (size_t d = 0; d < a.size(); ++d)
    sum += std::abs(static_cast<double>(a[d]) - static_cast<double>(b[d]));
  return sum;
}

// By worker.
std::vector<double> DeltasOf(const FunctionColumn& column, const Workers& workers) {
  const std::vector<Pattern3> patterns = Normalized(column, workers);
  const std::vector<uint32_t> sample = SampleOf(workers.count, column.function);
  std::vector<double> deltas(workers.count, 0);
  for (size_t worker = 0; worker < workers.count; ++worker) {
    size_t distant = 0;
    for (const uint32_t other : sample)
      distant += Distance(patterns[worker], patterns[other]) >= kDelta ? 1 : 0;
    deltas[worker] = static_cast<double>(distant) / static_cast<double>(sample.size());
  }
  return deltas;
}

Row Judge(const FunctionColumn& column, const Workers& workers) {
  Row row{.column = &column};
  const std::vector<double> deltas = DeltasOf(column, workers);
  std::vector<double> copy = deltas;
  const MedianAndMad spread = TakeMedianAndMad(std::span(copy));
  row.threshold = spread.median + kMads * spread.mad;
  const double expected = ExpectedBeta(column.sample->function_class);
  for (size_t i = 0; i < column.size(); ++i) {
    const double unexpected = std::max(0.0, static_cast<double>(column.beta[i]) - expected);
    const double delta = deltas[workers.of_rank[column.rank[i]]];
    if (!(column.beta[i] > kMinBeta) || !(unexpected > 0 || delta > row.threshold)) continue;
    if (row.flagged.empty() || column.beta[i] > column.beta[row.worst]) row.worst = i;
    row.flagged.push_back(i);
    row.mean_beta += static_cast<double>(column.beta[i]);
    row.unexpected = std::max(row.unexpected, unexpected);
    row.delta = std::max(row.delta, delta);
  }
  if (!row.flagged.empty()) row.mean_beta /= static_cast<double>(row.flagged.size());
  return row;
}

Claim ClaimOf(const CrossRankView& view, const Row& row, size_t workers) {
  Claim claim;
  const bool everywhere = row.flagged.size() == workers;
  claim.function = row.column->pattern[row.worst];
  const bool collective = claim.function->function_class == FunctionClass::kCollective;
  claim.kind = collective   ? FindingKind::kCommunication
               : everywhere ? FindingKind::kRegression
                            : FindingKind::kSlowRank;
  claim.subkind = row.unexpected > 0 ? "unexpected" : "different";
  if (!everywhere) {
    for (const size_t i : row.flagged)
      claim.ranks.push_back(view.ranks()[row.column->rank[i]].rank);
  }
  std::vector<float> betas = row.column->beta;
  claim.evidence = {
      {"beta", "ratio", row.mean_beta, Median(std::span(betas)), static_cast<double>(kMinBeta),
       row.column->size()},
      {"distance_from_expectation", "ratio", row.unexpected, 0, 0, row.column->size()},
      {"differential_distance", "ratio", row.delta, 0, row.threshold, std::min(kSample, workers)}};
  claim.title = fmt::format(
      "{} on {} is abnormal: {} of the window, {} over what is expected, unlike {} of the workers.",
      claim.function->name, everywhere ? "all ranks" : RankList(claim.ranks),
      PercentText(row.mean_beta), PercentText(row.unexpected), PercentText(row.delta));
  return claim;
}

}  // namespace

void EroicaPrintedBaseline::Evaluate(const CrossRankView& view,
                                     std::vector<Finding>& findings) const {
  const Workers workers = WorkersOf(view);
  std::vector<Row> rows;
  for (const FunctionColumn& column : view.functions()) {
    if (!(*std::max_element(column.beta.begin(), column.beta.end()) > kMinBeta))
      continue;  // nothing to flag
    Row row = Judge(column, workers);
    if (!row.flagged.empty()) rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.mean_beta > b.mean_beta; });
  for (const Row& row : rows)
    findings.push_back(ToFinding(view, *this, ClaimOf(view, row, workers.count)));
}

}  // namespace eroica
