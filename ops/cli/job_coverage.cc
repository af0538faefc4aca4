#include "ops/cli/job_coverage.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "diagnosis/measurements/busiest_connection.h"
#include "diagnosis/measurements/processor_shortage.h"
#include "diagnosis/measurements/seen_waits.h"
#include "diagnosis/measurements/starvation.h"
#include "diagnosis/slow_rank/unattributed_work.h"
#include "diagnosis/statistics/robust_statistics.h"
#include "diagnosis/suppressed_steps.h"
#include "schemas/codec.h"
#include "stream_ops/topics.h"

namespace eroica {
namespace {

struct RankSteps {
  double pair_wait_ns = 0;  // in sends and receives
  // in collectives with all of their members that are recorded, of communicators that lack others
  double together_ns = 0;
  // Of some of its steps. What is known of windows alone counts by their share.
  struct Part {
    double steps = 0;
    double step_ns = 0;
    double wait_ns = 0;
    double processor_wait_ns = 0;
    double unrecorded_ns = 0;
    double transfer_ns = 0;  // of the busiest connection of each window
  };
  Part all;
  Part diagnosed;  // all but those that nothing is diagnosed of (suppressed_steps.h)

  // By which ranks are compared: a short capture may have no others.
  const Part& compared() const { return diagnosed.steps > 0 ? diagnosed : all; }
};

// Of each step the least that any rank waits: of the newest steps, so that a job of months needs no
// more memory than one of hours.
class CommonWait {
 public:
  void Add(const PatternBatch& batch) {
    for (const StepRecord& step : batch.steps) {
      const auto [least, fresh] = least_ns_.try_emplace(step.id, step.peer_wait_ns);
      if (!fresh) least->second = std::min(least->second, step.peer_wait_ns);
    }
    while (least_ns_.size() > kStepsMax) least_ns_.erase(least_ns_.begin());
  }
  double MeanNs() const {
    double sum = 0;
    for (const auto& [step, ns] : least_ns_) sum += static_cast<double>(ns);
    return least_ns_.empty() ? 0 : sum / static_cast<double>(least_ns_.size());
  }

 private:
  static constexpr size_t kStepsMax = 65536;
  std::map<int64_t, int64_t> least_ns_;  // by step
};

// Of the newest steps, likewise, but those that nothing is diagnosed of (suppressed_steps.h).
class StepLengths {
 public:
  void Add(const PatternBatch& batch) {
    for (const StepRecord& record : batch.steps) {
      if (record.id < kWarmUpSteps) continue;
      Step& step = steps_[record.id];
      step.paused = step.paused || record.pause != Pause::kNone;
      step.duration_ns = std::max(step.duration_ns, record.duration_ns);
      const int64_t busy_ns = record.duration_ns - record.peer_wait_ns;
      if (step.rank >= 0 && busy_ns <= step.busy_ns) continue;
      step.busy_ns = busy_ns;
      step.rank = static_cast<int32_t>(batch.rank.value);
    }
    while (steps_.size() > kStepsMax) steps_.erase(steps_.begin());
  }
  LongSteps Long() const {
    std::vector<double> durations;
    double all_ns = 0;
    for (const auto& [id, step] : steps_) {
      if (step.paused) continue;
      durations.push_back(static_cast<double>(step.duration_ns));
      all_ns += durations.back();
    }
    LongSteps result{.of_all = static_cast<uint32_t>(durations.size()),
                     .usual_ns = Median(std::span(durations))};
    double beyond_ns = 0;
    bool one_rank = true;
    for (const auto& [id, step] : steps_) {
      const auto duration_ns = static_cast<double>(step.duration_ns);
      if (step.paused || duration_ns <= kLong * result.usual_ns) continue;
      const double excess_ns = duration_ns - result.usual_ns;
      const bool busy = 2 * (static_cast<double>(step.busy_ns) - result.usual_ns) > excess_ns;
      one_rank = one_rank && busy && (result.steps == 0 || result.rank == step.rank);
      result.rank = step.rank;
      result.mean_ns += duration_ns;
      beyond_ns += excess_ns;
      ++result.steps;
    }
    if (!one_rank || result.steps == 0) result.rank = -1;
    if (result.steps > 0) result.mean_ns /= result.steps;
    if (all_ns > 0) result.share = beyond_ns / all_ns;
    return result;
  }

