// How the memory of a node, runtime.memory_mib, is shared out: what each part may take at most
// where the configuration does not say (state.memory_mib and so on). The shares leave a sixth
// for what has no bound of its own: code, names and look-backs of the jobs, and the
// allocator's gaps.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ops/config/node_config.h"

namespace eroica {

struct MemoryShares {
  // In bytes.
  int64_t state = 0;      // RocksDB: blocks, filters, write buffers
  int64_t summarize = 0;  // events that wait for their windows
  int64_t align = 0;      // collectives that wait for their members
  int64_t diagnose = 0;   // patterns that wait for the other ranks
  int64_t shown = 0;      // windows and findings for REST
  int64_t fetched = 0;    // of each consumer: what librdkafka has fetched ahead
  int64_t fetch = 0;      // of each consumer: one answer of a broker, before it is unpacked
  int64_t unpacked = 0;   // a record set of zstd: what is larger counts as damaged
  int64_t unsent = 0;     // of each producer: what the brokers have not taken yet
};

MemoryShares SharesOf(const NodeConfig& config);

// The node's librdkafka properties: its own, and where it has none the queues' bounds, those of
// what is fetched and unpacked at once, and how often statistics come.
std::map<std::string, std::string> KafkaPropertiesOf(const NodeConfig& config);

}  // namespace eroica
