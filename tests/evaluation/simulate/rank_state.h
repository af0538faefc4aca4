// Where one rank stands in the simulation, and what it has run and not yet reported. Times are true
// time.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schemas/event_batch.h"
#include "tests/evaluation/simulate/parallel_layout.h"
#include "tests/evaluation/simulate/rendezvous.h"
#include "tests/evaluation/simulate/step_effects.h"

namespace eroica::simulate {

// On the training thread or the compute stream. end_ns of a frame that is open: kNeverNs.
struct IntervalRow {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t function = 0;  // of the rank's table: its stage's, and extra_functions
  // of kernels, in units of 2^-16: share of the SMs in use, of copies of the bus
  uint16_t level = 0;
  KernelKind kernel = KernelKind::kMatrix;
};

// A collective that the rank has launched. It starts when it is ready and the one before it on its
// stream has ended.
struct LaunchedCollective {
  int64_t launched_ns = 0;
  int64_t ready_ns = 0;
  uint64_t sequence = 0;
  uint64_t bytes = 0;
  uint32_t slot = 0;
  uint32_t function = 0;
  uint8_t series = 0;
};

struct RankStream {
  uint32_t rendezvous = 0;
  uint32_t member = 0;    // the rank's place in it
  int32_t peer = -1;      // global rank, point to point only
  uint32_t launched = 0;  // slots that the rank has joined
  std::vector<LaunchedCollective> rows;
};

struct RankTicket {
  static constexpr uint32_t kNotLaunched = 0xFFFFFFFF;
  uint32_t rendezvous = kNotLaunched;
  uint32_t slot = 0;
};

enum class RankCondition : uint8_t {
  kRunning,
  kResting,  // until parked_slot of parked_rendezvous ends
  kStepDone,
  kHangs,  // in hang_function
  kDead,
};

struct RankState {
  uint32_t rank = 0;
  uint32_t stage = 0;
  RankCondition condition = RankCondition::kStepDone;
  bool stalled = false;     // its compute stream waits for what does not come; the thread went on
  Stop stop = Stop::kNone;  // that has begun and waits for its moment
  uint32_t counter = 0;     // of the program
  uint32_t next_phase = 0;  // instruction before which insertions or a stop of the step come
  uint32_t step = 0;
  int64_t host_ns = 0;    // how far the training thread has come ...
  int64_t device_ns = 0;  // ... and the compute stream
  uint64_t noise = 0;     // key of the step, instructions add theirs
  uint32_t parked_rendezvous = 0;
  uint32_t parked_slot = 0;
  uint32_t next_waiter = Rendezvous::kNobody;
  uint32_t hang_function = 0;

  // Of this step.
  std::array<Factor, kKernelKindCount> kernel = {};
  std::array<Factor, kGroupKindCount> bytes = {};
  int64_t launch_ns = 0;
  StepEffects effects;

  std::vector<RankTicket> tickets;
  std::vector<RankStream> streams;
  std::vector<uint64_t> counts;           // by series
  std::vector<uint32_t> open_frames;      // rows of thread
  std::vector<uint32_t> extra_functions;  // of the catalog, that are not in the stage's table

  // Not yet reported.
  std::vector<IntervalRow> thread;
  std::vector<IntervalRow> kernels;
  std::vector<Mark> marks;
  std::vector<IntervalRow> waits;  // of the thread, where samples are taken
};

}  // namespace eroica::simulate