 private:
  static constexpr size_t kStepsMax = 65536;
  static constexpr double kLong = 2;
  struct Step {
    int64_t duration_ns = 0;  // of the rank that takes longest
    int64_t busy_ns = 0;      // of the busiest
    int32_t rank = -1;        // that one
    bool paused = false;      // in a checkpoint or an evaluation
  };
  std::map<int64_t, Step> steps_;
};

// What the recorded members of a communicator wait in its operations at the same time: none of them
// is who they wait for. And the waits of pairs of ranks, at both ends.
void AddWaits(const CollectiveSummary& summary, std::map<uint32_t, RankSteps>* ranks) {
  for (const MemberSummary& member : summary.members) {
    if (!summary.missing.empty())
      (*ranks)[member.rank.value].together_ns += static_cast<double>(summary.transfer_ns);
  }
  for (const PairSummary& pair : summary.pairs) {
    (*ranks)[pair.destination.value].pair_wait_ns += static_cast<double>(pair.receive_wait_ns);
    (*ranks)[pair.source.value].pair_wait_ns += static_cast<double>(pair.send_wait_ns);
  }
}

void AddStep(const StepRecord& step, RankSteps::Part* part) {
  part->steps += 1;
  part->step_ns += static_cast<double>(step.duration_ns);
  part->wait_ns += static_cast<double>(step.peer_wait_ns);
}

void AddWindow(const PatternBatch& batch, double share, RankSteps::Part* part) {
  part->processor_wait_ns += share * CriticalProcessorWaitNs(batch);
  part->transfer_ns += share * static_cast<double>(BusiestConnectionNs(batch));
  part->unrecorded_ns += share * UnattributedOfWindowNs(batch);
}

void AddSteps(const PatternBatch& batch, RankSteps* sum) {
  if (batch.steps.empty()) return;
  const double before = sum->diagnosed.steps;
  for (const StepRecord& step : batch.steps) {
    AddStep(step, &sum->all);
    if (step.id >= kWarmUpSteps && step.pause == Pause::kNone) AddStep(step, &sum->diagnosed);
  }
  const auto steps = static_cast<double>(batch.steps.size());
  AddWindow(batch, 1, &sum->all);
  AddWindow(batch, (sum->diagnosed.steps - before) / steps, &sum->diagnosed);
}

// Of one capture.
class Standstills {
 public:
  void Add(const PatternBatch& batch, const SuspendedCapture& suspended) {
    if (ns_.empty() || batch.window.end_ns > newest_ns_) all_.gap = suspended.gap;
    const Window& window = batch.window;
    newest_ns_ = std::max(newest_ns_, window.end_ns);
    if (window.first_step >= 0) {
      all_.first_step =
          all_.first_step < 0 ? window.first_step : std::min(all_.first_step, window.first_step);
      all_.last_step = std::max(all_.last_step, window.last_step);
    }
    ns_[batch.rank.value] += static_cast<double>(suspended.suspended_ns);
  }
  bool empty() const { return ns_.empty(); }
  StoppedCapture Of(const std::map<uint32_t, double>& window_ns) const {
    StoppedCapture stopped = all_;
    for (const auto& [rank, ns] : ns_) {
      stopped.ranks.push_back(rank);
      const auto of_all = window_ns.find(rank);
      if (of_all != window_ns.end() && of_all->second > 0)
        stopped.share = std::max(stopped.share, std::min(1.0, ns / of_all->second));
    }
    return stopped;
  }

