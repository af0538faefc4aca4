#include "diagnosis/regression/network_change.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "diagnosis/measurements/job_profile.h"
#include "diagnosis/measurements/mean_step.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

constexpr double kSpreads = 6;         // of the past's logarithms of speed: beyond noise
constexpr double kLeastSpread = 0.02;  // what connections that carry the same differ by

double SpeedOf(const ConnectionPattern& row) {
  return row.busy_ns > 0 ? static_cast<double>(row.bytes) / static_cast<double>(row.busy_ns) : 0;
}

// Of the same kind of connections in another window; 0 where it had none.
double SpeedIn(const PatternBatch& profile, const ConnectionPattern& like) {
  const auto row =
      std::ranges::find_if(profile.connections, [&like](const ConnectionPattern& other) {
        return other.resource == like.resource && other.peer == like.peer &&
               other.channels == like.channels;
      });
  return row != profile.connections.end() ? SpeedOf(*row) : 0;
}

struct KindChange {
  double past_speed = 0;
  double now_speed = 0;
  bool slower = false;
};

// The faster of the two newest windows against all earlier ones.
std::optional<KindChange> ChangeOf(const ConnectionPattern& row,
                                   std::span<const PatternBatch> history,
                                   const NetworkChangeOptions& options) {
  std::vector<double> past;
  for (const PatternBatch& profile : history.first(history.size() - 1)) {
    if (const double speed = SpeedIn(profile, row); speed > 0) past.push_back(std::log(speed));
  }
  const double before = SpeedIn(history.back(), row);
  if (past.size() < options.min_past || before <= 0) return std::nullopt;
  const double now = std::max(SpeedOf(row), before);
  const double slowest = *std::ranges::min_element(past);
  const MedianAndMad typical = TakeMedianAndMad(std::span(past));
  const double spread = std::max(kSigmaPerMad * typical.mad, kLeastSpread);
  const double drop = typical.median - std::log(now);
  const bool slower =
      drop >= -std::log(options.slow_share) && drop >= kSpreads * spread && std::log(now) < slowest;
  return KindChange{.past_speed = std::exp(typical.median), .now_speed = now, .slower = slower};
}

// Of the job's windows: by how much the value has grown, the smaller of the two newest against the
// median of all earlier ones.
template <typename Of>
double GrowthOf(std::span<const PatternBatch> history, const PatternBatch& now, Of of) {
  std::vector<double> past;
  for (const PatternBatch& profile : history.first(history.size() - 1)) past.push_back(of(profile));
  return std::min(of(history.back()), of(now)) - Median(std::span(past));
}

double WaitNsOf(const PatternBatch& profile) { return MeanStepOf(profile).wait_ns; }
double TransferNsOf(const PatternBatch& profile) {
  return FunctionNsOf(profile, TransferOfCollectives());
}

}  // namespace

bool IsNetworkAsFast(std::span<const PatternBatch> past, const PatternBatch& now, double growth) {
  bool known = false;
  for (const ConnectionPattern& row : now.connections) {
    std::vector<double> before;
    for (const PatternBatch& profile : past) {
      if (const double speed = SpeedIn(profile, row); speed > 0) before.push_back(speed);
    }
    if (before.empty() || SpeedOf(row) <= 0) continue;
    known = true;
    if (Median(std::span(before)) / SpeedOf(row) - 1 >= growth / 2) return false;
  }
  return known;
}

std::optional<NetworkChange> FindNetworkChange(std::span<const PatternBatch> history,
                                               const PatternBatch& now,
                                               const NetworkChangeOptions& options) {
  if (history.size() < options.min_past + 1 || now.steps.empty()) return std::nullopt;
  for (const Resource resource : {Resource::kNic, Resource::kNvlink}) {
    if (resource == Resource::kNic && !options.has_nics) continue;
    double busy_ns = 0;
    double slower_ns = 0;
    double busiest_ns = 0;
    NetworkChange change{.resource = resource, .past_windows = history.size() - 1};
    for (const ConnectionPattern& row : now.connections) {
      if (row.resource != resource) continue;
      const auto row_ns = static_cast<double>(row.busy_ns);
      busy_ns += row_ns;
      const std::optional<KindChange> kind = ChangeOf(row, history, options);
      if (!kind || !kind->slower) continue;
      slower_ns += row_ns;
      if (row_ns <= busiest_ns) continue;
      busiest_ns = row_ns;
      change.past_speed = kind->past_speed;
      change.now_speed = kind->now_speed;
    }
    if (slower_ns <= 0 || slower_ns < options.everywhere * busy_ns) continue;
    change.now_ns = std::min(ProfileStepNs(now), ProfileStepNs(history.back()));
    change.past_ns = change.now_ns - GrowthOf(history, now, ProfileStepNs);
    change.wait_ns = GrowthOf(history, now, WaitNsOf);
    change.transfer_ns = GrowthOf(history, now, TransferNsOf);
    if (std::max(change.wait_ns, change.transfer_ns) >= options.min_share * change.past_ns)
      return change;
  }
  return std::nullopt;
}

}  // namespace eroica
