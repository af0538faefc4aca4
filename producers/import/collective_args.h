// What the args of one event of a trace say of a collective. What is missing, or is no such value,
// has the member's default; nothing here fails.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "producers/import/rank_trace.h"

namespace eroica {

// The args of an event that speak of a collective, parsed.
struct CollectiveArgs {
  uint64_t external_id = 0;
  uint64_t correlation = 0;
  std::vector<uint64_t> input_elements;  // "Input Dims": elements of each input
  // the same times the size of "Input type"; 0 where that is unknown
  std::vector<uint64_t> input_bytes;
  int32_t group_peer = -1;  // "Concrete Inputs"[2] of c10d::send and recv_
  // Newer versions say it outright.
  bool states_collective = false;
  CollectiveOperation operation = CollectiveOperation::kUnknown;
  ProcessGroup group;
  uint64_t bytes = 0;
  int64_t sequence = -1;
  int32_t peer = -1;  // global
};
// text: the JSON object as it stands in the file.
CollectiveArgs ParseCollectiveArgs(std::string_view text);

}  // namespace eroica
