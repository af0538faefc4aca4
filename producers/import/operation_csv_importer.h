// Reads an operation-level CSV (dp_rank, stage, rank, step, optype, start_ts, duration, ...; one
// row an operation of one pipeline stage of one replica, times in seconds from the step's start)
// into one RankTrace a rank. The file is read twice, as a stream: the first time for the length of
// each step.
//
// Steps are laid one after another, at the same time on all ranks. What the operations are:
//   *-compute, optimizer       gpu_compute
//   *-send, *-recv             point to point with the next (forward-send, backward-recv) or
//                              previous stage of the replica
//   *-all-reduce, *-all-gather, *-reduce-scatter   a collective of the ranks that hold the stage;
//                              embedding-*: of the replica's first and last stage; layernorm-*: of
//                              the stage's tensor-parallel ranks, which the file shows as one
//   optimizer-clip-main-grad   an all-reduce of all ranks: the norm of the gradients, for which
//                              every stage waits
//   others                     cpu_op on the host
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "producers/import/byte_source.h"
#include "producers/import/function_table.h"
#include "producers/import/import_report.h"
#include "producers/import/rank_trace.h"

namespace eroica {

class OperationCsvImporter {
 public:
  OperationCsvImporter(TraceFunctions& functions, SortBudget& budget, FileReport& report)
      : functions_(functions), budget_(budget), report_(report) {}

  using Opener = std::function<absl::StatusOr<std::unique_ptr<ByteSource>>()>;

  // open: gives the file from its beginning. Fails only where the import as a whole must stop. A
  // file without the columns is reported as refused.
  absl::Status Import(const Opener& open, const std::function<void(uint64_t)>& progress,
                      std::vector<std::unique_ptr<RankTrace>>* traces);

 private:
  struct Columns {
    size_t replica = 0;
    size_t stage = 0;
    size_t rank = 0;
    size_t step = 0;
    size_t operation = 0;
    size_t start = 0;
    size_t duration = 0;
    size_t count = 0;
  };
  struct Row {
    uint32_t replica = 0;
    uint32_t stage = 0;
    uint32_t rank = 0;
    int64_t step = 0;
    std::string_view operation;
    int64_t start_ns = 0;
    int64_t duration_ns = 0;
  };
  struct Place {
    uint32_t replica = 0;
    uint32_t stage = 0;
  };

  bool ReadHeader(std::string_view line);
  DropReason ReadRow(std::string_view line, Row* row) const;
  void Measure(const Row& row);
  void LayOutSteps();
  void MakeTraces();
  absl::Status Add(const Row& row);
  bool Describe(const Row& row, CollectiveCall* call, uint8_t* lane, FunctionClass* function_class);
  template <typename IsMember>
  int32_t GroupOf(const Row& row, const char* name, std::string description, IsMember&& member);
  int32_t GroupOfCollective(const Row& row);
  uint32_t RankAt(uint32_t replica, uint32_t stage) const;
  // Calls visit(line) for every line; false from it ends the reading. The last line, without an
  // end, is left out where the file is damaged.
  template <typename Visit>
  absl::Status ForEachLine(ByteSource& source, Visit&& visit);

  TraceFunctions& functions_;
  SortBudget& budget_;
  FileReport& report_;
  Columns columns_;
  std::map<int64_t, int64_t> step_length_ns_;  // by step: until its last rank ends
  std::map<int64_t, int64_t> step_base_ns_;
  // by rank and step, from the step's start
  std::map<std::pair<uint32_t, int64_t>, int64_t> rank_step_end_ns_;
  std::map<uint32_t, Place> places_;                           // by rank
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> rank_at_;  // by replica and stage
  uint32_t stages_ = 0;
  // by rank and description: index in the rank's trace
  std::map<std::pair<uint32_t, std::string>, int32_t> groups_;
  std::map<uint32_t, std::unique_ptr<RankTrace>> traces_;
};

}  // namespace eroica
