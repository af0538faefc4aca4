// Which of a task's jobs are over, so that nothing more is kept of them: those that said their last
// words, and those of which nothing came for long. What it knows outlives a restart in one row a
// job, so that a node that is started anew every day forgets jobs like one that is not. Asks no
// clock: the runtime says when a minute has passed. Owner: one processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "schemas/ids.h"
#include "stream_ops/processor.h"

namespace eroica {

struct JobRetention {
  // without a record of the job: whoever comes back later begins anew
  int64_t silent_minutes = int64_t{24} * 60;
  // So many of the newest jobs that said their last words are still known, so that what comes late
  // or twice is taken for that.
  size_t ended_kept = 32;
};

class JobAges {
 public:
  explicit JobAges(JobRetention retention = {}) : retention_(retention) {}

  // The store has rows of the job. offset: of a record of it that needs not be read again.
  void Restore(const JobId& job, int64_t offset = -1);
  // The job's row of ProgressFamily::kAge. False where it cannot be read.
  bool RestoreRow(const JobId& job, std::string_view value);

  // A record of the job, at this offset. goes_on: it is more than a late one of a job that has
  // ended.
  void Hear(const JobId& job, int64_t offset, bool goes_on);
  // The job has said its last words.
  void End(const JobId& job);
  // A minute of wall time has passed.
  void Tick();
  // Whether TakeOver may have something to answer.
  bool may_be_over() const { return tick_passed_ || ended_.size() > retention_.ended_kept; }
  // The jobs that are over, but for those that a restart would read again: of which a record lies
  // at restart_offset or after it. They are known no longer.
  std::vector<JobId> TakeOver(int64_t restart_offset);
  // Writes what has changed since: endings, and silence by the hour.
  void Keep(StateChanges& changes);

  size_t size() const { return ages_.size(); }
  bool knows(const JobId& job) const { return ages_.contains(job); }
  bool has_ended(const JobId& job) const;

 private:
  struct Age {
    int64_t offset = -1;  // of its newest record
    int64_t silent_minutes = 0;
    int64_t ended_as = -1;  // its number in the order in which jobs ended; -1: it goes on
  };

  JobRetention retention_;
  std::map<JobId, Age> ages_;
  std::map<int64_t, JobId> ended_;  // by that number
  std::set<JobId> changed_;         // jobs whose row in the store says something else
  bool tick_passed_ = false;
};

// Deletes what the task keeps in Table::kProgress under keys that begin so, of this cycle too.
absl::Status ForgetProgress(std::string_view prefix, ProcessorContext& context);
// All of the job.
absl::Status ForgetJob(const JobId& job, ProcessorContext& context);

}  // namespace eroica