 private:
  StoppedCapture all_;
  int64_t newest_ns_ = 0;
  std::map<uint32_t, double> ns_;  // by rank: that it stood still
};

// Of the windows of each rank for how long captures stood still.
class StoppedCaptures {
 public:
  void Add(const PatternBatch& batch) {
    window_ns_[batch.rank.value] +=
        static_cast<double>(batch.window.end_ns - batch.window.start_ns);
    for (const SuspendedCapture& suspended : batch.suspended)
      captures_[static_cast<size_t>(suspended.gap.capture)].Add(batch, suspended);
  }
  std::vector<StoppedCapture> All() const {
    std::vector<StoppedCapture> all;
    for (const Standstills& capture : captures_) {
      if (!capture.empty()) all.push_back(capture.Of(window_ns_));
    }
    return all;
  }

 private:
  std::map<uint32_t, double> window_ns_;  // by rank
  std::array<Standstills, kCaptureKindCount> captures_;
};

// Over all ranks but one (-1: over all).
double MedianAStep(const std::map<uint32_t, RankSteps>& ranks, double RankSteps::Part::*time,
                   int64_t but = -1) {
  std::vector<double> values;
  for (const auto& [rank, sum] : ranks) {
    if (sum.compared().steps > 0 && rank != but)
      values.push_back(sum.compared().*time / sum.compared().steps);
  }
  return Median(std::span(values));
}

RankWithMost MostOf(const std::map<uint32_t, RankSteps>& ranks, const auto& time_ns) {
  RankWithMost most;
  std::vector<double> others;
  const auto of_step = [&time_ns](const RankSteps& sum) {
    return time_ns(sum.compared()) / sum.compared().steps;
  };
  for (const auto& [rank, sum] : ranks) {
    if (sum.compared().steps > 0 && of_step(sum) > most.ns) most = {rank, of_step(sum)};
  }
  for (const auto& [rank, sum] : ranks) {
    if (sum.compared().steps > 0 && rank != most.rank) others.push_back(of_step(sum));
  }
  if (!others.empty()) most.next_ns = std::ranges::max(others);
  most.others_ns = Median(std::span(others));
  return most;
}

// Where ranks have too few processors, which of them waits for one longest is chance
// (processor_shortage.h): by what it waits longer a rank has no more to do.
RankWithMost BusiestOf(const std::map<uint32_t, RankSteps>& ranks) {
  using Part = RankSteps::Part;
  RankWithMost busiest =
      MostOf(ranks, [](const Part& part) { return part.step_ns - part.wait_ns; });
  const double waited_ns = MedianAStep(ranks, &Part::processor_wait_ns, busiest.rank);
  if (waited_ns < std::max(1.0, kShareOfShortage * MedianAStep(ranks, &Part::step_ns)))
    return busiest;
  const auto most = ranks.find(busiest.rank);
  if (most == ranks.end()) return busiest;  // no rank is busy
  const Part& own = most->second.compared();
  const double longer_ns = own.processor_wait_ns / std::max(1.0, own.steps) - waited_ns;
  busiest.ns = std::max(busiest.others_ns, busiest.ns - std::max(0.0, longer_ns));
  return busiest;
}

// A step, of the rank that is together with others in collectives for the shortest time. Infinite
// where nothing was recorded of that.
double LeastTogether(const std::map<uint32_t, RankSteps>& ranks) {
  double least = std::numeric_limits<double>::infinity();
  bool known = false;
  for (const auto& [rank, sum] : ranks) {
    if (sum.all.steps <= 0) continue;
    least = std::min(least, sum.together_ns / sum.all.steps);
    known = known || sum.together_ns > 0;
  }
  return known ? least : std::numeric_limits<double>::infinity();
}

// Of their waits what lies in collectives, by the median rank.
double ShareInCollectives(const std::map<uint32_t, RankSteps>& ranks) {
  std::vector<double> shares;
  for (const auto& [rank, sum] : ranks) {
    if (sum.all.steps > 0 && sum.all.wait_ns > 0)
      shares.push_back(std::max(0.0, 1 - sum.pair_wait_ns / sum.all.wait_ns));
  }
  return Median(std::span(shares));
}

// Of one job.
class CoverageSum {
 public:
  void Add(const PatternBatch& batch) {
    coverage_.world_size = std::max(coverage_.world_size, batch.world_size);
    if (batch.silent) return;
    if (!contests_[batch.rank.value].Accepts({batch.host, batch.pid}, batch.window.start_ns,
                                             batch.window.end_ns))
      return;
    coverage_.host_only = batch.host_only && (reported_.empty() || coverage_.host_only);
    reported_.insert(batch.rank.value);
    if (!batch.host.empty()) {
      const auto number = static_cast<uint32_t>(hosts_.size());
      host_of_[batch.rank.value] = hosts_.try_emplace(batch.host, number).first->second;
    }
    coverage_.most_steps =
        std::max(coverage_.most_steps, static_cast<uint32_t>(batch.steps.size()));
    coverage_.sees_waits |= SeesWaits(batch);
    AddSteps(batch, &ranks_[batch.rank.value]);
    common_wait_.Add(batch);
    lengths_.Add(batch);
    stopped_.Add(batch);
  }
  void Add(const CollectiveSummary& summary) {
    coverage_.sees_waits |= summary.operations > 0;
    AddWaits(summary, &ranks_);
    for (const PairSummary& pair : summary.pairs) {
      if (pair.transfer_ns > 0)
        transfers_ns_[{pair.destination.value, pair.source.value}] +=
            static_cast<double>(pair.transfer_ns);
    }
  }

