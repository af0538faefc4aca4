// Writes the program of one pipeline stage, instruction by instruction: keeps the Python stack, the
// phase, and the tickets. Communication in groups of one member is left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/evaluation/simulate/function_catalog.h"
#include "tests/evaluation/simulate/layer_kernels.h"
#include "tests/evaluation/simulate/parallel_layout.h"
#include "tests/evaluation/simulate/rank_program.h"

namespace eroica::simulate {

class ProgramWriter {
 public:
  static constexpr uint32_t kNoTicket = 0xFFFFFFFF;

  // Both outlive the writer.
  ProgramWriter(const ParallelLayout& layout, FunctionCatalog& catalog)
      : layout_(layout), catalog_(catalog) {}

  // Of what follows.
  void SetPhase(Phase phase) { phase_ = phase; }
  void SetEvery(uint32_t every) { every_ = every; }
  void SetMicroBatch(uint32_t micro_batch) { micro_batch_ = micro_batch; }

  // A Python frame, called by the innermost that is open.
  void Enter(std::string_view frame);
  void Leave();
  // A Python frame that does something itself. Left out where it takes no time.
  void Work(std::string_view frame, int64_t duration_ns);
  void Mark(MarkKind mark);

  void Launch(const Kernel& kernel);
  // The ticket, or kNoTicket where the group has one member.
  uint32_t Collective(GroupKind group, CollectiveOperation operation, uint64_t bytes);
  void Send(int32_t peer_stages, uint64_t bytes);
  uint32_t Receive(int32_t peer_stages, uint64_t bytes);
  // Nothing for kNoTicket.
  void Await(uint32_t ticket);
  // The collective, and the wait for it at once.
  void Exchange(GroupKind group, CollectiveOperation operation, uint64_t bytes) {
    Await(Collective(group, operation, bytes));
  }
  // Inside a CUDA call of that name.
  void Synchronize(std::string_view call);

  // The whole program; all frames are left.
  RankProgram Finish();

 private:
  Instruction& Append(InstructionKind kind);
  uint32_t AppendPointToPoint(InstructionKind kind, int32_t peer_stages, uint64_t bytes);

  const ParallelLayout& layout_;
  FunctionCatalog& catalog_;
  RankProgram program_;
  Phase phase_ = Phase::kData;
  uint32_t every_ = 0;
  uint32_t micro_batch_ = Instruction::kNoMicroBatch;
  std::string stack_;  // the open frames, outermost first, with separators
  struct Frame {
    uint32_t function = 0;
    size_t callers = 0;  // length of stack_ without it
  };
  std::vector<Frame> open_;
};

}  // namespace eroica::simulate
