#include "diagnosis/measurements/lasting_excess.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <span>

#include "diagnosis/measurements/mean_step.h"
#include "diagnosis/statistics/distributions.h"
#include "diagnosis/statistics/robust_statistics.h"
#include "schemas/kernel_bound.h"

namespace eroica {
namespace {

RankTime MeanOf(const RankView& rank) {
  constexpr double kMostNs = 4e18;  // of what hostile payloads say
  return {.rank = rank.rank.value,
          .busy_ns = static_cast<float>(std::min(rank.step.busy_ns(), kMostNs)),
          .wait_ns = static_cast<float>(std::min(rank.step.wait_ns, kMostNs))};
}

// Calls visit(position, busy, wait) for the rows of the window that are of these ranks. For `less`,
// busy time and waiting are in each other's place: who has less of the one has more of the other.
template <typename Visit>
void ForEachRank(std::span<const uint32_t> numbers, const RankTimes& window, bool less,
                 Visit visit) {
  ForEachRankTime(numbers, window, [&](size_t i, const RankTime& row) {
    visit(i, less ? row.wait_ns : row.busy_ns, less ? row.busy_ns : row.wait_ns);
  });
}

// What ranks took on the face of it, so that looks which cannot show anything cost next to nothing.
class FaceValue {
 public:
  FaceValue(std::span<const RankView> ranks, uint32_t role_count, bool less)
      : numbers_(NumbersOf(ranks)),
        members_(role_count),
        less_(less),
        busy_ns_(ranks.size()),
        windows_(ranks.size()) {
    roles_.reserve(ranks.size());
    for (const RankView& rank : ranks) {
      roles_.push_back(rank.role);
      ++members_[rank.role];
    }
  }

  void Add(const RankTimes& window) {
    float longest_ns = 0;
    ForEachRank(numbers_, window, less_, [&](size_t i, float busy_ns, float wait_ns) {
      busy_ns_[i] += busy_ns;
      ++windows_[i];
      longest_ns = std::max(longest_ns, busy_ns + wait_ns);
    });
    step_ns_ += longest_ns;
    ++count_;
  }

  // Whom a comparison is worth its time for: of roles in which anyone is late all who are, and of
  // the others so many, evenly spread, that more would not tell more. By rank; empty where nobody
  // is late.
  std::vector<RankIndex> WorthComparing(double min_share) const {
    std::vector<std::vector<double>> busy(members_.size());
    for (size_t role = 0; role < members_.size(); ++role) busy[role].reserve(members_[role]);
    for (size_t i = 0; i < roles_.size(); ++i) {
      if (windows_[i] == count_) busy[roles_[i]].push_back(busy_ns_[i]);
    }
    // Half of it: the comparison goes window by window, which is not quite the same.
    std::vector<double> late_ns(members_.size());
    for (size_t role = 0; role < members_.size(); ++role)
      late_ns[role] = Median(std::span(busy[role])) + min_share / 2 * step_ns_;
    std::vector<bool> asked(members_.size());
    const auto late = [&](size_t i) {
      return windows_[i] == count_ && busy_ns_[i] >= late_ns[roles_[i]];
    };
    for (size_t i = 0; i < roles_.size(); ++i) {
      if (late(i)) asked[roles_[i]] = true;
    }
    if (std::ranges::none_of(asked, std::identity())) return {};
    std::vector<RankIndex> chosen;
    std::vector<size_t> seen(members_.size());
    for (RankIndex i = 0; i < roles_.size(); ++i) {
      const uint32_t role = roles_[i];
      const size_t stride = (members_[role] + kPeers - 1) / kPeers;
      if (asked[role] && (seen[role]++ % stride == 0 || late(i))) chosen.push_back(i);
    }
    return chosen;
  }

 private:
  static constexpr size_t kPeers = 256;  // of a role, at least half of them

  // Of each rank what all looks ask for: in the view it lies far from that of the next.
  const std::vector<uint32_t> numbers_;
  std::vector<uint32_t> roles_;
  std::vector<size_t> members_;  // by role
  const bool less_;
  std::vector<double> busy_ns_;    // sums
  std::vector<uint32_t> windows_;  // that the rank has
  double step_ns_ = 0;
  uint32_t count_ = 0;
};

// The windows of one look, as steps of the ranks that report now.
class Look {
 public:
  Look(std::span<const RankView> ranks, std::span<const RankTimes> past, const RankTimes& now,
       bool less)
      : numbers_(NumbersOf(ranks)), less_(less) {
    batches_.resize(ranks.size());
    views_.assign(ranks.begin(), ranks.end());
    for (size_t i = 0; i < ranks.size(); ++i) {
      batches_[i].silent = ranks[i].batch->silent;
      batches_[i].steps.reserve(past.size() + 1);
      views_[i].batch = &batches_[i];
    }
    for (const RankTimes& window : past) Add(window);
    Add(now);
  }

