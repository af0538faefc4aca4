// The open windows of one job: patterns of its ranks and summaries of its communicators gather here
// until the window is complete.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "schemas/collective_summary.h"
#include "schemas/pattern_batch.h"
#include "stream_ops/run_numbering.h"

namespace eroica {

// Kind and number (run_numbering.h); windows of a kind close in the order of their numbers.
using WindowId = std::pair<WindowKind, int64_t>;

struct JobWindow {
  std::map<RankId, PatternBatch> batches;
  std::map<CommId, CollectiveSummary> summaries;
  int64_t first_offset = 0;           // of the first record that belongs to it
  int64_t timestamp_ms = 0;           // latest event time of its records
  uint32_t world_size = 0;            // the largest that a rank names in it: jobs change their size
  uint32_t summaries_world_size = 0;  // the largest that a summary names, where no rank does
};

// What JobWindows asks of a batch or a summary: the rest may wait elsewhere until its window
// closes.
PatternBatch OutlineOf(const PatternBatch& batch);
CollectiveSummary OutlineOf(const CollectiveSummary& summary);

// Of one job. One thread; knows no clock: who calls decides when to stop waiting.
class JobWindows {
 public:
  enum class Added : uint8_t { kAdded, kDuplicate, kClosed };

  // Windows up to and including this one are closed: what still comes for them is ignored.
  void RestoreClosed(WindowId last_closed);
  // Of the job; what a former life knew is restored into it.
  RunNumbering& runs() { return runs_; }
  const RunNumbering& runs() const { return runs_; }

  // Sets the index of the window to its number, which Add expects. False where it is late: of a run
  // that is over, and nobody can use it. A communicator begins no run: its ranks do.
  bool Number(RankId rank, Window* window);
  bool Number(CommId communicator, Window* window);
  // The same of the window in which the rank stands at a moment; a late one keeps its index.
  void NumberOpen(RankId rank, Window* window);
  // Whether the rank is in the run that was begun last.
  bool IsInNewestRun(RankId rank) const;

  // The largest that a rank names in the newest window; 0 before the first one.
  uint32_t newest_world_size() const { return newest_world_size_; }

  Added Add(PatternBatch batch, int64_t offset, int64_t timestamp_ms);
  Added Add(CollectiveSummary summary, int64_t offset, int64_t timestamp_ms);

  // The oldest open window, if every rank of the world has reported it or is past it, and every
  // communicator that they name has been summarized.
  // Called after every record: what was seen to be there is not looked at again, so that all calls
  // for a window cost no more than its ranks and communicators.
  std::optional<WindowId> OldestComplete();
  // The oldest open window, complete or not.
  std::optional<WindowId> Oldest() const;
  // Takes the window out; it is closed from now on.
  JobWindow Close(WindowId id);

  // Offset of the first record of any open window; nothing if none is open.
  std::optional<int64_t> FirstOffset() const;
  size_t open() const { return windows_.size(); }
  bool IsOpen(WindowId id) const { return windows_.contains(id); }
  // The window that was closed before it is of another run.
  bool BeginsRun(WindowId id) const;
  bool HasClosedSteps() const { return last_closed_.contains(WindowKind::kSteps); }

 private:
  struct Progress {
    WindowId reached{};
    bool final = false;
    uint32_t pid = 0;
    RunPlace place;
  };
  // How far the window that was looked at last is known to be complete. What has come stays, so
  // that the next look goes on from there.
  struct Checked {
    WindowId id{};
    uint32_t ranks = 0;  // those below have reported it or are past it
    // all communicators of those below have been summarized or are past it
    uint32_t communicators_of = 0;
  };
  bool IsClosed(WindowId id) const;
  uint32_t WorldOf(const JobWindow& window) const;
  bool HasCommunicators(const JobWindow& window, const PatternBatch& batch, WindowId id) const;
  JobWindow& Open(WindowId id, int64_t offset, int64_t timestamp_ms);
  bool Passed(const Progress* progress, WindowId id) const;
  void StartAnew();

  RunNumbering runs_;
  std::map<WindowId, JobWindow> windows_;
  std::map<RankId, Progress> ranks_;
  bool has_last_words_ = false;  // some rank is final
  std::map<CommId, Progress> communicators_;
  std::map<WindowKind, int64_t> last_closed_;
  WindowId newest_{};               // that any rank reported,
  uint32_t newest_world_size_ = 0;  // and the largest that is named there
  Checked checked_;
};

}  // namespace eroica
