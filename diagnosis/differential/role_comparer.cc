#include "diagnosis/differential/role_comparer.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "diagnosis/differential/shared_sample.h"
#include "diagnosis/robust_statistics.h"

namespace eroica {
namespace {

constexpr size_t kBeta = 0;
constexpr size_t kMu = 1;
constexpr size_t kSigma = 2;

}  // namespace

bool WorseThan(const DifferentialScore& a, const DifferentialScore& b) {
  if (a.critical_excess_ns != b.critical_excess_ns)
    return a.critical_excess_ns > b.critical_excess_ns;
  if (a.delta != b.delta) return a.delta > b.delta;
  if (a.function != b.function) return a.function < b.function;
  return a.rank < b.rank;
}

void RoleComparer::Compare(RoleRows rows, const ExpectationRange& range, uint64_t seed,
                           DifferentialResult* result) {
  if (rows.members < 2 || rows.rows == 0) return;
  const ColumnSummary summary = SummarizeColumns(rows.columns, rows.rows);
  if (static_cast<double>(summary.max[kBeta]) <= options_.min_beta) return;
  if (summary.with_resource > 0 && summary.with_resource < rows.rows) FillUnknownResources(&rows);

  DrawStatisticsSample(rows, MixSeed(seed, 1));
  MeasureDimensions(rows);
  PatternPoint scale;
  for (size_t d = 0; d < kPatternDimensions; ++d)
    scale[d] = 1 / std::max(summary.max[d], options_.normalization_floor[d]);
  const PeerSample peers = DrawPeers(rows, scale, MixSeed(seed, 2));
  peers.Screen(rows.columns, rows.rows, UsualBox(), &screen_);
  AddAbsentRanks(rows, peers);

  RoleComparison comparison{
      .function = rows.function->function, .role = rows.role, .members = rows.members};
  comparison.running = static_cast<uint32_t>(rows.rows);
  for (size_t d = 0; d < kPatternDimensions; ++d)
    comparison.median[d] = static_cast<float>(statistics_[d].median);
  MeasureDelta(static_cast<uint32_t>(peers.size()), &comparison);
  if (ExpectationDistance(summary.max, range) > 0 || range.low != PatternPoint{}) {
    const UnexpectedRows unexpected =
        CountUnexpected(rows.columns, rows.rows, range, static_cast<float>(options_.min_beta));
    comparison.unexpected = unexpected.count;
    comparison.expectation_distance_mean =
        unexpected.count > 0 ? unexpected.distance_sum / unexpected.count : 0;
  }
  Score(rows, range, Candidates(comparison), &comparison);
  result->scores.insert(result->scores.end(), scores_.begin(), scores_.end());
  result->comparisons.push_back(comparison);
}

// A rank whose sampler did not run would else lie at mu 0, far from its peers. It takes their
// medians; an idle resource that was measured stays 0.
void RoleComparer::FillUnknownResources(RoleRows* rows) {
  mu_.assign(rows->columns[kMu], rows->columns[kMu] + rows->rows);
  sigma_.assign(rows->columns[kSigma], rows->columns[kSigma] + rows->rows);
  std::vector<uint32_t> unknown;
  std::vector<float> known_mu;
  std::vector<float> known_sigma;
  for (size_t i = 0; i < rows->rows; ++i) {
    const bool idle_or_unknown = mu_[i] == 0 && sigma_[i] == 0;
    if (idle_or_unknown && rows->function->pattern[rows->ColumnRow(i)]->resource_samples == 0) {
      unknown.push_back(static_cast<uint32_t>(i));
    } else {
      known_mu.push_back(mu_[i]);
      known_sigma.push_back(sigma_[i]);
    }
  }
  const auto mu = static_cast<float>(Median(std::span(known_mu)));
  const auto sigma = static_cast<float>(Median(std::span(known_sigma)));
  for (const uint32_t i : unknown) {
    mu_[i] = mu;
    sigma_[i] = sigma;
  }
  rows->columns[kMu] = mu_.data();
  rows->columns[kSigma] = sigma_.data();
}

void RoleComparer::DrawStatisticsSample(const RoleRows& rows, uint64_t seed) {
  SampleRandom random(seed);
  const size_t size = std::min<size_t>(options_.statistics_sample_size, rows.members);
  const size_t running = RunningShare(size, rows.rows, rows.members);
  sample_ = DrawRows(std::max<size_t>(running, 1), rows.rows, &random);
  absent_in_sample_ = size - running;
}

// Ranks that lack the function have beta 0; of its resource they say nothing.
void RoleComparer::MeasureDimensions(const RoleRows& rows) {
  for (size_t d = 0; d < kPatternDimensions; ++d) {
    values_.clear();
    for (const uint32_t i : sample_) values_.push_back(rows.columns[d][i]);
    if (d == kBeta) values_.insert(values_.end(), absent_in_sample_, 0.0f);
    const auto members = d == kBeta ? rows.members : static_cast<uint32_t>(rows.rows);
    statistics_[d] = StatisticsOf(values_, members, options_.spread_floor[d], options_);
  }
}

PatternPoint RoleComparer::PointOfAbsent() const {
  return {0, static_cast<float>(statistics_[kMu].median),
          static_cast<float>(statistics_[kSigma].median)};
}

PeerSample RoleComparer::DrawPeers(const RoleRows& rows, const PatternPoint& scale,
                                   uint64_t seed) const {
  SampleRandom random(seed);
  const size_t size = std::min<size_t>(options_.sample_size, rows.members);
  std::vector<PatternPoint> points;
  points.reserve(size);
  for (const uint32_t i : DrawRows(RunningShare(size, rows.rows, rows.members), rows.rows, &random))
    points.push_back(rows.Point(i));
  points.resize(size, PointOfAbsent());
  for (PatternPoint& point : points) {
    for (size_t d = 0; d < kPatternDimensions; ++d) point[d] *= scale[d];
  }
  return PeerSample(points, scale, static_cast<float>(options_.distance));
}

// Where the tight rule has nothing to say: everywhere in a dimension in which the peers are not
// close together.
PatternBox RoleComparer::UsualBox() const {
  constexpr float kUnbounded = std::numeric_limits<float>::infinity();
  PatternBox box{{-kUnbounded, -kUnbounded, -kUnbounded}, {kUnbounded, kUnbounded, kUnbounded}};
  for (size_t d = 0; d < kPatternDimensions; ++d) {
    const DimensionStatistics& s = statistics_[d];
    if (!s.tight) continue;
    const double reach = options_.tight_deviation * s.tight_spread;
    box.low[d] = static_cast<float>(s.median - reach);
    box.high[d] = static_cast<float>(s.median + reach);
  }
  return box;
}

// All ranks that lack the function share one Delta, which counts as often as there are such ranks.
void RoleComparer::AddAbsentRanks(const RoleRows& rows, const PeerSample& peers) {
  if (rows.members <= rows.rows) return;
  const PatternPoint absent = PointOfAbsent();
  RowScreen screen;
  peers.Screen({&absent[kBeta], &absent[kMu], &absent[kSigma]}, 1, PatternBox{}, &screen);
  screen_.histogram[screen.distant.front()] += rows.members - rows.rows;
}

void RoleComparer::MeasureDelta(uint32_t sample_size, RoleComparison* comparison) const {
  const MedianAndMad distant = MedianAndMadOfCounts(screen_.histogram);
  const double size = sample_size;
  comparison->sample_size = sample_size;
  comparison->delta_median = distant.median / size;
  comparison->delta_mad = distant.mad / size;
  comparison->delta_threshold =
      comparison->delta_median +
      std::max(options_.mad_factor * comparison->delta_mad, options_.min_excess);
}

// Rows that either rule may flag.
std::vector<uint32_t> RoleComparer::Candidates(const RoleComparison& comparison) const {
  const double limit = comparison.delta_threshold * comparison.sample_size;
  const auto first_above = std::min(static_cast<size_t>(limit) + 1, screen_.histogram.size());
  const bool any = std::any_of(screen_.histogram.begin() + static_cast<std::ptrdiff_t>(first_above),
                               screen_.histogram.end(), [](uint64_t rows) { return rows > 0; });
  if (!any) return screen_.unusual;
  std::vector<uint32_t> distant;
  for (size_t i = 0; i < screen_.distant.size(); ++i) {
    if (screen_.distant[i] >= first_above) distant.push_back(static_cast<uint32_t>(i));
  }
  std::vector<uint32_t> both;
  std::set_union(distant.begin(), distant.end(), screen_.unusual.begin(), screen_.unusual.end(),
                 std::back_inserter(both));
  return both;
}

void RoleComparer::Score(const RoleRows& rows, const ExpectationRange& range,
                         std::span<const uint32_t> candidates, RoleComparison* comparison) {
  scores_.clear();
  for (const uint32_t i : candidates) {
    DifferentialScore score;
    if (!Differs(rows, i, *comparison, &score)) continue;
    score.expectation_distance = static_cast<double>(ExpectationDistance(rows.Point(i), range));
    scores_.push_back(score);
  }
  comparison->flagged = static_cast<uint32_t>(scores_.size());
  if (scores_.empty()) return;
  const int64_t median_ns = MedianCriticalNs(rows);
  for (DifferentialScore& score : scores_) score.critical_excess_ns = score.critical_ns - median_ns;
  if (scores_.size() <= options_.max_scores) return;
  std::nth_element(scores_.begin(),
                   scores_.begin() + static_cast<std::ptrdiff_t>(options_.max_scores),
                   scores_.end(), WorseThan);
  scores_.resize(options_.max_scores);
}

bool RoleComparer::Differs(const RoleRows& rows, size_t i, const RoleComparison& comparison,
                           DifferentialScore* score) const {
  const PatternPoint point = rows.Point(i);
  if (static_cast<double>(point[kBeta]) <= options_.min_beta) return false;
  for (size_t d = 0; d < kPatternDimensions; ++d) {
    const double deviation = statistics_[d].Deviation(static_cast<double>(point[d]));
    if (std::abs(deviation) > std::abs(score->deviation)) {
      score->deviation = deviation;
      score->dimension = static_cast<PatternDimension>(d);
    }
    score->tight |= statistics_[d].tight &&
                    std::abs(statistics_[d].TightDeviation(static_cast<double>(point[d]))) >=
                        options_.tight_deviation;
  }
  score->delta = static_cast<double>(screen_.distant[i]) / comparison.sample_size;
  score->distant = score->delta > comparison.delta_threshold &&
                   std::abs(score->deviation) >= options_.confirm_deviation;
  if (!score->distant && !score->tight) return false;

  const size_t row = rows.ColumnRow(i);
  score->function = comparison.function;
  score->rank = rows.function->rank[row];
  score->role = rows.role;
  score->pattern = rows.function->pattern[row];
  score->delta_median = comparison.delta_median;
  score->delta_mad = comparison.delta_mad;
  score->delta_threshold = comparison.delta_threshold;
  score->sample_size = comparison.sample_size;
  score->own = point;
  score->peers_median = comparison.median;
  score->beta_excess = static_cast<double>(point[kBeta]) - statistics_[kBeta].median;
  score->critical_ns = score->pattern->critical_ns;
  score->peers = rows.members - 1;
  return true;
}

int64_t RoleComparer::MedianCriticalNs(const RoleRows& rows) const {
  std::vector<int64_t> critical;
  critical.reserve(sample_.size() + absent_in_sample_);
  for (const uint32_t i : sample_)
    critical.push_back(rows.function->critical_ns[rows.ColumnRow(i)]);
  critical.resize(sample_.size() + absent_in_sample_, 0);
  return static_cast<int64_t>(Median(std::span(critical)));
}

}  // namespace eroica