  // How much a rank's window is like its window before, beyond what all ranks of the role have in
  // common: the median over the ranks of each role, so that a rank that became slow does not count;
  // the largest of all roles.
  double Correlation(uint32_t role_count) const {
    std::vector<std::vector<size_t>> roles(role_count);
    size_t most = 0;
    for (const PatternBatch& batch : batches_) most = std::max(most, batch.steps.size());
    for (size_t i = 0; i < views_.size(); ++i) {
      if (batches_[i].steps.size() == most) roles[views_[i].role].push_back(i);
    }
    double correlation = 0;
    for (const std::vector<size_t>& role : roles) {
      if (role.size() >= 2) correlation = std::max(correlation, CorrelationOfRole(role, most));
    }
    return correlation;
  }

  std::vector<BusyTime> Compare(uint32_t role_count) const {
    return CompareBusyTime(views_, role_count);
  }

 private:
  void Add(const RankTimes& window) {
    ForEachRank(numbers_, window, less_, [&](size_t i, float busy_ns, float wait_ns) {
      const auto waited_ns = static_cast<int64_t>(wait_ns);
      batches_[i].steps.push_back({.id = window.window.index,
                                   .duration_ns = static_cast<int64_t>(busy_ns) + waited_ns,
                                   .peer_wait_ns = waited_ns});
    });
  }

  double CorrelationOfRole(const std::vector<size_t>& role, size_t windows) const {
    std::vector<std::vector<double>> excess(role.size(), std::vector<double>(windows));
    std::vector<double> column(role.size());
    for (size_t w = 0; w < windows; ++w) {
      for (size_t m = 0; m < role.size(); ++m) {
        const StepRecord& step = batches_[role[m]].steps[w];
        excess[m][w] = column[m] = static_cast<double>(step.duration_ns - step.peer_wait_ns);
      }
      const double common = Median(std::span(column));
      for (std::vector<double>& of_rank : excess) of_rank[w] -= common;
    }
    std::vector<double> correlations;
    for (const std::vector<double>& of_rank : excess)
      correlations.push_back(CorrelationOf(of_rank));
    return Median(std::span(correlations));
  }

  const std::vector<uint32_t> numbers_;
  const bool less_;
  std::vector<PatternBatch> batches_;  // as views_
  std::vector<RankView> views_;
};

void Widen(BusyTime& busy, double factor) {
  if (busy.error_ns <= 0) return;
  busy.error_ns *= std::sqrt(factor);
  busy.freedom /= factor;
  busy.p_value = StudentTail(busy.excess_ns / busy.error_ns, busy.freedom);
}

bool Lasts(const BusyTime& busy, double max_p_value, const LastingOptions& options) {
  if (busy.share() < options.min_share || busy.separation() < options.min_separation) return false;
  if (busy.slow_steps < options.min_slow_windows * busy.steps ||
      busy.lasting_ns < options.min_lasting * busy.excess_ns)
    return false;
  return busy.p_value <= max_p_value;
}

// How much longer the typical kernel on data is on each rank than on the median of its role.
class TypicalKernels {
 public:
  explicit TypicalKernels(const CrossRankView& view)
      : members_(view.role_count()), by_role_(view.role_count()) {
    ranks_.reserve(view.ranks().size());
    for (const RankView& rank : view.ranks()) {
      ranks_.push_back({.steps = std::max(1.0, rank.step.steps), .role = rank.role});
      members_[rank.role] += rank.has_steps() && !rank.batch->host_only ? 1 : 0;
    }
    for (const FunctionColumn& column : view.functions()) {
      const FunctionPattern& sample = *column.sample;
      if (sample.function_class == FunctionClass::kGpuCompute && sample.wait != WaitKind::kPeer &&
          !WorksOnParameters(sample.name))
        Add(column);
    }
  }

  // Own / median of the role, of all ranks by their position; 0 where nothing is known.
  std::vector<double> Growths() const {
    constexpr RankIndex kBlock = 64;  // ranks whose kernels are gathered together, column by column
    const auto ranks = static_cast<RankIndex>(ranks_.size());
    std::vector<double> growths;
    growths.reserve(ranks);
    std::vector<size_t> next(kernels_.size(), 0);  // row of each kernel
    std::vector<Weighted> own(kBlock * kernels_.size());
    for (RankIndex first = 0; first < ranks; first += kBlock) {
      std::array<size_t, kBlock> counts{};
      for (size_t k = 0; k < kernels_.size(); ++k) {
        const FunctionColumn& column = *kernels_[k].column;
        for (size_t& row = next[k]; row < column.size() && column.rank[row] < first + kBlock;
             ++row) {
          const double usual_ns = kernels_[k].usual_ns[ranks_[column.rank[row]].role];
          if (usual_ns <= 0) continue;
          const RankIndex at = column.rank[row] - first;
          own[at * kernels_.size() + counts[at]++] = {.value = NsPerStep(column, row) / usual_ns,
                                                      .weight = usual_ns};
        }
      }
      for (RankIndex i = 0; i < std::min(kBlock, ranks - first); ++i)
        growths.push_back(
            WeightedMedian(std::span(own).subspan(i * kernels_.size(), counts[i]), 1));
    }
    return growths;
  }

 private:
  // Of a rank what is asked for with each kernel.
  struct OfRank {
    double steps = 1;
    uint32_t role = 0;
  };
  struct Kernel {
    const FunctionColumn* column = nullptr;
    std::vector<double> usual_ns;  // median over the ranks of a role
  };

