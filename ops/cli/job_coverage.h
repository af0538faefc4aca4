// What the patterns of all windows cover of a job: which ranks, with how many steps, and how long
// they wait for others, which is what a rank that is not covered can cost them at the most.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "schemas/capture_gap.h"
#include "stream_ops/log/log.h"
#include "stream_ops/rank_contest.h"

namespace eroica {

// What a capture left out while it stood still on some ranks.
struct StoppedCapture {
  CaptureGap gap;               // as it was last
  std::vector<uint32_t> ranks;  // ascending
  double share = 0;             // of the time in windows of the rank on which it was longest
  int64_t first_step = -1;      // of the windows in which it stood still; -1: none has steps
  int64_t last_step = -1;
};

// Steps that take more than twice as long as the median one: without warm-up, checkpoints and
// evaluations.
struct LongSteps {
  uint32_t steps = 0;
  uint32_t of_all = 0;
  double usual_ns = 0;  // the median step
  double mean_ns = 0;   // of the long ones
  double share = 0;     // of all time in steps: what they take beyond the median
  int32_t rank = -1;    // that was busy in more than half of that; -1: none, or not the same one
};

// A rank with fewer recorded steps than the others: its capture began later, or ended earlier.
struct PartlyRecorded {
  uint32_t rank = 0;
  uint64_t steps = 0;
};

// The rank with the most of some time, a step on the average.
struct RankWithMost {
  uint32_t rank = 0;
  double ns = 0;
  double others_ns = 0;  // median of the other ranks
  double next_ns = 0;    // of the other ranks the most
};

struct JobCoverage {
  uint32_t world_size = 0;             // the largest that a rank names
  std::vector<uint32_t> ranks;         // that have patterns, ascending
  uint32_t ranks_with_steps = 0;       // of these
  uint64_t steps = 0;                  // of the rank with the most recorded steps
  std::vector<PartlyRecorded> partly;  // ranks with fewer, ascending
  uint32_t hosts = 0;                  // that these ranks are on, as far as they say
  bool host_only = false;   // none of these ranks uses a device (PatternBatch::host_only)
  uint32_t most_steps = 0;  // of a window: the most that any of these ranks shows at once
  double step_ns = 0;       // mean duration of a step: median over the ranks with steps
  double wait_ns = 0;       // of that, exposed waiting for peers: likewise
  // Of that, without waits in sends and receives: waiting in a pipeline is mostly its bubble.
  double collective_wait_ns = 0;
  // Likewise what all recorded ranks wait at once: in each step the least of any of them, and no
  // more than what they spend in collectives together. Who holds the others up hardly waits itself,
  // or does so in operations that the others come late to.
  double common_wait_ns = 0;
  // The longest that any recorded rank spends a step in receives from other hosts while the send
  // runs, too: data moves, and nobody is late.
  double between_hosts_ns = 0;
  // The longest that a connection of any recorded rank carries data, a step: while they wait for a
  // rank that is late, connections carry nothing.
  double transfer_ns = 0;
  // A collective was seen, or a rank waited in a function that is known to wait for peers.
  bool sees_waits = false;
  LongSteps long_steps;
  RankWithMost unrecorded;              // of work that nobody recorded
  RankWithMost busiest;                 // of all but waits for peers
  std::vector<StoppedCapture> stopped;  // by capture, each once
  // Ranks that several processes were at once, ascending: only what the first one sent is in here.
  std::vector<ContestedRank> contested;
  double ShareOf(double ns) const { return step_ns > 0 ? ns / step_ns : 0; }
  std::vector<uint32_t> missing_ranks() const;  // ascending
};

// Reads the patterns topic of a log, from its beginning on, as it grows. Owner: one thread; the log
// must outlive it.
class JobCoverageReader {
 public:
  static absl::StatusOr<JobCoverageReader> Open(Log& log, const std::string& topic_prefix);
  JobCoverageReader(JobCoverageReader&&) noexcept;
  JobCoverageReader& operator=(JobCoverageReader&&) noexcept;
  ~JobCoverageReader();

  // To where the topic ends now.
  absl::Status Read();
  // By the name of the job; a job that has no patterns is left out.
  std::map<std::string, JobCoverage> Measured() const;

 private:
  struct Reading;
  explicit JobCoverageReader(std::unique_ptr<Reading> reading);

  std::unique_ptr<Reading> reading_;
};

// Of all that the topic holds now.
absl::StatusOr<std::map<std::string, JobCoverage>> MeasureJobCoverages(
    Log& log, const std::string& topic_prefix);
// The same of a log that holds one job; an empty coverage where it holds none.
absl::StatusOr<JobCoverage> MeasureJobCoverage(Log& log, const std::string& topic_prefix);

}  // namespace eroica
