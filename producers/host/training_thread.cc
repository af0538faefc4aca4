#include "producers/host/training_thread.h"

#include <algorithm>
#include <utility>

#include "producers/core/producer_core.h"
#include "producers/core/spread_share.h"
#include "producers/host/kernel_text.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

constexpr int64_t kMostOwedNs = 200'000'000;
constexpr size_t kMostNames = 16;  // each is a function of the job

std::string PathOf(const TrainingThreadOptions& options) {
  return options.proc_root + "/self/task/" + std::to_string(options.thread) + "/schedstat";
}

// Of a counter that somebody else wrote: sums must stay in range.
int64_t Bounded(uint64_t ns) {
  return static_cast<int64_t>(std::min<uint64_t>(ns, uint64_t{1} << 60));
}

}  // namespace

std::optional<ThreadTimes> ParseSchedstat(std::string_view text) {
  std::string_view line;
  if (!TakeLine(&text, &line)) return std::nullopt;
  const auto ran = TakeNumber(&line);
  const auto waited = TakeNumber(&line);
  if (!ran || !waited) return std::nullopt;
  return ThreadTimes{*ran, *waited};
}

TrainingThread::TrainingThread(TrainingThreadOptions options)
    : options_(std::move(options)), file_(PathOf(options_)) {}

void TrainingThread::Read(int64_t now_ns) {
  if (gone_) return;
  const std::optional<ThreadTimes> times = ParseSchedstat(file_.Read(text_, now_ns));
  if (!times) {
    gone_ = file_.ended();
    return;
  }
  const std::optional<ThreadTimes> before = std::exchange(before_, times);
  if (!before) {
    read_ns_ = reported_until_ns_ = second_.begin_ns = now_ns;
    return;
  }
  const auto ran = Growth(before->on_processor_ns, times->on_processor_ns);
  const auto waited = Growth(before->waited_ns, times->waited_ns);
  if (now_ns <= read_ns_ || !ran || !waited) {  // the clock or a counter went back: from here anew
    read_ns_ = std::max(read_ns_, now_ns);
    return;
  }
  Report(*ran, *waited, now_ns);
  read_ns_ = now_ns;
}

void TrainingThread::Report(uint64_t ran_ns, uint64_t waited_ns, int64_t now_ns) {
  const int64_t length_ns = now_ns - read_ns_;
  eroica_sample(now_ns, EROICA_CPU, ran_.Take(Bounded(ran_ns), length_ns));
  eroica_sample(now_ns, EROICA_CPU_WAIT, waited_.Take(Bounded(waited_ns), length_ns));
  second_.wait_ns += std::min(Bounded(waited_ns), kNsPerSecond);
  second_.length_ns = now_ns - second_.begin_ns;
  if (second_.length_ns >= kNsPerSecond) {
    last_second_ = second_;
    second_ = {.begin_ns = now_ns};
  }
  unreported_ns_ += Bounded(waited_ns);
  if (unreported_ns_ >= options_.least_wait_ns) ReportWait(now_ns);
}

void TrainingThread::ReportWait(int64_t now_ns) {
  const int64_t start_ns =
      std::max(reported_until_ns_, std::min(read_ns_, now_ns - unreported_ns_));
  const auto length_ns = static_cast<double>(now_ns - start_ns);
  const double share = std::min(1.0, static_cast<double>(unreported_ns_) / length_ns);
  unreported_ns_ =
      std::min(std::max<int64_t>(unreported_ns_ - (now_ns - start_ns), 0), kMostOwedNs);
  reported_until_ns_ = now_ns;
  if (!eroica_wants(EROICA_PYTHON)) return;
  const bool is_reported = eroica_processor_waits_are_reported();
  // One name on all ranks, or ranks of which some look for competitors would seem to differ.
  const uint32_t waiting = FunctionOf("");
  const uint8_t lane = eroica_lane("training thread", EROICA_TRAINING_THREAD);
  SpreadShare(start_ns, now_ns, is_reported ? 0 : share, CellSide::kBegin,
              [&](int64_t begin_ns, int64_t end_ns) {
                eroica_interval(begin_ns, end_ns, waiting, lane);
              });
  if (competitor_.empty()) return;
  eroica_interval(now_ns - static_cast<int64_t>(share * length_ns), now_ns, FunctionOf(competitor_),
                  eroica_lane("processors of the training thread", EROICA_HOST_THREAD));
}

float TrainingThread::Share::Take(int64_t used_ns, int64_t length_ns) {
  const int64_t all = used_ns + owed_ns;
  const int64_t fits = std::min(all, length_ns);
  owed_ns = std::min(all - fits, kMostOwedNs);
  return static_cast<float>(static_cast<double>(fits) / static_cast<double>(length_ns));
}

double TrainingThread::wait_share_of_last_second() const {
  if (last_second_.length_ns <= 0) return 0;
  return std::min(
      1.0, static_cast<double>(last_second_.wait_ns) / static_cast<double>(last_second_.length_ns));
}

void TrainingThread::NameCompetitor(std::string_view name) {
  const auto known = std::find_if(functions_.begin(), functions_.end(),
                                  [&](const auto& row) { return row.first == name; });
  const bool room = known != functions_.end() || functions_.size() < kMostNames;
  competitor_ = room ? std::string(name) : std::string();
}

uint32_t TrainingThread::FunctionOf(std::string_view competitor) {
  const auto known = std::find_if(functions_.begin(), functions_.end(),
                                  [&](const auto& row) { return row.first == competitor; });
  if (known != functions_.end()) return known->second;
  std::string name = "(runnable, waiting for a processor)";
  if (!competitor.empty()) name = "(processor used by " + std::string(competitor) + ")";
  const uint32_t function =
      eroica_function(name.c_str(), EROICA_PYTHON, EROICA_WAIT_OTHER, EROICA_NO_PARENT);
  functions_.emplace_back(competitor, function);
  return function;
}

}  // namespace eroica
