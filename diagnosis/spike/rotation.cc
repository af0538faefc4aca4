#include "diagnosis/spike/rotation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "diagnosis/measurements/mean_step.h"
#include "diagnosis/measurements/symptom.h"
#include "diagnosis/measurements/thread_function.h"
#include "diagnosis/statistics/distributions.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

using Columns = std::vector<const FunctionColumn*>;  // of one name: its callers

// Most columns are of what runs in every step, which one row of them shows.
bool MayBeOccasional(const FunctionColumn& column, uint32_t steps) {
  const FunctionPattern& sample = *column.sample;
  return RunsOnThread(sample.function_class) && !IsSymptom(sample) &&
         2 * sample.active_steps <= steps;
}

uint32_t StepsOf(const CrossRankView& view) {
  double steps = 0;
  for (const RankView& rank : view.ranks()) steps = std::max(steps, rank.step.steps);
  return static_cast<uint32_t>(steps);
}

std::map<std::string_view, Columns> OccasionalFunctions(const CrossRankView& view, uint32_t steps) {
  std::map<std::string_view, Columns> functions;
  for (const FunctionColumn& column : view.functions()) {
    if (MayBeOccasional(column, steps)) functions[column.sample->name].push_back(&column);
  }
  return functions;
}

// What one rank ran of a function in the window.
struct Part {
  double ns = 0;
  uint32_t occurrences = 0;  // steps
};

// Ranks of one role that all report the steps of the window.
class Role {
 public:
  void Add(const RankView& rank, Part part) {
    ranks_.push_back(&rank);
    parts_.push_back(part);
  }
  size_t size() const { return ranks_.size(); }

  // The largest number of ranks that ran it equally often.
  size_t CountEquallyOften() const {
    std::map<uint32_t, size_t> ranks;
    size_t most = 0;
    for (const Part& part : parts_) {
      if (part.occurrences > 0) most = std::max(most, ++ranks[part.occurrences]);
    }
    return most;
  }

  // The step in which each rank that ran it is late the most, counted by step.
  void CountSlowestSteps(std::vector<size_t>& counts) const {
    const size_t steps = counts.size();
    std::vector<double> common(steps);
    for (size_t s = 0; s < steps; ++s) {
      std::vector<double> busy;
      for (const RankView* rank : ranks_) busy.push_back(BusyNs(*rank, s));
      common[s] = Median(std::span(busy));
    }
    for (size_t r = 0; r < size(); ++r) {
      if (parts_[r].occurrences == 0) continue;
      size_t slowest = 0;
      for (size_t s = 1; s < steps; ++s) {
        if (BusyNs(*ranks_[r], s) - common[s] > BusyNs(*ranks_[r], slowest) - common[slowest])
          slowest = s;
      }
      ++counts[slowest];
    }
  }

  // Adds x, y: time in the function and busy time a step, each less the role's mean.
  void AddPoints(std::vector<double>& function_ns, std::vector<double>& busy_ns) const {
    const auto add = [this](std::vector<double>& to, auto value) {
      std::vector<double> own;
      for (size_t r = 0; r < size(); ++r) own.push_back(value(r));
      const double mean =
          std::accumulate(own.begin(), own.end(), 0.0) / static_cast<double>(size());
      for (const double of_rank : own) to.push_back(of_rank - mean);
    };
    add(function_ns,
        [this](size_t r) { return parts_[r].ns / std::max(1.0, ranks_[r]->step.steps); });
    add(busy_ns, [this](size_t r) { return ranks_[r]->step.busy_ns(); });
  }

 private:
  static double BusyNs(const RankView& rank, size_t s) {
    const StepRecord& step = rank.batch->steps[s];
    return static_cast<double>(step.duration_ns - step.peer_wait_ns);
  }

  std::vector<const RankView*> ranks_;
  std::vector<Part> parts_;
};

struct Line {
  double slope = 0;
  double p_value = 1;  // that there is none
};

// Through the middle of each role.
Line LineThrough(const std::vector<Role>& roles) {
  std::vector<double> x;
  std::vector<double> y;
  for (const Role& role : roles) role.AddPoints(x, y);
  const double xx = std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
  const double freedom = static_cast<double>(x.size()) - static_cast<double>(roles.size()) - 1;
  if (xx <= 0 || freedom < 1) return {};
  Line line{.slope = std::inner_product(x.begin(), x.end(), y.begin(), 0.0) / xx};
  double squares = 0;
  for (size_t i = 0; i < x.size(); ++i)
    squares += (y[i] - line.slope * x[i]) * (y[i] - line.slope * x[i]);
  const double error = std::max(1e-6, std::sqrt(squares / freedom / xx));
  line.p_value = StudentTail(line.slope / error, freedom);
  return line;
}