  JobCoverage Measured() const {
    JobCoverage coverage = coverage_;
    for (const auto& [rank, sum] : ranks_) {
      const RankSteps::Part& compared = sum.compared();
      if (compared.steps > 0)
        coverage.transfer_ns =
            std::max(coverage.transfer_ns, compared.transfer_ns / compared.steps);
      if (!reported_.contains(rank)) continue;  // the other end of a pair
      coverage.ranks.push_back(rank);
      coverage.ranks_with_steps += sum.all.steps > 0 ? 1 : 0;
      coverage.steps = std::max(coverage.steps, static_cast<uint64_t>(sum.all.steps));
    }
    for (const uint32_t rank : coverage.ranks) {
      const auto steps = static_cast<uint64_t>(ranks_.at(rank).all.steps);
      if (steps < coverage.steps) coverage.partly.push_back({.rank = rank, .steps = steps});
    }
    coverage.between_hosts_ns = LongestBetweenHosts();
    coverage.hosts = static_cast<uint32_t>(hosts_.size());
    coverage.stopped = stopped_.All();
    for (const auto& [rank, contest] : contests_) {
      if (auto contested = contest.Of(rank)) coverage.contested.push_back(*std::move(contested));
    }
    coverage.long_steps = lengths_.Long();
    using Part = RankSteps::Part;
    coverage.unrecorded = MostOf(ranks_, [](const Part& sum) { return sum.unrecorded_ns; });
    coverage.busiest = BusiestOf(ranks_);
    coverage.step_ns = MedianAStep(ranks_, &Part::step_ns);
    coverage.wait_ns = MedianAStep(ranks_, &Part::wait_ns);
    const double in_collectives = ShareInCollectives(ranks_);
    coverage.collective_wait_ns = coverage.wait_ns * in_collectives;
    coverage.common_wait_ns =
        std::min(common_wait_.MeanNs() * in_collectives, LeastTogether(ranks_));
    return coverage;
  }

 private:
  // A step, in receives from ranks of other hosts.
  double LongestBetweenHosts() const {
    std::map<uint32_t, double> received_ns;
    for (const auto& [ends, ns] : transfers_ns_) {
      const auto destination = host_of_.find(ends.first);
      const auto source = host_of_.find(ends.second);
      const bool apart = destination != host_of_.end() && source != host_of_.end() &&
                         destination->second != source->second;
      if (apart) received_ns[ends.first] += ns;
    }
    double longest_ns = 0;
    for (const auto& [rank, ns] : received_ns) {
      const double steps = ranks_.at(rank).all.steps;
      if (steps > 0) longest_ns = std::max(longest_ns, ns / steps);
    }
    return longest_ns;
  }

