#include "tests/evaluation/simulate/program_writer.h"

#include <utility>

#include "schemas/check.h"

namespace eroica::simulate {
namespace {

// As NCCL names its kernels: operation, reduction, type, algorithm, protocol. Activations are bf16,
// gradients f32; what is small goes by tree.
std::string_view KernelName(GroupKind group, CollectiveOperation operation, uint64_t bytes) {
  constexpr uint64_t kSmall = uint64_t{1} << 20;
  const bool gradients =
      group == GroupKind::kData || group == GroupKind::kEmbedding || group == GroupKind::kWorld;
  switch (operation) {
    case CollectiveOperation::kAllReduce:
    case CollectiveOperation::kBarrier:
      if (bytes < kSmall)
        return "ncclDevKernel_AllReduce_Sum_f32_TREE_LL(ncclDevKernelArgsStorage<4096ul>)";
      return gradients
                 ? "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
                 : "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
    case CollectiveOperation::kAllGather:
      return "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
    case CollectiveOperation::kReduceScatter:
      return gradients
                 ? "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
                 : "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
    default:
      // both all-to-all and point to point
      return "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";
  }
}

}  // namespace

Instruction& ProgramWriter::Append(InstructionKind kind) {
  Instruction& instruction = program_.instructions.emplace_back();
  instruction.kind = kind;
  instruction.phase = phase_;
  instruction.every = every_;
  instruction.micro_batch = micro_batch_;
  return instruction;
}

void ProgramWriter::Enter(std::string_view frame) {
  open_.push_back({.callers = stack_.size()});
  if (!stack_.empty()) stack_ += kStackSeparator;
  stack_ += frame;
  open_.back().function = catalog_.AddStack(stack_);
  Append(InstructionKind::kEnterFrame).function = open_.back().function;
}

void ProgramWriter::Leave() {
  EROICA_CHECK(!open_.empty());
  Append(InstructionKind::kLeaveFrame).function = open_.back().function;
  stack_.resize(open_.back().callers);
  open_.pop_back();
}

void ProgramWriter::Work(std::string_view frame, int64_t duration_ns) {
  if (duration_ns <= 0) return;
  Instruction& instruction = Append(InstructionKind::kHost);
  instruction.function = catalog_.Add(stack_, frame, FunctionClass::kPython);
  instruction.duration_ns = duration_ns;
}

void ProgramWriter::Mark(MarkKind mark) { Append(InstructionKind::kMark).mark = mark; }

void ProgramWriter::Launch(const Kernel& kernel) {
  Instruction& instruction = Append(InstructionKind::kKernel);
  instruction.kernel = kernel.kind;
  instruction.function = kernel.function;
  instruction.duration_ns = kernel.duration_ns;
  instruction.level = kernel.level;
  instruction.bytes = kernel.bytes;
}

uint32_t ProgramWriter::Collective(GroupKind group, CollectiveOperation operation, uint64_t bytes) {
  if (GroupSize(layout_, group) == 1) return kNoTicket;
  Instruction& instruction = Append(InstructionKind::kCollective);
  instruction.group = group;
  instruction.operation = operation;
  instruction.bytes = bytes;
  instruction.function =
      catalog_.Add("", KernelName(group, operation, bytes), FunctionClass::kCollective);
  instruction.ticket = program_.tickets++;
  return instruction.ticket;
}

uint32_t ProgramWriter::AppendPointToPoint(InstructionKind kind, int32_t peer_stages,
                                           uint64_t bytes) {
  Instruction& instruction = Append(kind);
  instruction.group = GroupKind::kPipeline;
  instruction.operation =
      kind == InstructionKind::kSend ? CollectiveOperation::kSend : CollectiveOperation::kRecv;
  instruction.peer_stages = peer_stages;
  instruction.bytes = bytes;
  instruction.function =
      catalog_.Add("", KernelName(GroupKind::kPipeline, instruction.operation, bytes),
                   FunctionClass::kCollective);
  instruction.ticket = program_.tickets++;
  return instruction.ticket;
}

void ProgramWriter::Send(int32_t peer_stages, uint64_t bytes) {
  AppendPointToPoint(InstructionKind::kSend, peer_stages, bytes);
}

uint32_t ProgramWriter::Receive(int32_t peer_stages, uint64_t bytes) {
  return AppendPointToPoint(InstructionKind::kReceive, peer_stages, bytes);
}

void ProgramWriter::Await(uint32_t ticket) {
  if (ticket != kNoTicket) Append(InstructionKind::kAwait).ticket = ticket;
}

// The importer takes these calls for waits for peers: what the device waits for are mostly
// collectives.
void ProgramWriter::Synchronize(std::string_view call) {
  Append(InstructionKind::kSynchronize).function =
      catalog_.Add("", call, FunctionClass::kCpuOp, WaitKind::kPeer);
}

RankProgram ProgramWriter::Finish() {
  EROICA_CHECK(open_.empty());
  return std::move(program_);
}

}  // namespace eroica::simulate