  double NsPerStep(const FunctionColumn& column, size_t row) const {
    return static_cast<double>(column.critical_ns[row]) / ranks_[column.rank[row]].steps;
  }

  // A kernel that half of a role's ranks have no row of says nothing of it.
  void Add(const FunctionColumn& column) {
    Kernel& kernel = kernels_.emplace_back(
        Kernel{.column = &column, .usual_ns = std::vector<double>(members_.size(), 0)});
    for (std::vector<double>& values : by_role_) values.clear();
    for (size_t row = 0; row < column.size(); ++row)
      by_role_[ranks_[column.rank[row]].role].push_back(NsPerStep(column, row));
    for (size_t role = 0; role < by_role_.size(); ++role) {
      if (2 * by_role_[role].size() > members_[role])
        kernel.usual_ns[role] = Median(std::span(by_role_[role]));
    }
  }

  std::vector<OfRank> ranks_;                 // by position in the view
  std::vector<size_t> members_;               // by role
  std::vector<std::vector<double>> by_role_;  // of one kernel, to find medians in
  std::vector<Kernel> kernels_;
};

std::vector<RankView> ViewsOf(std::span<const RankView> ranks,
                              const std::vector<RankIndex>& chosen) {
  std::vector<RankView> views;
  views.reserve(chosen.size());
  for (const RankIndex rank : chosen) views.push_back(ranks[rank]);
  return views;
}

}  // namespace

double FalseAlarmsAllowed(int64_t window, const LastingOptions& options) {
  return std::max(options.false_alarms_per_look,
                  options.false_alarms_of_job * SpentOnQuestion(static_cast<double>(window) + 1));
}

std::span<const RankTimes> Uninterrupted(std::span<const RankTimes> past, WindowKind kind,
                                         int64_t index, uint32_t world_size) {
  size_t count = 0;
  for (size_t i = past.size(); i > 0; --i) {
    const RankTimes& window = past[i - 1];
    if (window.window.kind != kind || window.world_size != std::max(1u, world_size) ||
        window.window.index >= index)
      break;
    ++count;
  }
  return past.last(count);
}

RankTimes NobodysTimes(const CrossRankView& view) {
  RankTimes times;
  times.world_size = std::max(1u, view.world_size());
  if (!view.ranks().empty()) times.window = view.ranks().front().batch->window;
  return times;
}

RankTimes RankTimesOf(const CrossRankView& view) {
  RankTimes times = NobodysTimes(view);
  times.rows.reserve(view.ranks().size());
  for (const RankView& rank : view.ranks()) {
    if (rank.has_steps()) times.rows.push_back(MeanOf(rank));
  }
  return times;
}

RankTimes WorkTimesOf(const CrossRankView& view) {
  constexpr double kStepNs = 1e9;
  RankTimes times = NobodysTimes(view);
  const std::vector<double> growths = TypicalKernels(view).Growths();
  times.rows.reserve(growths.size());
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    const double growth = std::min(growths[i], 2.0);
    if (growth <= 0) continue;
    times.rows.push_back({.rank = view.ranks()[i].rank.value,
                          .busy_ns = static_cast<float>(kStepNs * growth / 2),
                          .wait_ns = static_cast<float>(kStepNs * (1 - growth / 2))});
  }
  return times;
}

std::vector<BusyTime> FindLastingExcess(std::span<const RankView> ranks, uint32_t role_count,
                                        std::span<const RankTimes> past, const RankTimes& now,
                                        const LastingOptions& options) {
  past = Uninterrupted(past, now.window.kind, now.window.index, now.world_size);
  const size_t windows = past.size() + 1;
  const double max_p_value = FalseAlarmsAllowed(now.window.index, options) /
                             static_cast<double>(std::max<size_t>(1, ranks.size()));
  std::map<RankIndex, BusyTime> lasting;
  double correlation = -1;  // computed where it is needed first
  FaceValue face_value(ranks, role_count, options.less);
  face_value.Add(now);
  size_t added = 1;  // windows
  for (const size_t length : kLooks) {
    if (length > windows) break;
    for (; added < length; ++added) face_value.Add(past[past.size() - added]);
    const std::vector<RankIndex> chosen = face_value.WorthComparing(options.min_share);
    if (chosen.empty()) continue;
    const std::vector<RankView> compared = ViewsOf(ranks, chosen);
    for (BusyTime& busy :
         Look(compared, past.last(length - 1), now, options.less).Compare(role_count)) {
      const RankIndex rank = chosen[busy.rank];
      if (busy.steps != length || !Lasts(busy, max_p_value, options)) continue;
      if (correlation < 0)
        correlation =
            Look(compared, past.last(windows - 1), now, options.less).Correlation(role_count);
      Widen(busy, ErrorFactor(length, correlation));
      if (Lasts(busy, max_p_value, options))
        lasting.insert_or_assign(rank, busy).first->second.rank = rank;
    }
  }
  std::vector<BusyTime> found;
  for (const auto& [rank, busy] : lasting) found.push_back(busy);
  return found;
}

}  // namespace eroica
