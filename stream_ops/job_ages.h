// Which of a task's jobs are over, so that nothing more is kept of them: those that said their last
// words, and those of which nothing came for long. Asks no clock: the runtime says when a minute
// has passed. Owner: one processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string_view>
#include <utility>
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

  // A record of the job, at this offset (-1: what the store has of it). goes_on: it is more than a
  // late one of a job that has ended.
  void Hear(const JobId& job, int64_t offset, bool goes_on);
  // The job has said its last words.
  void End(const JobId& job);
  // A minute of wall time has passed.
  void Tick();
  // Whether TakeOver may have something to answer.
  bool may_be_over() const { return tick_passed_ || ended_ > retention_.ended_kept; }
  // The jobs that are over, but for those that a restart would read again: of which a record lies
  // at restart_offset or after it. They are known no longer.
  std::vector<JobId> TakeOver(int64_t restart_offset);

  size_t size() const { return ages_.size(); }
  bool knows(const JobId& job) const { return ages_.contains(job); }

 private:
  struct Age {
    int64_t offset = -1;  // of its newest record
    int64_t silent_minutes = 0;
    int64_t ended_as = -1;  // its number in the order in which jobs ended; -1: it goes on
  };

  JobRetention retention_;
  std::map<JobId, Age> ages_;
  std::deque<std::pair<int64_t, JobId>> order_;  // of those that ended; some have gone on since
  size_t ended_ = 0;                             // that have not
  int64_t endings_ = 0;
  bool tick_passed_ = false;
};

// Deletes what the task keeps in Table::kProgress under keys that begin so, of this cycle too.
absl::Status ForgetProgress(std::string_view prefix, ProcessorContext& context);
// All of the job.
absl::Status ForgetJob(const JobId& job, ProcessorContext& context);

}  // namespace eroica
