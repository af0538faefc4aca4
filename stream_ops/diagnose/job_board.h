// What this node's diagnose tasks know of their jobs, for those who ask: the newest windows of each
// job. The tasks publish, each its own jobs; anybody reads. All in memory and bounded: the details
// of old windows are let go of first, those of the job that holds the most before others.
//
// Thread-safe. What is read is immutable and stays as it was while somebody holds it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "schemas/ids.h"
#include "schemas/mutex.h"
#include "stream_ops/diagnose/window_snapshot.h"

namespace eroica {

// A job as of its newest window.
struct BoardJob {
  JobId job;
  WindowSummary newest;
  int64_t diagnosed_at_ns = 0;  // wall clock, of the newest window; 0: before this node began
  // Oldest first. Empty where the job is known from the state store only.
  std::vector<std::shared_ptr<const WindowSnapshot>> windows;
};

// How long windows were diagnosed after their newest event, by the wall clock.
struct WindowLatency {
  static constexpr std::array<double, 12> kUpperSeconds = {0.05, 0.1, 0.25, 0.5, 1,   2.5,
                                                           5,    10,  30,   60,  300, 3'600};
  std::array<uint64_t, kUpperSeconds.size()> buckets{};  // not cumulative
  uint64_t count = 0;                                    // with those beyond
  double sum_seconds = 0;

  void Add(double seconds);
};

// Of all windows that were published on a board.
struct BoardCounts {
  uint64_t windows = 0;
  uint64_t windows_early = 0;  // WindowSummary::early
  Completeness events;
  WindowLatency latency;
  int64_t newest_ms = 0;  // event time
};

class JobBoard {
 public:
  // Of every job: windows, and of how many of them the details.
  static constexpr size_t kWindowsMax = 256;
  static constexpr size_t kDetailsMax = 32;

  // When a task ends, its partition moves to another node, which shows its jobs from then on; or
  // nobody takes it over, and they stay to be looked at.
  enum class JobsOfEndedTask { kLeave, kStay };

  // bytes_max: of all windows, about. Beyond, the job that holds the most lets go of its oldest
  // details, and where it has none of its oldest windows; every job keeps its newest.
  explicit JobBoard(uint64_t bytes_max, JobsOfEndedTask ended = JobsOfEndedTask::kLeave)
      : bytes_max_(bytes_max), ended_(ended) {}

  // One task's part of the board. Not to outlive the board.
  class Share {
   public:
    explicit Share(JobBoard& board) : board_(board) {}
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // The job's newest window.
    void Publish(const JobId& job, WindowSnapshot snapshot, int64_t diagnosed_at_ns);
    // As the state store has it, without a window; a job that is on the board stays as it is, and
    // becomes this task's.
    void Restore(const JobId& job, WindowSummary newest);
    void Forget(const JobId& job);

   private:
    JobBoard& board_;
  };

  // By name.
  std::vector<std::shared_ptr<const BoardJob>> Jobs() const;
  // nullptr: no task of this node has it.
  std::shared_ptr<const BoardJob> Find(const JobId& job) const;
  // Goes up with every change of any job.
  uint64_t version() const;
  uint64_t bytes() const;
  BoardCounts counts() const;
  uint64_t details_evicted() const;

 private:
  struct Entry {
    const Share* owner = nullptr;  // nullptr: its task has ended
    std::shared_ptr<const BoardJob> job;
    uint64_t bytes = 0;  // of its windows
  };

  void Count(const WindowSummary& window, int64_t diagnosed_at_ns) EROICA_REQUIRES(mutex_);
  void Replace(Entry* entry, BoardJob job) EROICA_REQUIRES(mutex_);
  // False where the newest window is all that the job has.
  bool EvictOldest(Entry* entry) EROICA_REQUIRES(mutex_);
  void KeepWithinBytes() EROICA_REQUIRES(mutex_);

  const uint64_t bytes_max_;
  const JobsOfEndedTask ended_;
  mutable Mutex mutex_;
  std::map<JobId, Entry> jobs_ EROICA_GUARDED_BY(mutex_);
  uint64_t bytes_ EROICA_GUARDED_BY(mutex_) = 0;
  uint64_t version_ EROICA_GUARDED_BY(mutex_) = 0;
  uint64_t details_evicted_ EROICA_GUARDED_BY(mutex_) = 0;
  BoardCounts counts_ EROICA_GUARDED_BY(mutex_);
};

}  // namespace eroica