  JobCoverage coverage_;
  std::map<uint32_t, RankContest> contests_;
  std::map<uint32_t, RankSteps> ranks_;
  std::set<uint32_t> reported_;
  std::map<std::string, uint32_t> hosts_;
  std::map<uint32_t, uint32_t> host_of_;                          // by rank
  std::map<std::pair<uint32_t, uint32_t>, double> transfers_ns_;  // by destination and source
  CommonWait common_wait_;
  StepLengths lengths_;
  StoppedCaptures stopped_;
};

}  // namespace

std::vector<uint32_t> JobCoverage::missing_ranks() const {
  std::vector<uint32_t> missing;
  for (uint32_t rank = 0; rank < world_size; ++rank) {
    if (!std::ranges::binary_search(ranks, rank)) missing.push_back(rank);
  }
  return missing;
}

struct JobCoverageReader::Reading {
  std::unique_ptr<LogConsumer> consumer;
  std::map<std::string, CoverageSum> sums;
  Decoder decoder;
  PatternBatch batch;
  CollectiveSummary summary;

  void Add(const ConsumerRecord& record) {
    // Summaries of communicators lie on the same topic.
    if (decoder.Decode(record.payload(), &batch) == DropReason::kNone) {
      sums[batch.job.value].Add(batch);
    } else if (decoder.Decode(record.payload(), &summary) == DropReason::kNone) {
      sums[summary.job.value].Add(summary);
    }
  }
};

JobCoverageReader::JobCoverageReader(std::unique_ptr<Reading> reading)
    : reading_(std::move(reading)) {}
JobCoverageReader::JobCoverageReader(JobCoverageReader&&) noexcept = default;
JobCoverageReader& JobCoverageReader::operator=(JobCoverageReader&&) noexcept = default;
JobCoverageReader::~JobCoverageReader() = default;

absl::StatusOr<JobCoverageReader> JobCoverageReader::Open(Log& log,
                                                          const std::string& topic_prefix) {
  absl::StatusOr<std::unique_ptr<LogConsumer>> consumer = log.NewConsumer(ConsumerOptions());
  if (!consumer.ok()) return consumer.status();
  if (absl::Status status =
          (*consumer)->Subscribe({TopicName(topic_prefix, Topic::kPatterns)}, nullptr);
      !status.ok())
    return status;
  auto reading = std::make_unique<Reading>();
  reading->consumer = *std::move(consumer);
  return JobCoverageReader(std::move(reading));
}

absl::Status JobCoverageReader::Read() {
  constexpr size_t kRecordsMax = 256;
  std::vector<ConsumerRecord> records;
  do {
    records.clear();
    if (absl::Status status =
            reading_->consumer->Poll(std::chrono::milliseconds(0), kRecordsMax, &records);
        !status.ok())
      return status;
    for (const ConsumerRecord& record : records) reading_->Add(record);
  } while (!records.empty());
  return absl::OkStatus();
}

std::map<std::string, JobCoverage> JobCoverageReader::Measured() const {
  std::map<std::string, JobCoverage> coverages;
  for (const auto& [job, sum] : reading_->sums) coverages[job] = sum.Measured();
  return coverages;
}

absl::StatusOr<std::map<std::string, JobCoverage>> MeasureJobCoverages(
    Log& log, const std::string& topic_prefix) {
  absl::StatusOr<JobCoverageReader> reader = JobCoverageReader::Open(log, topic_prefix);
  if (!reader.ok()) return reader.status();
  if (absl::Status status = reader->Read(); !status.ok()) return status;
  return reader->Measured();
}

absl::StatusOr<JobCoverage> MeasureJobCoverage(Log& log, const std::string& topic_prefix) {
  absl::StatusOr<std::map<std::string, JobCoverage>> coverages =
      MeasureJobCoverages(log, topic_prefix);
  if (!coverages.ok()) return coverages.status();
  return coverages->empty() ? JobCoverage() : std::move(coverages->begin()->second);
}

}  // namespace eroica
