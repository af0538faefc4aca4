#include "diagnosis/monitoring_gap/telemetry_gaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <sstream>

#include "diagnosis/monitoring_gap/gap_sentences.h"

namespace eroica {
namespace {

// Steps that the job ran in the window: those that at least half of the ranks have told of which tell of any.
std::set<int64_t> StepsOfJob(const CrossRankView& view) {
  std::map<int64_t, size_t> told;
  size_t telling = 0;
  for (const RankView& rank : view.ranks()) {
    if (!rank.batch->steps.empty()) ++telling;
    for (const StepRecord& step : rank.batch->steps) ++told[step.id];
  }
  std::set<int64_t> steps;
  for (const auto& [id, ranks] : told) {
    if (2 * ranks >= telling) steps.insert(id);
  }
  return steps;
}

// Those of the steps that the rank was there for. What comes after its last word is nobody's, and so is what came before its first.
size_t UnseenOf(const PatternBatch& batch, const std::set<int64_t>& steps, bool joins) {
  size_t seen = 0;
  for (const StepRecord& step : batch.steps) seen += steps.contains(step.id) ? 1 : 0;
  auto first = steps.begin();
  auto end = steps.end();
  if (joins && !batch.steps.empty()) first = steps.lower_bound(batch.steps.front().id);
  if (batch.final && !batch.steps.empty()) end = steps.upper_bound(batch.steps.back().id);
  const auto expected = static_cast<size_t>(std::max<std::ptrdiff_t>(0, std::distance(first, end)));
  return expected - std::min(seen, expected);
}

// Upper bound of the chance that of n steps, each lost with chance p, a share of `share` and more is lost (Chernoff and Hoeffding).
double ChanceOf(double share, double n, double p) {
  if (share <= p) return 1;
  const double lost = share * std::log(share / p);
  const double kept = share < 1 ? (1 - share) * std::log((1 - share) / (1 - p)) : 0;
  return std::exp(-n * (lost + kept));
}

}  // namespace

void TelemetryGaps::Forget() {
  const double kept = 1 - 1 / options_.windows_kept;
  steps_ *= kept;
  for (auto& [rank, gap] : gaps_) gap.unseen *= kept;
  std::erase_if(gaps_, [](const auto& entry) { return entry.second.unseen < 0.1; });
}

size_t TelemetryGaps::Hear(const RankView& rank, const std::set<int64_t>& steps, bool begins) {
  const bool first = !rank.batch->steps.empty() && heard_.insert(rank.rank).second;
  const bool joins = first && !begins;
  if (joins) gaps_.erase(rank.rank);
  return UnseenOf(*rank.batch, steps, joins);
}

void TelemetryGaps::Count(const CrossRankView& view) {
  const std::set<int64_t> steps = StepsOfJob(view);
  if (steps.empty()) return;
  const bool begins = heard_.empty();
  Forget();
  steps_ += static_cast<double>(steps.size());
  const auto add = [&](RankId rank, size_t unseen) -> Gap& {
    Gap& gap = gaps_.try_emplace(rank, Gap{.since = view.window_index()}).first->second;
    gap.unseen += static_cast<double>(unseen);
    return gap;
  };
  for (const RankView& rank : view.ranks()) {
    if (rank.batch->final) {
      ended_.insert(rank.rank);
    } else if (!rank.batch->silent) {
      ended_.erase(rank.rank);
    }
    const size_t unseen = Hear(rank, steps, begins);
    if (unseen == 0 && !gaps_.contains(rank.rank)) continue;
    Gap& gap = add(rank.rank, unseen);
    gap.heard = true;
    if (!rank.batch->host.empty()) gap.host = rank.batch->host;
  }
  if (2 * view.ranks().size() < view.world_size()) return;  // the others are left out on purpose
  for (uint32_t rank = 0; rank < view.world_size(); ++rank) {
    if (view.FindRank(RankId{rank}) == nullptr && !ended_.contains(RankId{rank})) add(RankId{rank}, steps.size());
  }
}

// The median over all ranks: where everybody loses something, the transport is what is lossy and no rank has a gap of its own.
double TelemetryGaps::UsualShare(uint32_t world_size) const {
  if (2 * gaps_.size() <= world_size) return 0;
  std::vector<double> shares(world_size - std::min<size_t>(world_size, gaps_.size()), 0);
  for (const auto& [rank, gap] : gaps_) shares.push_back(gap.unseen / steps_);
  std::nth_element(shares.begin(), shares.begin() + static_cast<std::ptrdiff_t>(shares.size() / 2), shares.end());
  return shares[shares.size() / 2];
}

std::vector<TelemetryGaps::Listed> TelemetryGaps::FindGaps(const CrossRankView& view) const {
  std::vector<Listed> listed;
  if (steps_ < options_.min_steps) return listed;
  const double accidental = std::min(0.5, std::max(options_.accidental_share, 2 * UsualShare(view.world_size())));
  bool certain = false;
  for (const auto& [rank, gap] : gaps_) {
    const double share = std::min(1.0, gap.unseen / steps_);
    if (!gap.heard || share < std::max(options_.min_share, accidental)) continue;
    listed.push_back({rank, &gap, share});
    if (gap.unseen < options_.min_unseen) continue;
    certain = certain || ChanceOf(share, steps_, accidental) * view.world_size() < options_.false_alarms;
  }
  if (!certain) listed.clear();
  return listed;
}

Finding TelemetryGaps::Describe(const CrossRankView& view, const std::vector<Listed>& listed) const {
  std::vector<GapOfRank> ranks;
  for (const Listed& one : listed) ranks.push_back({one.rank, one.gap->host, one.share, one.gap->since});
  Finding finding;
  finding.kind = FindingKind::kMonitoringGap;
  finding.subkind = "ranks";
  finding.job = view.job();
  finding.first_window = view.window_index();
  finding.last_window = view.window_index();
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
  Tell({.ranks = ranks, .usual_share = usual, .threshold = options_.min_share, .steps = steps_, .window = view.window_index()}, &finding);
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

std::string TelemetryGaps::Encode() const {
  std::string text = fmt::format("1 {}\n", steps_);
  for (const auto& [rank, gap] : gaps_)
    text += fmt::format("{} {} {} {} {}\n", rank.value, gap.unseen, gap.since, gap.heard ? 1 : 0, gap.host);
  for (const RankId rank : heard_) text += fmt::format("heard {}\n", rank.value);
  for (const RankId rank : ended_) text += fmt::format("ended {}\n", rank.value);
  return text;
}

bool TelemetryGaps::Restore(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::string line;
  int version = 0;
  double steps = 0;
  if (!std::getline(lines, line)) return false;
  if (std::istringstream head(line); !(head >> version >> steps) || version != 1) return false;
  std::map<RankId, Gap> gaps;
  std::set<RankId> ended;
  std::set<RankId> ever_heard;
  while (std::getline(lines, line)) {
    std::istringstream row(line);
    uint32_t rank = 0;
    if (line.starts_with("ended ") || line.starts_with("heard ")) {
      row.ignore(6);
      if (!(row >> rank)) return false;
      (line.starts_with("ended ") ? ended : ever_heard).insert(RankId{rank});
      continue;
    }
    int heard = 0;
    Gap gap;
    if (!(row >> rank >> gap.unseen >> gap.since >> heard)) return false;
    gap.heard = heard != 0;
    row.ignore();
    std::getline(row, gap.host);
    gaps.emplace(RankId{rank}, std::move(gap));
  }
  steps_ = steps;
  gaps_ = std::move(gaps);
  ended_ = std::move(ended);
  heard_ = std::move(ever_heard);
  return true;
}

}  // namespace eroica
