// The call stack of each Python frame, as a row of the TraceFunctions. Frames come by start time,
// callers first. One builder a rank, one thread.
//
// A frame that names its caller by id gets exactly that; one that does not (annotations, older
// profilers) is called by the innermost frame of its lane that is open when it starts. Memory: the
// open frames.
//
// Frames that were open when the profiler started carry the line that they were at, not the line of
// their definition, and that differs between ranks: their line is dropped. They are the unbroken
// chain of first frames of a lane, each called by the one before.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <cstdint>
#include <vector>

#include "producers/import/function_table.h"
#include "producers/import/interval_store.h"

namespace eroica {

class CallStackBuilder {
 public:
  explicit CallStackBuilder(TraceFunctions& functions) : functions_(functions) {}

  // record: of kind kPython or kAnnotation. Its row.
  uint32_t Resolve(const IntervalRecord& record);

 private:
  struct Frame {
    int64_t end_ns = 0;
    uint32_t function = 0;
  };
  struct LaneState {
    std::vector<Frame> open;  // of the frames without ids
    bool at_start = true;     // every frame so far was open when the profiler started
    uint32_t last_id = 0;
  };

  uint32_t ParentOf(const IntervalRecord& record, LaneState& lane);
  void Remember(const IntervalRecord& record, uint32_t function, LaneState& lane);
  void ForgetEnded(int64_t now_ns);

  TraceFunctions& functions_;
  std::array<LaneState, 256> lanes_;
  // by id; ended ones are dropped when it has doubled
  absl::flat_hash_map<uint32_t, Frame> frames_;
  size_t forget_at_ = 4'096;
};

}  // namespace eroica
