// From a closed window to what summarize says of it: the sweep, the patterns to the store, the
// patterns that matter to diagnose and the rank's collectives, one batch a communicator, to align.
// Owner: one processor; memory is kept from window to window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "schemas/codec.h"
#include "schemas/collective_batch.h"
#include "schemas/pattern_batch.h"
#include "stream_ops/pattern/critical_path_sweep.h"
#include "stream_ops/pattern/function_table.h"
#include "stream_ops/pattern/interval_order.h"
#include "stream_ops/pattern/pattern_rows.h"
#include "stream_ops/pattern/resource_account.h"
#include "stream_ops/processor.h"
#include "stream_ops/summarize/communicator_table.h"
#include "stream_ops/summarize/rank_windows.h"

namespace eroica {

class WindowEmitter {
 public:
  explicit WindowEmitter(RankWindows::Shared* shared) : shared_(shared) {}

  // Sorts the window's intervals in place; frees the tickets of its collectives. world_size: of the
  // job.
  void Emit(const FunctionTable& functions, const CommunicatorTable& communicators,
            uint32_t world_size, ClosedRankWindow& closed, RankWindows& rank,
            ProcessorContext& context);
  // RankSilent: the rank said nothing for this window, and its peers have moved on.
  void EmitSilent(const RankProgress& progress, uint32_t world_size, int64_t index,
                  ProcessorContext& context);

 private:
  struct Sink {
    const FunctionTable& functions;
    const CommunicatorTable& communicators;
    ProcessorContext& context;
  };
  struct Member {
    uint32_t communicator = 0;  // number in the job's table
    CollectiveBatch batch;
    // by function: 1 + its place in batch.predecessors, 0 where there was no room
    std::unordered_map<uint32_t, uint32_t> predecessors;
    size_t predecessor_bytes = 0;  // of names and stacks
  };
  // Both at once, with a list of all ranks, are less than a payload may hold.
  static constexpr size_t kMostRecords = size_t{1} << 19;
  static constexpr size_t kMostPredecessorBytes = size_t{16} << 20;

  static uint32_t PlaceOf(const Sink& sink, uint32_t function, Member* member);
  bool AddRecord(const Sink& sink, const ClosedRankWindow& closed,
                 const CollectiveExposure& exposure, const CollectiveRow& row, Member* member);

  void StartPatterns(const RankProgress& progress, uint32_t world_size, const Window& window);
  void SendPatterns(ProcessorContext& context);
  template <typename T>
  std::optional<Bytes> Encode(const T& output, ProcessorContext& context);
  void AddBytes(uint32_t function, uint64_t bytes);
  void LeaveOut(uint64_t lost);
  void AddOperation(const Sink& sink, const ClosedRankWindow& closed,
                    const CollectiveExposure& exposure, const CollectiveRow& row,
                    RankWindows& rank);
  void CollectRecords(const Sink& sink, const ClosedRankWindow& closed, RankWindows& rank);
  void SendCollectives(const Sink& sink, const ClosedRankWindow& closed, uint32_t world_size,
                       const RankProgress& progress);

  RankWindows::Shared* shared_;
  IntervalSorter sorter_;
  CriticalPathSweep sweep_;
  ResourceAccount resources_;
  Encoder encoder_;
  PatternBatch patterns_;
  std::vector<Member> members_;       // by CommId
  std::vector<FunctionBytes> bytes_;  // each function once
};

}  // namespace eroica
