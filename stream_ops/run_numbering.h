// The runs of one job, and what number each of its windows of steps has.
//
// Every process counts its steps from 0 (or from EROICA_FIRST_STEP), and windows of steps have the
// index of their steps. A job that is started again under its name therefore says its windows anew.
// Their numbers go on: the first window of a run follows the newest one of the runs before, so that
// what is closed stays closed, and every window of the job has a number of its own.
//
// A rank begins a run with a window whose first step it had already and which starts, on its own
// clock, later than all that it had ended: what is sent again starts as it did before, and a
// process that goes on where another one left (EROICA_FIRST_STEP) has steps that are new. Which run
// it begins: one that other ranks are in by then, else a new one. Here alone the clocks of ranks
// are compared, set by where the rank and the others ended the run before. Clocks that differ by
// more than a window's length, with ranks that ended at different steps, can part a rank from its
// run; the next run unites them.
// Windows of time go by the clock: their number is their index. Owner: one job of one task.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/window.h"

namespace eroica {

// How far a rank has come, or a communicator; its own clock.
struct RunPlace {
  bool known = false;  // a window with steps was numbered
  uint64_t run = 0;
  int64_t since_ns = std::numeric_limits<int64_t>::min();  // windows that start earlier: run before
  int64_t end_ns = 0;                                      // of the newest window
  int64_t last_step = -1;                                  // that ended
  int64_t ahead_ns = 0;  // of the clock that the runs' times are of
};

class RunNumbering {
 public:
  // Runs that are known at once: the newest.
  static constexpr size_t kMostRuns = 16;

  // The window's number; nothing where it is late: of a run that is over for its rank, or of the
  // end of a run behind which the next one has begun. may_begin: a run that nobody has begun yet.
  std::optional<int64_t> NumberOf(const Window& window, RunPlace& place, bool may_begin = true);
  // The same of the window that the rank is in, which has not ended: only start_ns and first_step
  // count, the moment and the step that it is in.
  std::optional<int64_t> NumberOfOpen(const Window& window, RunPlace& place);

  // Windows up to this number are closed. A rank that was not seen before is late for them, unless
  // it begins a run.
  void Close(int64_t number) { closed_through_ = std::max(closed_through_, number); }

  uint64_t newest_run() const { return first_run_ + (runs_.empty() ? 0 : runs_.size() - 1); }
  // Which the window of this number is of.
  uint64_t RunOf(int64_t number) const;

  // For the state store. False where the value cannot be read; then nothing is known.
  std::string Encode() const;
  bool Restore(std::string_view value);

 private:
  struct Run {
    int64_t offset = 0;                                      // what is added to an index
    int64_t first_number = 0;                                // of its windows
    int64_t start_ns = std::numeric_limits<int64_t>::max();  // of its earliest window
    int64_t end_ns = 0;                                      // of its latest window so far,
    int64_t last_step = -1;                                  // and the newest step
  };
  static bool Returns(const Window& window, const RunPlace& place);
  Run& RunAt(uint64_t run) { return runs_[static_cast<size_t>(run - first_run_)]; }
  bool IsKept(const RunPlace& place) const { return place.known && place.run >= first_run_; }
  // Moves the place to the run of the window. False where that is none.
  bool Enter(const Window& window, RunPlace& place, bool may_begin);
  std::optional<uint64_t> FindRun(uint64_t from, const Window& window, int64_t start_ns) const;
  void Begin(const Window& window);
  std::optional<int64_t> Number(const Window& window, const RunPlace& place);
  bool IsPastItsRun(int64_t number, const Window& window, const RunPlace& place) const;

  std::deque<Run> runs_;
  uint64_t first_run_ = 0;
  int64_t newest_number_ = -1;
  int64_t closed_through_ = -1;
};

}  // namespace eroica
