#include "tests/evaluation/simulate/stage_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "schemas/check.h"

namespace eroica::simulate {
namespace {

class StageProgramMaker {
 public:
  StageProgramMaker(const FunctionCatalog& catalog, const ParallelLayout& layout)
      : catalog_(catalog), layout_(layout) {
    made_.first_of_phase.fill(StageProgram::kNowhere);
    made_.catalog_to_table.assign(catalog.functions().size(), StageProgram::kNowhere);
    made_.lanes = {{.name = "training thread", .kind = LaneKind::kTrainingThread},
                   {.name = "compute", .kind = LaneKind::kDeviceStream}};
  }

  StageProgram Make(const RankProgram& program, bool launches) {
    made_.tickets = program.tickets;
    int depth = 0;
    for (const Instruction& instruction : program.instructions) {
      Add(instruction);
      depth += static_cast<int>(instruction.kind == InstructionKind::kEnterFrame) -
               static_cast<int>(instruction.kind == InstructionKind::kLeaveFrame);
      EROICA_CHECK(depth >= 0);
    }
    EROICA_CHECK(depth == 0);
    FindPhases(program);
    if (launches) {
      made_.launch_function = static_cast<uint32_t>(made_.functions.size());
      made_.functions.push_back(
          {.name = "cudaLaunchKernel", .function_class = FunctionClass::kCpuOp});
    }
    return std::move(made_);
  }

 private:
  // Within the marks and frames of the step and the phase: where its own work begins, or where it
  // ends where it has none.
  void FindPhases(const RankProgram& program) {
    std::array<bool, kPhaseCount> works = {};
    for (uint32_t i = 0; i < program.instructions.size(); ++i) {
      const Instruction& instruction = program.instructions[i];
      const auto phase = static_cast<size_t>(instruction.phase);
      if (works[phase] || instruction.every > 0) continue;
      works[phase] = instruction.kind == InstructionKind::kHost ||
                     instruction.kind == InstructionKind::kKernel ||
                     instruction.kind == InstructionKind::kCollective ||
                     instruction.kind == InstructionKind::kSynchronize;
      made_.first_of_phase[phase] = i;
    }
  }

  void Add(const Instruction& instruction) {
    StageInstruction added{instruction};
    // A copy has the bus for itself.
    const bool copies =
        instruction.kind == InstructionKind::kKernel && instruction.kernel == KernelKind::kCopy;
    added.share = copies ? kUnit - 1
                         : static_cast<uint16_t>(std::min(
                               kUnit - 1, ToFactor(static_cast<double>(instruction.level))));
    switch (instruction.kind) {
      case InstructionKind::kKernel:
        ++made_.kernels;
        ++made_.launches;
        break;
      case InstructionKind::kCollective: {
        ++made_.launches;
        EROICA_CHECK(instruction.ticket < made_.tickets);
        const uint8_t stream = StreamOf(instruction.group, 0, false);
        const bool reduces = instruction.operation == CollectiveOperation::kAllReduce;
        added.series = SeriesOf(stream, instruction.operation);
        added.wrong_series = SeriesOf(
            stream, reduces ? CollectiveOperation::kAllGather : CollectiveOperation::kAllReduce);
        break;
      }
      case InstructionKind::kSend:
      case InstructionKind::kReceive: {
        EROICA_CHECK(instruction.ticket < made_.tickets &&
                     (instruction.peer_stages == 1 || instruction.peer_stages == -1));
        ++made_.launches;
        const bool sends = instruction.kind == InstructionKind::kSend;
        const int8_t peer_stages =
            layout_.pipeline == 2 ? int8_t{1} : static_cast<int8_t>(instruction.peer_stages);
        const uint8_t stream = StreamOf(GroupKind::kPipeline, peer_stages, sends);
        added.series = added.wrong_series =
            SeriesOf(stream, sends ? CollectiveOperation::kSend : CollectiveOperation::kRecv);
        break;
      }
      case InstructionKind::kAwait: EROICA_CHECK(instruction.ticket < made_.tickets); break;
      case InstructionKind::kHost:
      case InstructionKind::kEnterFrame:
      case InstructionKind::kSynchronize: ++made_.calls; break;
      case InstructionKind::kLeaveFrame:
      case InstructionKind::kMark: break;
    }
    const bool runs_function = instruction.kind != InstructionKind::kLeaveFrame &&
                               instruction.kind != InstructionKind::kAwait &&
                               instruction.kind != InstructionKind::kMark;
    if (runs_function) {
      added.function = TableRow(instruction.function);
      added.only_waits = made_.functions[added.function].wait != WaitKind::kNone;
    }
    made_.instructions.push_back(added);
  }

