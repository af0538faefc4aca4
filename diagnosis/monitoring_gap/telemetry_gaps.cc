#include "diagnosis/monitoring_gap/telemetry_gaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <sstream>
#include <tuple>

#include "diagnosis/monitoring_gap/gap_sentences.h"
#include "diagnosis/report/subkinds.h"
#include "diagnosis/statistics/distributions.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

// Steps that the job ran in the window, ascending: those that at least half of the ranks have told
// of which tell of any.
std::vector<int64_t> StepsOfJob(const CrossRankView& view) {
  std::map<int64_t, size_t> told;
  size_t telling = 0;
  for (const RankView& rank : view.ranks()) {
    if (!rank.batch->steps.empty()) ++telling;
    for (const StepRecord& step : rank.batch->steps) ++told[step.id];
  }
  std::vector<int64_t> steps;
  for (const auto& [id, ranks] : told) {
    if (2 * ranks >= telling) steps.push_back(id);
  }
  return steps;
}

// Those of the steps that the rank was there for. What comes after its last word is nobody's, and
// so is what came before its first.
std::span<const int64_t> ExpectedOf(const PatternBatch& batch, std::span<const int64_t> steps,
                                    bool joins) {
  auto first = steps.begin();
  auto end = steps.end();
  if (joins && !batch.steps.empty())
    first = std::ranges::lower_bound(steps, batch.steps.front().id);
  if (batch.final && !batch.steps.empty())
    end = std::ranges::upper_bound(steps, batch.steps.back().id);
  return first < end ? std::span(first, end) : std::span<const int64_t>();
}

}  // namespace

void TelemetryGaps::Forget() {
  const double kept = 1 - 1 / options_.windows_kept;
  steps_ *= kept;
  for (auto& [rank, gap] : gaps_) {
    gap.unseen *= kept;
    gap.runs *= kept;
  }
  std::erase_if(gaps_, [](const auto& entry) { return entry.second.unseen < 0.1; });
}

TelemetryGaps::Unseen TelemetryGaps::Hear(const RankView& rank, std::span<const int64_t> steps,
                                          bool begins) {
  const bool first = !rank.batch->steps.empty() && heard_.insert(rank.rank).second;
  const bool joins = first && !begins;
  if (joins) gaps_.erase(rank.rank);
  Unseen unseen;
  bool seen_before = true;
  for (const int64_t step : ExpectedOf(*rank.batch, steps, joins)) {
    const bool seen = std::ranges::binary_search(rank.batch->steps, step, {}, &StepRecord::id);
    unseen.steps += seen ? 0 : 1;
    unseen.runs += !seen && seen_before ? 1 : 0;
    seen_before = seen;
  }
  return unseen;
}

void TelemetryGaps::Count(const CrossRankView& view) {
  const std::vector<int64_t> steps = StepsOfJob(view);
  if (steps.empty()) return;
  const bool begins = heard_.empty();
  Forget();
  steps_ += static_cast<double>(steps.size());
  const auto add = [&](RankId rank, Unseen unseen) -> Gap& {
    Gap& gap = gaps_.try_emplace(rank, Gap{.rank = rank.value, .since = view.window_index()})
                   .first->second;
    gap.unseen += static_cast<double>(unseen.steps);
    gap.runs += static_cast<double>(unseen.runs);
    return gap;
  };
  for (const RankView& rank : view.ranks()) {
    if (rank.batch->final) {
      ended_.insert(rank.rank);
    } else if (!rank.batch->silent) {
      ended_.erase(rank.rank);
    }
    const Unseen unseen = Hear(rank, steps, begins);
    if (unseen.steps == 0 && !gaps_.contains(rank.rank)) continue;
    Gap& gap = add(rank.rank, unseen);
    gap.heard = true;
    if (!rank.batch->host.empty()) gap.host = rank.batch->host;
  }
  if (2 * view.ranks().size() < view.world_size()) return;  // the others are left out on purpose
  for (uint32_t rank = 0; rank < view.world_size(); ++rank) {
    if (view.FindRank(RankId{rank}) == nullptr && !ended_.contains(RankId{rank}))
      add(RankId{rank}, {.steps = steps.size(), .runs = 1});
  }
}

// Of how many steps one loss takes the telemetry: batches hold several, and steps that are lost one
// by one come in a row as well, the more of them are lost.
double TelemetryGaps::StepsOfALoss() const {
  double steps = 0;
  double runs = 0;
  for (const auto& [rank, gap] : gaps_) {
    if (!gap.heard) continue;
    steps += gap.unseen * (1 - std::min(1.0, gap.unseen / steps_));
    runs += gap.runs;
  }
  return runs > 0 ? std::max(1.0, steps / runs) : 1;
}

// Where everybody loses something, the transport is what is lossy and no rank has a gap of its own:
// the mean over all ranks but the eighth that loses most, and three ranks at least.
double TelemetryGaps::UsualShare(uint32_t world_size) const {
  std::vector<double> shares;
  for (const auto& [rank, gap] : gaps_) {
    if (gap.heard) shares.push_back(gap.unseen / steps_);
  }
  const size_t left_out = std::max<size_t>(3, world_size / 8);
  if (shares.size() <= left_out || world_size <= left_out) return 0;
  std::ranges::sort(shares);
  const double sum =
      std::accumulate(shares.begin(), shares.end() - static_cast<std::ptrdiff_t>(left_out), 0.0);
  return sum / static_cast<double>(world_size - left_out);
}

// What accidents may take of a rank's steps.
double TelemetryGaps::AccidentalShare(uint32_t world_size) const {
  constexpr double kTimesUsual = 5;  // the mean leaves out who loses most, by accident too
  return std::min(0.5, std::max(options_.accidental_share, kTimesUsual * UsualShare(world_size)));
}

