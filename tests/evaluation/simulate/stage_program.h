// A rank program made ready to run and to report: its streams, what each of its operations counts
// as, and its own function table. One a pipeline stage.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "schemas/event_batch.h"
#include "tests/evaluation/simulate/function_catalog.h"
#include "tests/evaluation/simulate/parallel_layout.h"
#include "tests/evaluation/simulate/rank_program.h"

namespace eroica::simulate {

// Collectives of one communicator, or point-to-point operations of one direction: they run one
// after another.
struct ProgramStream {
  GroupKind kind = GroupKind::kWorld;
  // 0: collectives. Of two stages each is the next and the one before of the other, and counts as
  // the next
  int8_t peer_stages = 0;
  bool sends = false;
  uint8_t lane = 0;
  uint8_t communicator = 0;  // index into StageProgram::communicators
};

// What is counted together: sequence numbers are those of a communicator and operation, or of a
// peer and direction.
struct OperationSeries {
  uint8_t stream = 0;
  CollectiveOperation operation = CollectiveOperation::kUnknown;
};

struct StageInstruction : Instruction {
  uint8_t series = 0;
  // of the operation that a rank runs instead when it is out of step with its peers
  uint8_t wrong_series = 0;
  bool only_waits = false;  // the thread does not work
  uint16_t share = 0;       // level in units of 2^-16
};

struct StageProgram {
  static constexpr uint32_t kNowhere = 0xFFFFFFFF;
  static constexpr uint8_t kThreadLane = 0;
  static constexpr uint8_t kComputeLane = 1;
  static constexpr uint8_t kFirstStreamLane = 2;

  std::vector<StageInstruction> instructions;  // their functions are indices into the table below
  uint32_t tickets = 0;
  uint32_t kernels = 0;  // instructions of a kind in a step ...
  uint32_t calls = 0;    // ... that are intervals of the training thread
  uint32_t launches = 0;
  // that works, inside the phase's frames; kNowhere where a phase does not occur
  std::array<uint32_t, kPhaseCount> first_of_phase = {};
  std::vector<ProgramStream> streams;
  std::vector<OperationSeries> series;
  std::vector<GroupKind> communicators;  // those that the program uses
  std::vector<Lane> lanes;
  std::vector<FunctionDef> functions;
  std::vector<uint32_t> catalog_to_table;  // kNowhere where the program does not run the function
  uint32_t launch_function = 0;            // of launch calls

  // The function's place in a table that begins with `functions` and goes on with the catalog's
  // functions in extra; adds it there, after its callers, where it is in neither.
  uint32_t FindOrAdd(uint32_t catalog_function, const FunctionCatalog& catalog,
                     std::vector<uint32_t>& extra) const;
};

// launches: launch calls are reported. Requires frames that nest, and no instruction that refers to
// a function, ticket or kind that does not exist.
StageProgram MakeStageProgram(const RankProgram& program, const FunctionCatalog& catalog,
                              const ParallelLayout& layout, bool launches);

}  // namespace eroica::simulate
