#include "diagnosis/report/held_up.h"

#include <fmt/format.h>

#include <algorithm>

#include "diagnosis/measurements/mean_step.h"
#include "diagnosis/report/duration_text.h"

namespace eroica {

Culprit CulpritOf(const RankView& rank) {
  return {.rank = static_cast<int32_t>(rank.rank.value),
          .host = rank.batch->host,
          .device = rank.batch->device};
}

std::vector<Victim> VictimsOf(const CrossRankView& view, const BusyTime& busy) {
  std::vector<Victim> victims;
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    const MeanStep& mean = view.ranks()[i].step;
    if (i == busy.rank || mean.steps == 0) continue;
    const double lost = std::min(mean.wait_ns, busy.excess_ns);
    if (lost < busy.excess_ns / 10) continue;
    victims.push_back({.rank = view.ranks()[i].rank,
                       .lost_ns = static_cast<int64_t>(lost * mean.steps),
                       .lost_ns_per_step = lost});
  }
  return victims;
}

std::string HoldsUpText(const RankView& rank, const BusyTime& busy,
                        const std::vector<Victim>& victims) {
  const std::string share =
      fmt::format("{} of {}", PercentText(std::min(1.0, busy.share())), DurationText(busy.step_ns));
  if (victims.empty()) {
    return fmt::format(
        "Rank {} takes {} a step longer than its peers ({}), and no rank is seen to wait for it",
        rank.rank.value, DurationText(busy.excess_ns), share);
  }
  return fmt::format("Rank {} holds {} other rank{} up by {} a step ({})", rank.rank.value,
                     victims.size(), victims.size() == 1 ? "" : "s", DurationText(busy.excess_ns),
                     share);
}

Measure WaitForPeersOf(const BusyTime& busy, const std::vector<Victim>& victims) {
  const double of_peers = victims.empty() ? 0 : busy.step_ns - busy.peers_busy_ns;
  return {"wait_for_peers_per_step", "ns", busy.wait_ns, of_peers, 0, busy.steps};
}

std::string PlaceOf(const RankView& rank) {
  if (rank.batch->host.empty()) return fmt::format("rank {}", rank.rank.value);
  return fmt::format("rank {} (host {})", rank.rank.value, rank.batch->host);
}

std::string BusierThanPeersText(const RankView& rank, const BusyTime& busy) {
  return fmt::format(
      "Over {} steps rank {} was busy for {} a step and waited for others for {}; the {} other "
      "rank{} of its role {} busy for {} (median). The difference is {:.1f} times the noise and "
      "shows in {} of {} steps.",
      busy.steps, rank.rank.value, DurationText(busy.busy_ns), DurationText(busy.wait_ns),
      busy.peers, busy.peers == 1 ? "" : "s", busy.peers == 1 ? "was" : "were",
      DurationText(busy.peers_busy_ns), busy.separation(), busy.slow_steps, busy.steps);
}

Measure SlowStepsOf(const BusyTime& busy) {
  return {"slow_steps",        "count", static_cast<double>(busy.slow_watched()), 0, 0,
          busy.watched_steps()};
}

int64_t FirstStepOf(const RankView& rank, const BusyTime& busy) {
  return busy.begins_within() ? busy.onset.first_step : rank.batch->steps.front().id;
}

void AddCaveatOfSteps(const BusyTime& busy, Finding* finding) {
  if (busy.begins_within()) {
    const uint32_t before = busy.steps - busy.onset.steps;
    finding->caveats.push_back(
        fmt::format("It begins at step {}: in the {} step{} before, the rank is as its peers are.",
                    busy.onset.first_step, before, before == 1 ? "" : "s"));
  } else if (busy.slow_steps * 2 < busy.steps + 1) {
    finding->caveats.push_back(
        fmt::format("It shows in {} of {} steps only.", busy.slow_steps, busy.steps));
  }
}

}  // namespace eroica
