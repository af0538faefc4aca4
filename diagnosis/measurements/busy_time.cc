#include "diagnosis/measurements/busy_time.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "diagnosis/statistics/distributions.h"
#include "diagnosis/statistics/healthy_spread.h"
#include "diagnosis/statistics/peer_median.h"
#include "diagnosis/statistics/prefetch.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

constexpr double kTimerResolutionNs = 1'000;   // no trace is finer than a microsecond or so
constexpr double kRelativeNoiseFloor = 0.002;  // of a step: what nobody can measure

double Mean(const std::vector<double>& values) {
  return values.empty() ? 0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

// For each of the values the median of all the others; a single one is its own.
std::vector<double> MediansOfOthers(const std::vector<double>& values) {
  const PeerMedian peers(values);
  if (!peers.has_peers()) return values;
  std::vector<double> medians(values.size());
  std::ranges::transform(values, medians.begin(), [&](double own) { return peers.Without(own); });
  return medians;
}

const std::vector<StepRecord>& TypicalOf(std::span<const RankView> ranks,
                                         const std::vector<RankIndex>& members) {
  return ranks[members[members.size() / 2]].batch->steps;
}

std::vector<int64_t> StepsOf(const std::vector<StepRecord>& steps) {
  std::vector<int64_t> ids;
  for (const StepRecord& step : steps) ids.push_back(step.id);
  return ids;
}

// Ids of the steps that at least half of the members report, ascending.
std::vector<int64_t> CommonSteps(std::span<const RankView> ranks,
                                 const std::vector<RankIndex>& members) {
  std::map<int64_t, size_t> reports;
  // Most members report the very same steps: those are counted together.
  const std::vector<StepRecord>& typical = TypicalOf(ranks, members);
  size_t like_typical = 0;
  for (const RankIndex member : members) {
    const std::vector<StepRecord>& steps = ranks[member].batch->steps;
    if (std::ranges::equal(steps, typical, {}, &StepRecord::id, &StepRecord::id)) {
      ++like_typical;
    } else {
      for (const StepRecord& step : steps) ++reports[step.id];
    }
  }
  for (const StepRecord& step : typical) reports[step.id] += like_typical;
  std::vector<int64_t> ids;
  for (const auto& [id, count] : reports) {
    if (2 * count >= members.size()) ids.push_back(id);
  }
  return ids;
}

// Of members that do not report all steps those that report at least half: a file was cut, or
// events were lost.
std::vector<RankIndex> WithGaps(std::span<const RankView> ranks,
                                const std::vector<RankIndex>& members,
                                const std::vector<int64_t>& ids) {
  std::vector<RankIndex> with_gaps;
  for (const RankIndex member : members) {
    const std::vector<StepRecord>& steps = ranks[member].batch->steps;
    const auto reported =
        static_cast<size_t>(std::ranges::count_if(steps, [&ids](const StepRecord& step) {
          return std::ranges::binary_search(ids, step.id);
        }));
    if (reported < ids.size() && 2 * reported >= ids.size()) with_gaps.push_back(member);
  }
  return with_gaps;
}

std::vector<int64_t> StepsOfAll(std::span<const RankView> ranks,
                                const std::vector<RankIndex>& members, std::vector<int64_t> ids) {
  for (const RankIndex member : members) {
    const std::vector<StepRecord>& steps = ranks[member].batch->steps;
    std::erase_if(ids, [&steps](int64_t id) {
      return !std::ranges::binary_search(steps, id, {}, &StepRecord::id);
    });
  }
  return ids;
}

// Of a step: nobody would ask about an excess of less.
constexpr double kLeastShareAsked = 0.01;

// The members of one role that report all of the given steps. Values by step lie together: that is
// how they are compared.
class RoleTable {
 public:
  RoleTable(std::span<const RankView> ranks, const std::vector<RankIndex>& members,
            std::vector<int64_t> step_ids)
      : ranks_(ranks), step_ids_(std::move(step_ids)) {
    busy_.resize(step_ids_.size());
    for (auto& column : busy_) column.reserve(members.size());
    constexpr size_t kAhead = 2;  // members whose steps are asked for while those of one are read
    for (size_t i = 0; i < members.size(); ++i) {
      if (i + kAhead < members.size()) {
        for (const StepRecord& step : ranks[members[i + kAhead]].batch->steps)
          Prefetch(&step.peer_wait_ns);
      }
      AddMember(members[i]);
    }
  }

  // Whether nobody reports any other step, or lacks one.
  bool holds_all_steps() const { return holds_all_steps_; }
  // Members that lack some of the steps.
  const std::vector<RankIndex>& left_out() const { return left_out_; }
  bool comparable() const { return members_.size() >= 2 && !step_ids_.empty(); }

  // Appends an entry for each member. Nothing is left in the table then: of many ranks there is too
  // much to copy it.
  void Compare(std::vector<BusyTime>& out) && {
    const std::vector<double> means = BusyMeans();
    const std::vector<double> peer_medians = MediansOfOthers(means);
    const std::vector<double> peer_spreads = PeerSpreads(means);
    const double step_error = ErrorOfTheMean(means);
    const Excess excess = MeasureExcess();
    const auto steps = static_cast<double>(step_ids_.size());
    const size_t first = out.size();
    for (size_t m = 0; m < members_.size(); ++m) {
      BusyTime& entry = out.emplace_back();
      entry.rank = members_[m];
      entry.role = ranks_[members_[m]].role;
      entry.steps = static_cast<uint32_t>(step_ids_.size());
      entry.peers = static_cast<uint32_t>(members_.size() - 1);
      entry.step_ns = step_ns_[m];
      entry.busy_ns = means[m];
      entry.wait_ns = entry.step_ns - entry.busy_ns;
      entry.peers_busy_ns = peer_medians[m];
      entry.noise_ns = std::max(
          {peer_spreads[m], step_error, kTimerResolutionNs, kRelativeNoiseFloor * entry.step_ns});
      entry.excess_ns = excess.sum_ns[m] / steps;
      if (steps > 1) entry.lasting_ns = (excess.sum_ns[m] - excess.largest_ns[m]) / (steps - 1);
      entry.slow_steps = excess.slow_steps[m];
      entry.onset.first_step = OnsetOf(m, entry);
    }
    AddPValues(means, std::span(out).subspan(first));
  }

 private:
  void AddMember(RankIndex member) {
    const std::vector<StepRecord>& steps = ranks_[member].batch->steps;
    size_t next = 0;
    double duration_ns = 0;
    for (const StepRecord& step : steps) {
      if (next == step_ids_.size() || step.id != step_ids_[next]) continue;
      duration_ns += static_cast<double>(step.duration_ns);
      busy_[next++].push_back(
          static_cast<double>(std::max<int64_t>(0, step.duration_ns - step.peer_wait_ns)));
    }
    holds_all_steps_ = holds_all_steps_ && next == step_ids_.size() && next == steps.size();
    if (next == step_ids_.size()) {
      members_.push_back(member);
      step_ns_.push_back(duration_ns / static_cast<double>(std::max<size_t>(1, next)));
    } else {
      for (size_t s = 0; s < next; ++s) busy_[s].pop_back();
      left_out_.push_back(member);
    }
  }

  std::vector<double> BusyMeans() const {
    std::vector<double> means(members_.size());
    for (const std::vector<double>& column : busy_) {
      for (size_t m = 0; m < means.size(); ++m) means[m] += column[m];
    }
    for (double& mean : means) mean /= static_cast<double>(step_ids_.size());
    return means;
  }

  // Of each member, over the steps: busy time less the median of the others' in the same step.
  struct Excess {
    explicit Excess(size_t members)
        : sum_ns(members),
          largest_ns(members, -std::numeric_limits<double>::infinity()),
          slow_steps(members) {}
    std::vector<double> sum_ns;
    std::vector<double> largest_ns;
    std::vector<uint32_t> slow_steps;  // with at least half of the mean
  };

  Excess MeasureExcess() const {
    Excess excess(members_.size());
    std::vector<PeerMedian> peers;
    for (const std::vector<double>& column : busy_) {
      const PeerMedian& of_step = peers.emplace_back(column);
      for (size_t m = 0; m < column.size(); ++m) {
        const double own = of_step.Over(column[m]);
        excess.sum_ns[m] += own;
        excess.largest_ns[m] = std::max(excess.largest_ns[m], own);
      }
    }
    std::vector<double> half_of_mean_ns = excess.sum_ns;
    for (double& ns : half_of_mean_ns) ns = ns / static_cast<double>(step_ids_.size()) / 2;
    for (size_t s = 0; s < busy_.size(); ++s) {
      for (size_t m = 0; m < members_.size(); ++m) {
        const double own = peers[s].Over(busy_[s][m]);
        excess.slow_steps[m] +=
            static_cast<uint32_t>(own > 0) & static_cast<uint32_t>(own >= half_of_mean_ns[m]);
      }
    }
    return excess;
  }

  // The first of the steps that are slow to the end of the window, with all before not slow; -1
  // where there is none, or where the excess is not worth the question. Slow: at least half of the
  // mean excess of the steps from there on.
  int64_t OnsetOf(size_t member, const BusyTime& entry) const {
    constexpr double kLeastSeparation = 3;
    const size_t steps = step_ids_.size();
    if (entry.share() < kLeastShareAsked || entry.separation() < kLeastSeparation) return -1;
    if (entry.slow_steps == steps || steps <= Onset::kFewest) return -1;
    std::vector<double> excess;
    for (const std::vector<double>& column : busy_)
      excess.push_back(PeerMedian(column).Over(column[member]));
    double since = 0;
    for (size_t from = steps; from-- > 1;) {
      since += excess[from];
      const auto begin = excess.begin() + static_cast<std::ptrdiff_t>(from);
      const double half = since / static_cast<double>(steps - from) / 2;
      if (steps - from < Onset::kFewest || half <= 0) continue;
      if (*std::max_element(excess.begin(), begin) < half &&
          *std::min_element(begin, excess.end()) >= half)
        return step_ids_[from];
    }
    return -1;
  }

  // For each member how far its peers' means lie apart, of ranks without devices moderated towards
  // what healthy ones differ by. In a big role one member more or less changes nothing, so the
  // role's own spread does for all there.
  std::vector<double> PeerSpreads(const std::vector<double>& means) const {
    constexpr size_t kExactUpTo = 64;
    const bool host_only = ranks_[members_.front()].batch->host_only;
    const auto spread = [host_only](std::vector<double> of) {
      const MedianAndMad peers = TakeMedianAndMad(std::span(of));
      const double seen = kSigmaPerMad * peers.mad;
      return host_only ? ModeratedSpread(seen, of.size(), kProcessorSpread * peers.median) : seen;
    };
    if (means.size() > kExactUpTo) return std::vector<double>(means.size(), spread(means));
    std::vector<double> spreads;
    for (size_t member = 0; member < means.size(); ++member) {
      std::vector<double> peers = means;
      peers.erase(peers.begin() + static_cast<std::ptrdiff_t>(member));
      spreads.push_back(spread(std::move(peers)));
    }
    return spreads;
  }

  // Steps vary in the same way on all ranks (a long sequence is long for everyone): what counts is
  // how one rank's steps vary against the role's.
  double ErrorOfTheMean(const std::vector<double>& means) const {
    std::vector<double> residuals(members_.size() * step_ids_.size());
    auto of_step = residuals.begin();
    for (const std::vector<double>& column : busy_) {
      const auto end = std::ranges::transform(column, means, of_step, std::minus<>()).out;
      // may reorder them, which is no matter: only their values count
      const double common = Median(std::span(of_step, end));
      std::transform(of_step, end, of_step,
                     [common](double value) { return std::abs(value - common); });
      of_step = end;
    }
    return kSigmaPerMad * Median(std::span(residuals)) /
           std::sqrt(static_cast<double>(step_ids_.size()));
  }

  // [step][member]: busy time less what the rank and the step have in common with others (two-way
  // layout without interaction).
  std::vector<std::vector<double>> TakeResiduals(const std::vector<double>& means) {
    const double grand = Mean(means);
    std::vector<std::vector<double>> residuals = std::move(busy_);
    for (std::vector<double>& column : residuals) {
      const double common = Mean(column);
      for (size_t m = 0; m < means.size(); ++m) column[m] += grand - means[m] - common;
    }
    return residuals;
  }

  // Members that vary on their own. Ranks that share their inputs (tensor parallel) vary together
  // over the steps, and what many of them say is said once: residuals that are the same within a
  // third of what independent members would differ by count as one. Sorted by one step, such
  // members are neighbors.
  static size_t CountIndependent(const std::vector<std::vector<double>>& residuals,
                                 double variance) {
    constexpr double kSimilar = 1.0 / 9;
    constexpr size_t kNeighbors = 8;
    const double most = kSimilar * 2 * variance * static_cast<double>(residuals.size() - 1);
    const auto similar = [&](size_t a, size_t b) {
      double squares = 0;
      for (const std::vector<double>& column : residuals) {
        squares += (column[a] - column[b]) * (column[a] - column[b]);
        if (squares > most) return false;
      }
      return true;
    };
    std::vector<std::pair<double, size_t>> order;
    for (const double first : residuals.front()) order.emplace_back(first, order.size());
    std::sort(order.begin(), order.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    size_t independent = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      bool seen = false;
      for (size_t k = 1; k <= std::min(i, kNeighbors) && !seen; ++k)
        seen = similar(order[i].second, order[i - k].second);
      independent += seen ? 0 : 1;
    }
    return independent;
  }

  // How much a step of a rank goes with the one before, of what neither the rank nor the step
  // explains; 0 where too few of them are independent to know.
  static double CorrelationOfSteps(const std::vector<std::vector<double>>& residuals,
                                   double others) {
    constexpr double kFewest = 30;
    if (others * static_cast<double>(residuals.size() - 1) < kFewest) return 0;
    double squares = 0;
    double products = 0;
    for (size_t s = 0; s < residuals.size(); ++s) {
      const std::vector<double>& column = residuals[s];
      squares += std::inner_product(column.begin(), column.end(), column.begin(), 0.0);
      if (s > 0)
        products += std::inner_product(column.begin(), column.end(), residuals[s - 1].begin(), 0.0);
    }
    return CorrelationOfRows(residuals.size(), squares, products);
  }

  // Where no rank is slower by what anybody would ask about, all p-values stay 1.
  void AddPValues(const std::vector<double>& means, std::span<BusyTime> entries) {
    const double steps = static_cast<double>(step_ids_.size());
    const bool asked = std::ranges::any_of(
        entries, [](const BusyTime& entry) { return entry.share() >= kLeastShareAsked; });
    if (!asked || steps < 2) return;
    const std::vector<std::vector<double>> residuals = TakeResiduals(means);
    double squares = 0;
    for (const auto& column : residuals)
      squares += std::inner_product(column.begin(), column.end(), column.begin(), 0.0);
    const double variance = squares / (static_cast<double>(members_.size() - 1) * (steps - 1));
    // Steps that vary by no more than what anybody can measure have nothing in common that counts.
    const double floor_ns = std::max(kTimerResolutionNs, kRelativeNoiseFloor * Mean(step_ns_));
    const size_t independent =
        variance > floor_ns * floor_ns ? CountIndependent(residuals, variance) : members_.size();
    if (independent < 2) return;
    constexpr double kVarianceOfMedian = 1.5708;  // of a mean's, for normal data
    const double others = static_cast<double>(independent - 1);
    const double factor = ErrorFactor(step_ids_.size(), CorrelationOfSteps(residuals, others));
    const double error_ns =
        std::max(floor_ns, std::sqrt(variance * factor * (1 + kVarianceOfMedian / others) / steps));
    for (BusyTime& entry : entries) {
      entry.error_ns = error_ns;
      entry.freedom = others * (steps - 1) / factor;
      if (entry.excess_ns > 0)
        entry.p_value = StudentTail(entry.excess_ns / error_ns, entry.freedom);
    }
  }

  std::span<const RankView> ranks_;
  std::vector<int64_t> step_ids_;
  std::vector<RankIndex> members_;
  std::vector<RankIndex> left_out_;
  bool holds_all_steps_ = true;
  std::vector<double> step_ns_;            // [member], mean duration
  std::vector<std::vector<double>> busy_;  // [step][member]
};

// Of the entries that begin within the window, the steps since then.
void MeasureOnsets(std::span<const RankView> ranks, const std::vector<RankIndex>& members,
                   const std::vector<int64_t>& ids, std::span<BusyTime> entries) {
  std::map<int64_t, std::vector<BusyTime>> since;  // of all members, by first step
  for (BusyTime& entry : entries) {
    if (!entry.begins_within()) continue;
    const auto first = std::ranges::lower_bound(ids, entry.onset.first_step);
    auto [measured, fresh] = since.try_emplace(entry.onset.first_step);
    if (fresh)
      RoleTable(ranks, members, std::vector<int64_t>(first, ids.end())).Compare(measured->second);
    const auto own = std::ranges::find(measured->second, entry.rank, &BusyTime::rank);
    const double beginnings = static_cast<double>(ids.size() - Onset::kFewest);
    entry.onset.steps = static_cast<uint32_t>(ids.end() - first);
    entry.onset.p_value = std::min(1.0, beginnings * own->p_value);
  }
}

void CompareRole(std::span<const RankView> ranks, const std::vector<RankIndex>& members,
                 std::vector<BusyTime>& result) {
  // Mostly all report the very same steps, which is seen when they are put into the table.
  std::vector<int64_t> ids = StepsOf(TypicalOf(ranks, members));
  RoleTable table(ranks, members, ids);
  if (!table.holds_all_steps()) {
    ids = CommonSteps(ranks, members);
    table = RoleTable(ranks, members, ids);
  }
  const std::vector<RankIndex> with_gaps = WithGaps(ranks, table.left_out(), ids);
  const size_t first = result.size();
  if (table.comparable()) std::move(table).Compare(result);
  MeasureOnsets(ranks, members, ids, std::span(result).subspan(first));
  if (with_gaps.empty()) return;
  RoleTable fewer_steps(ranks, members, StepsOfAll(ranks, with_gaps, ids));
  if (!fewer_steps.comparable()) return;
  std::vector<BusyTime> all;
  std::move(fewer_steps).Compare(all);
  std::ranges::copy_if(all, std::back_inserter(result), [&with_gaps](const BusyTime& entry) {
    return std::ranges::binary_search(with_gaps, entry.rank);
  });
}

}  // namespace

std::vector<BusyTime> CompareBusyTime(std::span<const RankView> ranks, uint32_t role_count) {
  std::vector<std::vector<RankIndex>> roles(role_count);
  for (RankIndex i = 0; i < ranks.size(); ++i) {
    if (!ranks[i].batch->silent && !ranks[i].batch->steps.empty())
      roles[ranks[i].role].push_back(i);
  }
  std::vector<BusyTime> result;
  result.reserve(ranks.size());
  for (const std::vector<RankIndex>& members : roles) {
    if (members.size() >= 2) CompareRole(ranks, members, result);
  }
  if (!std::ranges::is_sorted(result, {}, &BusyTime::rank))
    std::ranges::sort(result, {}, &BusyTime::rank);
  return result;
}

}  // namespace eroica
