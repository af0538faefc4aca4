// Which process of a job's ranks ended first and made the job fail. Launchers end the others then,
// and what they do not end fails by itself: those are consequences. So it is where a rank leaves
// with success before the others: they fail for want of it. Claim and silence:
// diagnosis/ended_process/README.md. Pure: takes the time as an argument. Owner: one thread.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "ops/launch/rank_processes.h"

namespace eroica {

// How the launcher itself ended.
struct JobEnd {
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  int wait_status = 0;       // of waitpid(2)
  int64_t told_ns = kNever;  // since when it had been told to end, from outside
};

class FirstEnd {
 public:
  // The others run on for so long: they have not ended together, as a launcher ends them.
  static constexpr int64_t kOthersRunNs = 5'000'000'000;
  // Processes that are told to end do so within this.
  static constexpr int64_t kTogetherNs = 1'000'000'000;

  void Begin(const RankProcess& process);
  void End(const EndedRank& ended);

  // What is known to have made the job fail, once an attempt of the job.
  std::optional<EndedRank> Take(int64_t now_ns);
  // The launcher has ended. Where it failed and nobody told it to end, there is an answer: one with
  // a JobFailure where no process is known to be the cause.
  std::optional<EndedRank> TakeAtEnd(const JobEnd& end);

 private:
  bool EndedTogether(const EndedRank& ended) const;
  bool WereToldToEnd() const;
  EndedRank FirstOfTogether(const JobEnd& end) const;
  const EndedRank& FirstFailure() const;
  const EndedRank& First() const;
  std::optional<EndedRank> TakeFirst(const JobEnd& end);
  std::optional<EndedRank> TakeUnexplained(const JobEnd& end);

  std::map<uint32_t, pid_t> running_;  // by rank
  std::vector<EndedRank> failed_;      // of this attempt, by time
  std::vector<EndedRank> succeeded_;   // likewise
  std::optional<EndedRank> restarted_after_;
  bool said_ = false;
};

}  // namespace eroica