class Candidate {
 public:
  Candidate(const CrossRankView& view, const Columns& columns, uint32_t steps)
      : view_(view), steps_(steps), parts_(view.ranks().size()) {
    double longest_ns = 0;
    for (const FunctionColumn* column : columns) {
      for (size_t i = 0; i < column->size(); ++i) {
        Part& part = parts_[column->rank[i]];
        part.ns += static_cast<double>(column->critical_ns[i]);
        part.occurrences += column->pattern[i]->active_steps;
        if (static_cast<double>(column->critical_ns[i]) <= longest_ns) continue;
        longest_ns = static_cast<double>(column->critical_ns[i]);
        rotation_.sample = column->pattern[i];
      }
    }
  }

  std::optional<Rotation> Measure(const RotationOptions& options) {
    if (!SumUp(options)) return std::nullopt;
    const std::vector<Role> roles = Roles();
    if (roles.empty() || RunEquallyOften(roles)) return std::nullopt;
    const std::vector<size_t> counts = SlowestSteps(roles);
    if (AreAtOnce(counts, options.max_at_once)) return std::nullopt;
    const Line line = LineThrough(roles);
    if (line.p_value > options.max_p_value || line.slope < options.min_slope ||
        line.slope > options.max_slope)
      return std::nullopt;
    rotation_.slope = line.slope;
    rotation_.p_value = line.p_value;
    rotation_.of_one_host = AreOfOneHost();
    rotation_.early = std::accumulate(counts.begin(), counts.begin() + steps_ / 2, size_t{0});
    return rotation_;
  }

 private:
  // Whether it rotates among several, and is worth asking.
  bool SumUp(const RotationOptions& options) {
    double all_ns = 0;
    double most_ns = 0;
    double step_ns = 0;
    for (size_t i = 0; i < parts_.size(); ++i) {
      const RankView& rank = view_.ranks()[i];
      if (rank.has_steps()) rotation_.rank_steps += steps_;
      step_ns = std::max(step_ns, rank.step.duration_ns);
      if (parts_[i].occurrences == 0) continue;
      if (2 * parts_[i].occurrences > steps_) return false;
      ++rotation_.ranks;
      rotation_.occurrences += parts_[i].occurrences;
      all_ns += parts_[i].ns;
      most_ns = std::max(most_ns, parts_[i].ns);
    }
    if (rotation_.ranks < options.min_ranks || 2 * most_ns >= all_ns) return false;
    rotation_.occurrence_ns = all_ns / rotation_.occurrences;
    rotation_.cost_ns =
        rotation_.occurrence_ns * -std::expm1(-static_cast<double>(rotation_.occurrences) / steps_);
    return rotation_.cost_ns >= options.min_share * step_ns;
  }

  bool AreOfOneHost() const {
    std::set<std::string_view> hosts;
    std::set<std::string_view> of_rotation;
    for (size_t i = 0; i < parts_.size(); ++i) {
      const RankView& rank = view_.ranks()[i];
      hosts.insert(rank.batch->host);
      if (parts_[i].occurrences > 0) of_rotation.insert(rank.batch->host);
    }
    return hosts.size() > 1 && of_rotation.size() == 1;
  }

  std::vector<Role> Roles() const {
    std::vector<Role> roles(view_.role_count());
    for (size_t i = 0; i < parts_.size(); ++i) {
      const RankView& rank = view_.ranks()[i];
      if (rank.has_steps() && rank.batch->steps.size() == steps_)
        roles[rank.role].Add(rank, parts_[i]);
    }
    std::erase_if(roles, [](const Role& role) { return role.size() < 2; });
    return roles;
  }

  // What most ranks ran equally often does not rotate.
  static bool RunEquallyOften(const std::vector<Role>& roles) {
    size_t ranks = 0;
    size_t equally_often = 0;
    for (const Role& role : roles) {
      ranks += role.size();
      equally_often += role.CountEquallyOften();
    }
    return 2 * equally_often > ranks;
  }

  // How many of the ranks that run it are the latest in each step.
  std::vector<size_t> SlowestSteps(const std::vector<Role>& roles) const {
    std::vector<size_t> counts(steps_);
    for (const Role& role : roles) role.CountSlowestSteps(counts);
    return counts;
  }

  // Whether more ranks are late in the same step than steps of their own bring together.
  bool AreAtOnce(const std::vector<size_t>& counts, double max_p_value) const {
    const size_t most = *std::ranges::max_element(counts);
    const size_t all = std::accumulate(counts.begin(), counts.end(), size_t{0});
    return steps_ * BinomialTail(all, most, 1.0 / steps_) <= max_p_value;
  }

  const CrossRankView& view_;
  const uint32_t steps_;
  std::vector<Part> parts_;  // by rank
  Rotation rotation_;
};

}  // namespace

std::vector<Rotation> FindRotations(const CrossRankView& view, const RotationOptions& options) {
  const uint32_t steps = StepsOf(view);
  std::vector<Rotation> found;
  if (steps < options.min_steps) return found;
  for (const auto& [name, columns] : OccasionalFunctions(view, steps)) {
    if (const std::optional<Rotation> rotation = Candidate(view, columns, steps).Measure(options))
      found.push_back(*rotation);
  }
  return found;
}

}  // namespace eroica
