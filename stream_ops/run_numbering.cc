#include "stream_ops/run_numbering.h"

#include <algorithm>

#include "schemas/codec.h"
#include "state_store/key_encoding.h"

namespace eroica {
namespace {

// Windows behind it are no job's: one of a millisecond each would take thirty years.
constexpr int64_t kFurthestIndex = int64_t{1} << 40;

bool IsPlausible(const Window& window) {
  return window.index >= 0 && window.index <= kFurthestIndex;
}

}  // namespace

// Whether the rank had the window's steps already, and has ended them: they come a second time. A
// window whose only step did not end has no length, and is none when it is sent again.
bool RunNumbering::Returns(const Window& window, const RunPlace& place) {
  return window.first_step <= place.last_step && window.start_ns > place.end_ns;
}

std::optional<int64_t> RunNumbering::NumberOf(const Window& window, RunPlace& place,
                                              bool may_begin) {
  if (window.kind == WindowKind::kTime) return window.index;
  if (!IsPlausible(window)) return std::nullopt;
  if (window.first_step < 0) return Number(window, place);
  const bool moves = !IsKept(place) || Returns(window, place);
  if (moves && !Enter(window, place, may_begin)) return std::nullopt;
  if (window.start_ns < place.since_ns) return std::nullopt;
  place.end_ns = std::max(place.end_ns, window.end_ns);
  place.last_step = std::max(place.last_step, window.last_step);
  Run& run = RunAt(place.run);
  run.start_ns = std::min(run.start_ns, window.start_ns - place.ahead_ns);
  run.end_ns = std::max(run.end_ns, window.end_ns - place.ahead_ns);
  run.last_step = std::max(run.last_step, window.last_step);
  return Number(window, place);
}

std::optional<int64_t> RunNumbering::NumberOfOpen(const Window& window, RunPlace& place) {
  if (window.kind == WindowKind::kTime) return window.index;
  if (!IsPlausible(window)) return std::nullopt;
  // A window may have been closed with the step that the rank is in.
  const bool was_further = window.first_step >= 0 && window.first_step < place.last_step;
  if (was_further && IsKept(place) && Returns(window, place))
    Enter(window, place, /*may_begin=*/true);
  return Number(window, place);
}

bool RunNumbering::Enter(const Window& window, RunPlace& place, bool may_begin) {
  if (runs_.empty()) runs_.push_back({.first_number = window.index});
  const bool is_kept = IsKept(place);
  RunPlace next{.known = true, .run = place.run};
  if (is_kept) {
    const Run& before = RunAt(place.run);
    const bool ended_with_it = place.last_step == before.last_step;
    next.ahead_ns = ended_with_it ? place.end_ns - before.end_ns : place.ahead_ns;
    next.since_ns = place.end_ns;
  }
  const int64_t start_ns = window.start_ns - next.ahead_ns;
  std::optional<uint64_t> run = FindRun(is_kept ? place.run + 1 : first_run_, window, start_ns);
  if (!run && !is_kept && window.index + runs_.back().offset > closed_through_) run = newest_run();
  if (!run && may_begin) {
    Begin(window);
    run = newest_run();
  }
  if (!run) return false;
  next.run = *run;
  next.end_ns = is_kept ? place.end_ns : 0;
  place = next;
  return true;
}

// The first run from there on that goes on at this moment, or that the window's steps are new to.
std::optional<uint64_t> RunNumbering::FindRun(uint64_t from, const Window& window,
                                              int64_t start_ns) const {
  for (uint64_t run = from; run <= newest_run(); ++run) {
    if (start_ns <= runs_[static_cast<size_t>(run - first_run_)].end_ns) return run;
  }
  if (from <= newest_run() && window.first_step > runs_.back().last_step) return newest_run();
  return std::nullopt;
}

void RunNumbering::Begin(const Window& window) {
  const int64_t number = newest_number_ + 1;
  runs_.push_back({.offset = number - window.index, .first_number = number});
  if (runs_.size() <= kMostRuns) return;
  runs_.pop_front();
  ++first_run_;
}

std::optional<int64_t> RunNumbering::Number(const Window& window, const RunPlace& place) {
  if (runs_.empty()) return window.index;
  const Run& run = IsKept(place) ? RunAt(place.run) : runs_.back();
  const int64_t number = window.index + run.offset;
  if (number > CodecLimits::kMaxTimeNs || IsPastItsRun(number, window, place)) return std::nullopt;
  newest_number_ = std::max(newest_number_, number);
  return number;
}

// The next run has taken the number, because it began before this end of the run before was known.
bool RunNumbering::IsPastItsRun(int64_t number, const Window& window, const RunPlace& place) const {
  if (!IsKept(place) || place.run == newest_run()) return false;
  const Run& next = runs_[static_cast<size_t>(place.run + 1 - first_run_)];
  return number >= next.first_number && window.end_ns - place.ahead_ns <= next.start_ns;
}

uint64_t RunNumbering::RunOf(int64_t number) const {
  uint64_t run = newest_run();
  while (run > first_run_ && runs_[static_cast<size_t>(run - first_run_)].first_number > number)
    --run;
  return run;
}

std::string RunNumbering::Encode() const {
  KeyWriter writer;
  writer.PutUint64(first_run_).PutInt64(newest_number_);
  for (const Run& run : runs_) {
    writer.PutInt64(run.offset)
        .PutInt64(run.first_number)
        .PutInt64(run.start_ns)
        .PutInt64(run.end_ns)
        .PutInt64(run.last_step);
  }
  return std::move(writer).key();
}

bool RunNumbering::Restore(std::string_view value) {
  KeyReader reader(value);
  const auto first_run = reader.TakeUint64();
  const auto newest_number = reader.TakeInt64();
  std::deque<Run> runs;
  while (first_run && newest_number && !reader.AtEnd()) {
    const auto offset = reader.TakeInt64();
    const auto first_number = reader.TakeInt64();
    const auto start_ns = reader.TakeInt64();
    const auto end_ns = reader.TakeInt64();
    const auto last_step = reader.TakeInt64();
    if (!last_step || runs.size() == kMostRuns) return false;
    runs.push_back({*offset, *first_number, *start_ns, *end_ns, *last_step});
  }
  if (!reader.AtEnd()) return false;
  runs_ = std::move(runs);
  first_run_ = *first_run;
  newest_number_ = *newest_number;
  return true;
}

}  // namespace eroica
