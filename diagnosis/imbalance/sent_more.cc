#include "diagnosis/imbalance/sent_more.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "diagnosis/distributions.h"
#include "diagnosis/lasting_excess.h"
#include "diagnosis/robust_statistics.h"

namespace eroica {
namespace {

constexpr double kTheSame = 1e-3;  // logarithms of bytes
constexpr size_t kFewestOthers = 6;
// of the chance that looks over many windows may cost: few ranks tell little of how windows
// resemble each other
constexpr double kShareOfLook = 0.5;

// The logarithm of what a rank exchanges, to a common scale.
struct LogBytes {
  RankIndex rank = 0;
  double value = 0;
};

// By rank, of those that exchange anything.
std::vector<LogBytes> LogBytesOf(std::span<const uint32_t> numbers, const RankTimes& window) {
  std::vector<LogBytes> bytes;
  ForEachRankTime(numbers, window, [&bytes](size_t i, const RankTime& row) {
    if (row.busy_ns > 0)
      bytes.push_back({static_cast<RankIndex>(i), std::log(static_cast<double>(row.busy_ns))});
  });
  return bytes;
}

// Of one role, in one window.
class OfRole {
 public:
  void Add(double log_bytes) { values_.push_back(log_bytes); }

  // Each of them once.
  void Sort() {
    std::ranges::sort(values_);
    const auto same = [](double a, double b) { return b - a < kTheSame; };
    values_.erase(std::unique(values_.begin(), values_.end(), same), values_.end());
    for (const double value : values_) {
      sum_ += value - Middle();
      squares_ += (value - Middle()) * (value - Middle());
    }
  }

  double Middle() const { return values_[values_.size() / 2]; }

  // Against all others but those that exchange the same.
  double ChanceOf(double own) const {
    auto count = static_cast<double>(values_.size());
    double sum = sum_;
    double squares = squares_;
    for (auto same = std::ranges::upper_bound(values_, own - kTheSame);
         same != values_.end() && *same < own + kTheSame; ++same) {
      --count;
      sum -= *same - Middle();
      squares -= (*same - Middle()) * (*same - Middle());
    }
    if (count < kFewestOthers) return 1;
    const double mean = sum / count;
    const double variance =
        std::max((squares - count * mean * mean) / (count - 1), kTheSame * kTheSame);
    const double t = (own - Middle() - mean) / std::sqrt(variance * (1 + 1 / count));
    return t > 0 ? StudentTail(t, count - 1) : 1;
  }

 private:
  std::vector<double> values_;
  double sum_ = 0;  // of their distances from the middle
  double squares_ = 0;
};

// One window.
struct OfWindow {
  std::vector<double> chance;    // by rank; 1 where it has no more than its peers
  std::vector<double> distance;  // from the median of its role, likewise
};

OfWindow MeasureWindow(const CrossRankView& view, const RankTimes& window) {
  const std::vector<LogBytes> bytes = LogBytesOf(NumbersOf(view.ranks()), window);
  std::vector<OfRole> roles(view.role_count());
  for (const auto& [rank, log_bytes] : bytes) roles[view.ranks()[rank].role].Add(log_bytes);
  for (OfRole& role : roles) role.Sort();
  OfWindow measured{.chance = std::vector<double>(view.ranks().size(), 1),
                    .distance = std::vector<double>(view.ranks().size(), 0)};
  for (const auto& [rank, log_bytes] : bytes) {
    const OfRole& role = roles[view.ranks()[rank].role];
    measured.chance[rank] = role.ChanceOf(log_bytes);
    measured.distance[rank] = log_bytes - role.Middle();
  }
  return measured;
}

// That windows which resemble each other by so much are both so far above chance (Stouffer): of two
// that are the same it is that of one.
double ChanceOfBoth(double now, double before, double correlation) {
  return NormalTail((NormalDeviations(now) + NormalDeviations(before)) /
                    std::sqrt(2 * (1 + correlation)));
}

// How much ranks resemble themselves in the two windows: routing that changes slowly makes one
// window of two. Those that are above chance where windows are independent say nothing of it.
double Correlation(const OfWindow& now, const OfWindow& before, double suspicious) {
  double both = 0;
  double of_now = 0;
  double of_before = 0;
  for (size_t i = 0; i < now.chance.size(); ++i) {
    if (ChanceOfBoth(now.chance[i], before.chance[i], 0) <= suspicious) continue;
    both += now.distance[i] * before.distance[i];
    of_now += now.distance[i] * now.distance[i];
    of_before += before.distance[i] * before.distance[i];
  }
  return of_now > 0 && of_before > 0 ? std::clamp(both / std::sqrt(of_now * of_before), 0.0, 1.0)
                                     : 1;
}

}  // namespace

std::vector<SentMore> SentMoreInTwoWindows(const CrossRankView& view) {
  const auto past =
      Uninterrupted(view.past().bytes, view.window_kind(), view.window_index(), view.world_size());
  if (past.empty() || view.exchanged().rows.empty() || past.back().rows.empty()) return {};
  const OfWindow now = MeasureWindow(view, view.exchanged());
  const OfWindow before = MeasureWindow(view, past.back());
  const LastingOptions options;
  const double of_job =
      options.false_alarms_of_job * SpentOnQuestion(static_cast<double>(view.window_index()) + 1);
  const auto ranks = static_cast<double>(now.chance.size());
  const double allowed = kShareOfLook * std::max(options.false_alarms_per_look, of_job) / ranks;
  const double correlation = Correlation(now, before, allowed);
  std::vector<SentMore> sent_more;
  for (RankIndex rank = 0; rank < now.chance.size(); ++rank) {
    if (std::max(now.chance[rank], before.chance[rank]) > std::cbrt(allowed)) continue;
    const double chance = ChanceOfBoth(now.chance[rank], before.chance[rank], correlation);
    if (chance <= allowed) sent_more.push_back({.rank = rank, .chance = chance});
  }
  return sent_more;
}

}  // namespace eroica
