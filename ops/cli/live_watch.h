// What `eroica run` does beside the job, in a process of its own: a node over the job's recording
// (or only a reader, where a Kafka and its nodes do the work), and the findings on the screen as
// they come. If it fails, the job does not notice.
#pragma once

#include <absl/status/status.h>

#include <map>
#include <string>

#include "ops/config/node_config.h"

namespace eroica {

struct LiveWatchOptions {
  NodeConfig config;
  // Over Kafka: librdkafka's properties as the ranks have them, secrets included.
  std::map<std::string, std::string> kafka_properties;
  std::string job;
  std::string exchange_folder;  // of the job's ranks on this host
  bool run_node = true;   // false: only show what others find
  bool json = false;      // findings as JSON lines
  bool page = false;      // of a node of our own: its dashboard is served meanwhile
  int job_ended_fd = -1;  // readable when the job has ended: a JobEnd (ops/launch/first_end.h)
};

// Until the job has ended and everything that it sent is diagnosed. Prints to standard error.
absl::Status WatchLive(const LiveWatchOptions& options);

}  // namespace eroica