  uint32_t TableRow(uint32_t catalog_function) {
    EROICA_CHECK(catalog_function < catalog_.functions().size());
    uint32_t& row = made_.catalog_to_table[catalog_function];
    if (row != StageProgram::kNowhere) return row;
    FunctionDef function = catalog_.functions()[catalog_function];
    if (function.parent != kNoParent) function.parent = TableRow(function.parent);
    made_.functions.push_back(std::move(function));
    return row = static_cast<uint32_t>(made_.functions.size() - 1);
  }

  uint8_t StreamOf(GroupKind kind, int8_t peer_stages, bool sends) {
    for (size_t i = 0; i < made_.streams.size(); ++i) {
      const ProgramStream& stream = made_.streams[i];
      if (stream.kind == kind && stream.peer_stages == peer_stages && stream.sends == sends)
        return static_cast<uint8_t>(i);
    }
    auto communicator = std::find(made_.communicators.begin(), made_.communicators.end(), kind);
    if (communicator == made_.communicators.end())
      communicator = made_.communicators.insert(communicator, kind);
    made_.streams.push_back(
        {.kind = kind,
         .peer_stages = peer_stages,
         .sends = sends,
         .lane = static_cast<uint8_t>(made_.lanes.size()),
         .communicator = static_cast<uint8_t>(communicator - made_.communicators.begin())});
    const std::string_view way = peer_stages == 0 ? ""
                                 : sends
                                     ? (peer_stages > 0 ? " send next" : " send previous")
                                     : (peer_stages > 0 ? " receive next" : " receive previous");
    made_.lanes.push_back(
        {.name = fmt::format("nccl {}{}", ToString(kind), way), .kind = LaneKind::kDeviceStream});
    return static_cast<uint8_t>(made_.streams.size() - 1);
  }

  uint8_t SeriesOf(uint8_t stream, CollectiveOperation operation) {
    for (size_t i = 0; i < made_.series.size(); ++i) {
      if (made_.series[i].stream == stream && made_.series[i].operation == operation)
        return static_cast<uint8_t>(i);
    }
    made_.series.push_back({.stream = stream, .operation = operation});
    return static_cast<uint8_t>(made_.series.size() - 1);
  }

  const FunctionCatalog& catalog_;
  const ParallelLayout& layout_;
  StageProgram made_;
};

}  // namespace

uint32_t StageProgram::FindOrAdd(uint32_t catalog_function, const FunctionCatalog& catalog,
                                 std::vector<uint32_t>& extra) const {
  if (catalog_to_table[catalog_function] != kNowhere) return catalog_to_table[catalog_function];
  const auto found = std::find(extra.begin(), extra.end(), catalog_function);
  if (found != extra.end())
    return static_cast<uint32_t>(functions.size() + static_cast<size_t>(found - extra.begin()));
  const uint32_t parent = catalog.functions()[catalog_function].parent;
  if (parent != kNoParent) FindOrAdd(parent, catalog, extra);
  extra.push_back(catalog_function);
  return static_cast<uint32_t>(functions.size() + extra.size() - 1);
}

StageProgram MakeStageProgram(const RankProgram& program, const FunctionCatalog& catalog,
                              const ParallelLayout& layout, bool launches) {
  return StageProgramMaker(catalog, layout).Make(program, launches);
}

}  // namespace eroica::simulate
