// What is known to be missing at the ends of a recording, so that nothing is called healthy that
// was not seen whole.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ops/config/node_config.h"
#include "stream_ops/log/log.h"
#include "stream_ops/log/log_slice.h"

namespace eroica {

struct LostEntries {
  std::vector<std::string> sentences;  // one a partition that ends within an entry; empty: none
  uint64_t bytes = 0;                  // that are left of such entries
  bool any() const { return !sentences.empty(); }
};

// Of the topics that a node reads in the recording that is configured, and of the one that it is a
// copy of. A Kafka has lost none. Before this process appends to the log: a writer cuts off what it
// finds.
absl::StatusOr<LostEntries> FindLostEntries(Log& log, const NodeConfig& config);
// The same of a slice: what is missing behind it is none of its.
absl::StatusOr<LostEntries> FindLostEntries(Log& log, const NodeConfig& config,
                                            const LogSlice& slice);

}  // namespace eroica
