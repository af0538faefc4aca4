// One job in a list: how far it is and what is open about it. The same from whichever source.
#pragma once

#include <absl/status/statusor.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ops/cli/known_jobs.h"
#include "ops/rest/node_client.h"
#include "schemas/finding.h"

namespace eroica {

struct ListedJob {
  std::string name;  // from outside
  // running; ended; undiagnosed: no window of it is yet; forgotten: findings of it are all that is
  // left
  std::string state;
  uint32_t world_size = 0;
  uint32_t ranks_seen = 0;    // in its newest window
  std::string newest_window;  // "steps-12"; empty: none is known
  int64_t watermark_ms = 0;   // event time up to which it is diagnosed; 0: not known
  double step_ns = 0;         // median over the ranks; 0: no steps
  std::array<uint64_t, kSeverityCount> open_findings{};
};

// Of what nodes know and of the findings, each in its newest version.
std::vector<ListedJob> ListJobs(const KnownJobs& known, std::span<const Finding> findings);

// Of all nodes that the asked one knows; unreachable: those that did not answer. At most 100,000
// jobs. kInvalidArgument: it answers something else than a list of jobs.
struct NodeJobs {
  std::vector<ListedJob> jobs;
  std::vector<std::string> unreachable;
};
absl::StatusOr<NodeJobs> ListJobs(const NodeClient& client);

// Those with the gravest open findings first, then by name.
void SortByGravity(std::vector<ListedJob>* jobs);

// A table, in columns of a terminal. Names that are too long for it are cut.
std::string JobTable(std::span<const ListedJob> jobs, size_t width);
// One JSON object, without a line end; names as they are.
std::string ToJson(const ListedJob& job);

}  // namespace eroica
