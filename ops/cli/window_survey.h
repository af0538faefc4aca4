// When each rank of a job was in a window, by its own clock: what the events of the job say. First
// of two readings of them; the second takes what lies in there (trace_export.h). One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "producers/export/batch_cut.h"
#include "schemas/event_batch.h"
#include "schemas/window.h"

namespace eroica {

struct WantedWindow {
  std::optional<WindowKind> kind;  // nothing: of whichever the job's are
  int64_t index = 0;
};
// "steps-3", or "3" where the kind is not known.
std::string ToString(const WantedWindow& window);

class WindowSurvey {
 public:
  // window: nothing for all that there is of the job. time_window_ns: how long windows of time are.
  WindowSurvey(std::optional<WantedWindow> window, int64_t time_window_ns)
      : window_(window), time_window_ns_(time_window_ns) {}

  // Of one job, in the order of each rank's batches.
  void Add(const EventBatch& batch);

  // Of the ranks that were in the window, by number. What is open at the end of the events ends
  // there.
  std::map<uint32_t, TimeRange> Ranges() const;

 private:
  struct Rank {
    std::optional<TimeRange> seen;  // of all its events
    bool of_steps = false;          // its windows
    std::optional<int64_t> begin_ns;
    std::optional<int64_t> last_step_end_ns;
    std::optional<int64_t> next_begin_ns;  // of the first step behind the window
  };
  void AddMarks(const EventBatch& batch, Rank* rank) const;
  std::optional<TimeRange> RangeOf(const Rank& rank) const;

  const std::optional<WantedWindow> window_;
  const int64_t time_window_ns_;
  std::map<uint32_t, Rank> ranks_;
};

}  // namespace eroica
