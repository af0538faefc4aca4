// A job as a node shows it at one moment: what `eroica top` draws. Names are from outside, as they
// came.
#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/cli/listed_job.h"
#include "ops/rest/node_client.h"
#include "schemas/finding.h"

namespace eroica {

struct ViewedFinding {
  std::string id;
  Severity severity = Severity::kInfo;
  std::string title;
};

// Of one window; times a step.
struct ViewedRank {
  uint32_t rank = 0;
  std::string host;
  bool silent = false;
  double step_ns = 0;
  double busy_ns = 0;
  double wait_ns = 0;
  double peers_busy_ns = 0;  // 0: it has no peers
  double excess_ns = 0;      // busy beyond its peers
};

struct ViewedWait {
  uint32_t waiting = 0;
  uint32_t waited_for = 0;
  double wait_ns = 0;
  bool point_to_point = false;
};

struct ViewedStep {
  int64_t step = 0;
  double median_ns = 0;
  double busy_median_ns = 0;
  double busy_max_ns = 0;
  uint32_t busiest_rank = 0;
};

// Records that the node's stage cannot read before a transaction ends that is open on its input.
struct ViewedHold {
  std::string stage;
  uint64_t records = 0;
  uint64_t seconds = 0;  // that it has been open, at least
};

struct JobView {
  ListedJob job;  // without a name: the node knows no job
  size_t other_jobs = 0;
  std::vector<ViewedStep> steps;        // the newest, oldest first
  std::vector<ViewedFinding> findings;  // open ones, the gravest first; at most kFindings
  uint64_t findings_open = 0;
  std::vector<ViewedRank> deviating;  // silent ones, then those that deviate most; at most kRanks
  size_t ranks_deviating = 0;
  size_t ranks_shown = 0;         // of which the newest window has something
  std::vector<ViewedWait> waits;  // the longest; at most kWaits
  std::vector<ViewedHold> held;   // of the node, whatever the job

  static constexpr size_t kSteps = 256;
  static constexpr size_t kFindings = 50;
  static constexpr size_t kRanks = 50;
  static constexpr size_t kWaits = 50;
  // A rank deviates whose busy time differs from its peers' by more than this share of it.
  static constexpr double kDeviates = 0.02;
};

// The same as one JSON object, without a line end.
std::string ToJson(const JobView& view);

// Asks one node, again and again. One thread.
class JobViewReader {
 public:
  // job: empty for the first that is running in the node's list, which begins with the gravest.
  JobViewReader(NodeClient client, std::string job)
      : client_(std::move(client)), wanted_(std::move(job)) {}

  // As NodeClient::Get. Ranks and waits are asked for when the job has a new window.
  absl::StatusOr<JobView> Read();
  const std::string& url() const { return client_.url(); }

 private:
  absl::Status ReadHeld(JobView* view) const;
  absl::Status ChooseJob(JobView* view) const;
  absl::Status ReadFindings(JobView* view) const;
  absl::Status ReadSteps(JobView* view) const;
  absl::Status ReadRanks(JobView* view) const;
  absl::Status ReadWaits(JobView* view) const;

  const NodeClient client_;
  const std::string wanted_;
  JobView last_;  // of which ranks and waits are kept
};

}  // namespace eroica
