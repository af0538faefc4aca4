// What the training thread of a rank does in one step, instruction by instruction: the program that
// the simulation runs. All ranks of one pipeline stage share it. Built by program_builder.h from
// the layout and the workload; run by job_simulation.h.
//
// Point to point: the n-th send of a rank to another and the n-th receive there are one transfer;
// it moves when both have joined and ends for both. Sends to a rank keep their order, receives from
// a rank keep theirs, and nothing else orders them: each peer and direction is a stream of its own.
// (Framework: isend and irecv of one batch. If a send could hold up a receive, a pipeline that
// sends forward and backward at once would stand still.) Programs of all stages end under these
// rules.
#pragma once

#include <cstdint>
#include <vector>

#include "schemas/event_batch.h"
#include "tests/evaluation/simulate/parallel_layout.h"
#include "tests/evaluation/simulate/step_effects.h"

namespace eroica::simulate {

enum class InstructionKind : uint8_t {
  kEnterFrame,  // a Python frame begins on the training thread ...
  kLeaveFrame,  // ... and the innermost ends: an interval of the training thread
  kHost,        // the training thread runs `function` for duration_ns
  kKernel,      // launches a kernel: it runs after everything launched before on the compute stream
  // launches a collective on the group's stream: it joins when what was launched on the compute
  // stream before has ended; does not block
  kCollective,
  kSend,  // point to point, likewise; peer: `peer_stages` on
  kReceive,
  kAwait,  // the compute stream waits for the collective or receive with this ticket; the thread
           // goes on
  // the training thread waits, inside `function`, until the compute stream and all tickets are done
  kSynchronize,
  kMark,
};

struct Instruction {
  static constexpr uint32_t kNoMicroBatch = 0xFFFFFFFF;

  InstructionKind kind = InstructionKind::kHost;
  Phase phase = Phase::kForward;
  KernelKind kernel = KernelKind::kMatrix;
  GroupKind group = GroupKind::kWorld;
  CollectiveOperation operation = CollectiveOperation::kUnknown;
  MarkKind mark = MarkKind::kStepBegin;
  uint32_t function = 0;  // of the function catalog; kLeaveFrame: that of its kEnterFrame
  // of this step's collectives, receives and sends; unique in the program; one that `every` leaves
  // out counts as done
  uint32_t ticket = 0;
  // kSend, kReceive: +1 the next pipeline stage, -1 the one before, around the ends where schedules
  // interleave
  int32_t peer_stages = 0;
  uint32_t every = 0;                    // > 0: only in the last step of each `every` steps
  uint32_t micro_batch = kNoMicroBatch;  // whose length it grows with
  int64_t duration_ns = 0;  // kKernel: on the device at full speed; kHost: on the thread
  // collectives: of the whole buffer, that is the output of an all-gather and the input of a
  // reduce-scatter; kCopy kernels: copied
  uint64_t bytes = 0;
  float level = 0;  // kKernel: share of the SMs in use while it runs
};

struct RankProgram {
  std::vector<Instruction> instructions;
  uint32_t tickets = 0;
};

}  // namespace eroica::simulate
