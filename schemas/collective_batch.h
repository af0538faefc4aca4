// CollectiveBatch: the collectives of one rank, communicator and window, what summarize says to
// align. Wire: collective.fbs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/event_batch.h"
#include "schemas/ids.h"
#include "schemas/window.h"

namespace eroica {

// What a rank ran before it joined a collective.
struct Predecessor {
  FunctionId function;
  std::string name;
  std::string stack;
  friend bool operator==(const Predecessor&, const Predecessor&) = default;
};

struct CollectiveRecord {
  CollectiveOperation operation = CollectiveOperation::kUnknown;
  uint64_t sequence = 0;
  int32_t peer = -1;
  int64_t step = -1;
  int64_t duration_ns = 0;
  // part of the duration in which nothing of a higher class ran on the rank
  int64_t exposed_ns = 0;
  // from the end of the rank's previous operation on any communicator (or the window's start); 0 if
  // they overlap
  int64_t gap_ns = 0;
  uint64_t bytes = 0;
  // 1 + index into predecessors of what was longest on the critical path in the gap; 0: nothing
  uint32_t before = 0;
  int64_t before_ns = 0;  // its critical time in the gap
  friend bool operator==(const CollectiveRecord&, const CollectiveRecord&) = default;
};

struct CollectiveBatch {
  JobId job;
  RankId rank;
  uint32_t world_size = 1;
  Communicator communicator;
  Window window;
  bool final = false;  // no further window of this rank follows
  std::vector<Predecessor> predecessors;
  // in the order in which the rank started them; empty is legal and says "nothing in this window"
  std::vector<CollectiveRecord> records;
  friend bool operator==(const CollectiveBatch&, const CollectiveBatch&) = default;
};

}  // namespace eroica
