// A job of hand-made programs and effects for tests of the engine. Jitter and clock errors are off,
// so that times are exact.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "producers/core/batch_sink.h"
#include "tests/evaluation/simulate/effect_source.h"
#include "tests/evaluation/simulate/function_catalog.h"
#include "tests/evaluation/simulate/host_clock.h"
#include "tests/evaluation/simulate/job_simulation.h"
#include "tests/evaluation/simulate/rank_program.h"
#include "tests/evaluation/simulate/simulated_job.h"

namespace eroica::simulate {

struct ScriptedEffects : EffectSource {
  std::function<void(uint32_t rank, uint32_t step, StepEffects& effects)> script;
  std::vector<PathEffect> slow_paths;

  void EffectsOn(uint32_t rank, uint32_t step, StepEffects& effects) const override {
    effects = {};
    if (script) script(rank, step, effects);
  }
  void PathsIn(uint32_t, std::vector<PathEffect>& paths) const override { paths = slow_paths; }
};

// Writes one stage's program, instruction by instruction. Every member answers with the program
// itself.
class HandmadeProgram {
 public:
  explicit HandmadeProgram(FunctionCatalog& catalog) : catalog_(catalog) {}

  HandmadeProgram& In(Phase phase);
  HandmadeProgram& Host(std::string_view frames, int64_t duration_ns,
                        WaitKind wait = WaitKind::kNone);
  HandmadeProgram& Kernel(std::string_view name, int64_t duration_ns, double level = 0.5);
  HandmadeProgram& AllReduce(GroupKind group, uint64_t bytes, uint32_t ticket);
  HandmadeProgram& AllGather(GroupKind group, uint64_t bytes, uint32_t ticket);
  HandmadeProgram& Send(int32_t peer_stages, uint64_t bytes, uint32_t ticket);
  HandmadeProgram& Receive(int32_t peer_stages, uint64_t bytes, uint32_t ticket);
  HandmadeProgram& Await(uint32_t ticket);
  HandmadeProgram& Synchronize();
  HandmadeProgram& Enter(std::string_view frames);
  HandmadeProgram& Leave();
  HandmadeProgram& Mark(MarkKind kind);
  HandmadeProgram& Every(uint32_t steps);  // of the instruction before

  const RankProgram& program() const { return program_; }

 private:
  HandmadeProgram& Communicate(InstructionKind kind, GroupKind group, CollectiveOperation operation,
                               uint64_t bytes, uint32_t ticket);
  HandmadeProgram& Append(Instruction instruction);

  FunctionCatalog& catalog_;
  Phase phase_ = Phase::kForward;
  RankProgram program_;
};

// What came out. Every batch has kept its invariants and come back equal from the codec.
struct EngineRun {
  SimulationReport report;
  std::vector<EventBatch> batches;
  std::vector<uint32_t> progress_steps;

  struct Interval {
    int64_t start_ns = 0;  // since the beginning of the job, by the host's clock
    int64_t end_ns = 0;
    std::string function;
    std::string lane;
    friend bool operator==(const Interval&, const Interval&) = default;
    friend void PrintTo(const Interval& interval, std::ostream* out) {
      *out << interval.function << " [" << interval.start_ns << ", " << interval.end_ns << ") on "
           << interval.lane;
    }
  };
  // Of a rank, over all batches, in their order. function: part of the name.
  std::vector<Interval> Of(uint32_t rank, std::string_view function = "") const;
  std::vector<const EventBatch*> BatchesOf(uint32_t rank) const;
};

struct EngineHarness {
  EngineHarness();
  // One step of data-parallel training on every rank: a kernel of 1 ms, an all-reduce of the data
  // group, its end.
  RankProgram DataParallelStep();
  // EXPECTs that the run succeeds.
  EngineRun Run();
  absl::StatusOr<SimulationReport> RunInto(BatchSink& sink,
                                           const SimulationProgress& progress = nullptr);

  SimulatedJob job;
  FunctionCatalog catalog;
  std::vector<RankProgram> programs;
  ScriptedEffects effects;
  uint64_t shuffle = 0;  // > 0: the order in which ranks take turns
};

}  // namespace eroica::simulate