// Whether losses that hit all ranks equally often would not come to so few of them, however
// frequent they are: the p-value of so many of all losses hitting some ranks, whichever they are,
// is below what is allowed.
bool TelemetryGaps::ComeToFewRanks(const std::vector<Listed>& listed, uint32_t world_size) const {
  double all = 0;
  for (const auto& [rank, gap] : gaps_) all += gap.heard ? gap.runs : 0;
  std::vector<double> losses;
  for (const Listed& one : listed) losses.push_back(one.gap->runs);
  std::ranges::sort(losses, std::greater<>());
  const double ranks = world_size;
  double own = 0;
  for (size_t i = 0; i < losses.size() && i + 1 < world_size; ++i) {
    own += losses[i];
    const auto some = static_cast<double>(i + 1);
    const double log_choices =
        std::lgamma(ranks + 1) - std::lgamma(some + 1) - std::lgamma(ranks - some + 1);
    const double p_value = BinomialTail(static_cast<uint64_t>(std::lround(all)),
                                        static_cast<uint64_t>(std::lround(own)), some / ranks);
    if (std::exp(log_choices) * p_value < AllowedFor(i)) return true;
  }
  return false;
}

// Each number of ranks is a test of its own: half of the false-alarm rate is allowed for one rank,
// a quarter for two ...
double TelemetryGaps::AllowedFor(size_t others) const {
  return options_.false_alarms *
         std::ldexp(1.0, -static_cast<int>(std::min<size_t>(others, 30)) - 1);
}

// Whether accidents do not explain the ranks that lose most, one of them or some together.
bool TelemetryGaps::AreNoAccidents(const std::vector<Listed>& listed, uint32_t world_size) const {
  const double accidental = AccidentalShare(world_size);
  const double steps_of_loss = StepsOfALoss();
  const auto losses_of = [steps_of_loss](double steps) {
    return static_cast<uint64_t>(std::lround(std::max(0.0, steps) / steps_of_loss));
  };
  std::vector<double> p_values;
  for (const Listed& one : listed) {
    if (one.gap->unseen >= options_.min_unseen)
      p_values.push_back(BinomialTail(losses_of(steps_), losses_of(one.gap->unseen), accidental));
  }
  std::ranges::sort(p_values);
  for (size_t i = 0; i < p_values.size(); ++i) {
    if (BinomialTail(world_size, i + 1, p_values[i]) < AllowedFor(i)) return true;
  }
  return false;
}

std::vector<TelemetryGaps::Listed> TelemetryGaps::FindGaps(const CrossRankView& view) const {
  std::vector<Listed> listed;
  if (steps_ < options_.min_steps) return listed;
  const double least_share = std::max(options_.min_share, AccidentalShare(view.world_size()));
  for (const auto& [rank, gap] : gaps_) {
    const double share = std::min(1.0, gap.unseen / steps_);
    if (gap.heard && share >= least_share) listed.push_back({rank, &gap, share});
  }
  if (!AreNoAccidents(listed, view.world_size()) && !ComeToFewRanks(listed, view.world_size()))
    listed.clear();
  return listed;
}

Finding TelemetryGaps::Describe(const CrossRankView& view,
                                const std::vector<Listed>& listed) const {
  std::vector<GapOfRank> ranks;
  for (const Listed& one : listed)
    ranks.push_back({one.rank, one.gap->host, one.share, one.gap->since});
  Finding finding;
  finding.kind = FindingKind::kMonitoringGap;
  finding.subkind = kMissingSteps;
  finding.job = view.job();
  finding.first_window = view.window_index();
  finding.last_window = view.window_index();
  std::tie(finding.first_seen_ns, finding.last_seen_ns) = TimesOf(view);
  finding.world_size = view.world_size();
  for (const RankView& rank : view.ranks()) {
    finding.events += rank.batch->completeness.events;
    finding.events_lost += rank.batch->completeness.lost + rank.batch->completeness.late;
    if (!rank.batch->silent) ++finding.ranks_seen;
    if (rank.batch->steps.empty()) continue;
    const int64_t first = rank.batch->steps.front().id;
    finding.first_step = finding.first_step < 0 ? first : std::min(finding.first_step, first);
    finding.last_step = std::max(finding.last_step, rank.batch->steps.back().id);
  }
  const double usual = UsualShare(view.world_size());
  Tell({.ranks = ranks,
        .usual_share = usual,
        .threshold = options_.min_share,
        .steps = steps_,
        .window = view.window_index()},
       &finding);
  finding.operator_name = "monitoring_gap";
  finding.operator_version = "1";
  return finding;
}

std::optional<Finding> TelemetryGaps::Observe(const CrossRankView& view) {
  Count(view);
  const std::vector<Listed> listed = FindGaps(view);
  if (listed.empty()) return std::nullopt;
  return Describe(view, listed);
}

TelemetryGapsState TelemetryGaps::State() const {
  TelemetryGapsState state{.steps = steps_, .gaps = {}, .heard = {}, .ended = {}};
  for (const auto& [rank, gap] : gaps_) state.gaps.push_back(gap);
  for (const RankId rank : heard_) state.heard.push_back(rank.value);
  for (const RankId rank : ended_) state.ended.push_back(rank.value);
  return state;
}

void TelemetryGaps::Restore(TelemetryGapsState state) {
  *this = TelemetryGaps(options_);
  steps_ = state.steps;
  for (TelemetryGap& gap : state.gaps) gaps_.emplace(RankId{gap.rank}, std::move(gap));
  for (const uint32_t rank : state.heard) heard_.insert(RankId{rank});
  for (const uint32_t rank : state.ended) ended_.insert(RankId{rank});
}

}  // namespace eroica
