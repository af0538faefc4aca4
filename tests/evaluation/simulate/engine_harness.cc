#include "tests/evaluation/simulate/engine_harness.h"

#include <gtest/gtest.h>

#include "schemas/codec.h"
#include "schemas/invariants.h"
#include "schemas/test_encoder.h"
#include "tests/evaluation/simulate/job_engine.h"
#include "tests/evaluation/simulate/parallel_layout.h"

namespace eroica::simulate {
namespace {

class CheckingSink : public BatchSink {
 public:
  explicit CheckingSink(std::vector<EventBatch>& batches) : batches_(batches) {}

  absl::Status Write(const EventBatch& batch) override {
    EXPECT_EQ(CheckInvariants(batch), DropReason::kNone);
    EventBatch decoded;
    EXPECT_EQ(decoder_.Decode(encoder_.Encode(batch), &decoded), DropReason::kNone);
    EXPECT_EQ(decoded.intervals, batch.intervals);
    EXPECT_EQ(decoded.collectives, batch.collectives);
    EXPECT_EQ(decoded.marks, batch.marks);
    EXPECT_EQ(decoded.functions, batch.functions);
    EXPECT_EQ(decoded.communicators, batch.communicators);
    EXPECT_EQ(decoded.losses, batch.losses);
    EXPECT_EQ(decoded.progress, batch.progress);
    EXPECT_EQ(decoded.samples.size(), batch.samples.size());
    batches_.push_back(batch);
    return absl::OkStatus();
  }

 private:
  TestEncoder encoder_;
  Decoder decoder_;
  std::vector<EventBatch>& batches_;
};

}  // namespace

HandmadeProgram& HandmadeProgram::In(Phase phase) {
  phase_ = phase;
  return *this;
}

HandmadeProgram& HandmadeProgram::Append(Instruction instruction) {
  instruction.phase = phase_;
  program_.instructions.push_back(instruction);
  return *this;
}

HandmadeProgram& HandmadeProgram::Host(std::string_view frames, int64_t duration_ns,
                                       WaitKind wait) {
  return Append({.kind = InstructionKind::kHost,
                 .function = catalog_.AddStack(frames, wait),
                 .duration_ns = duration_ns});
}

HandmadeProgram& HandmadeProgram::Kernel(std::string_view name, int64_t duration_ns, double level) {
  return Append({.kind = InstructionKind::kKernel,
                 .function = catalog_.Add("", name, FunctionClass::kGpuCompute),
                 .duration_ns = duration_ns,
                 .level = static_cast<float>(level)});
}

HandmadeProgram& HandmadeProgram::Communicate(InstructionKind kind, GroupKind group,
                                              CollectiveOperation operation, uint64_t bytes,
                                              uint32_t ticket) {
  program_.tickets = std::max(program_.tickets, ticket + 1);
  const std::string name = "nccl " + std::string(ToString(operation));
  return Append({.kind = kind,
                 .group = group,
                 .operation = operation,
                 .function = catalog_.Add("", name, FunctionClass::kCollective),
                 .ticket = ticket,
                 .bytes = bytes});
}

HandmadeProgram& HandmadeProgram::AllReduce(GroupKind group, uint64_t bytes, uint32_t ticket) {
  return Communicate(InstructionKind::kCollective, group, CollectiveOperation::kAllReduce, bytes,
                     ticket);
}

HandmadeProgram& HandmadeProgram::AllGather(GroupKind group, uint64_t bytes, uint32_t ticket) {
  return Communicate(InstructionKind::kCollective, group, CollectiveOperation::kAllGather, bytes,
                     ticket);
}

HandmadeProgram& HandmadeProgram::Send(int32_t peer_stages, uint64_t bytes, uint32_t ticket) {
  Communicate(InstructionKind::kSend, GroupKind::kPipeline, CollectiveOperation::kSend, bytes,
              ticket);
  program_.instructions.back().peer_stages = peer_stages;
  return *this;
}

HandmadeProgram& HandmadeProgram::Receive(int32_t peer_stages, uint64_t bytes, uint32_t ticket) {
  Communicate(InstructionKind::kReceive, GroupKind::kPipeline, CollectiveOperation::kRecv, bytes,
              ticket);
  program_.instructions.back().peer_stages = peer_stages;
  return *this;
}

HandmadeProgram& HandmadeProgram::Await(uint32_t ticket) {
  return Append({.kind = InstructionKind::kAwait, .ticket = ticket});
}

HandmadeProgram& HandmadeProgram::Synchronize() {
  return Append({.kind = InstructionKind::kSynchronize,
                 .function = catalog_.Add("", "cudaDeviceSynchronize", FunctionClass::kCpuOp,
                                          WaitKind::kPeer)});
}

HandmadeProgram& HandmadeProgram::Enter(std::string_view frames) {
  return Append({.kind = InstructionKind::kEnterFrame, .function = catalog_.AddStack(frames)});
}

HandmadeProgram& HandmadeProgram::Leave() { return Append({.kind = InstructionKind::kLeaveFrame}); }

HandmadeProgram& HandmadeProgram::Mark(MarkKind kind) {
  return Append({.kind = InstructionKind::kMark, .mark = kind});
}

HandmadeProgram& HandmadeProgram::Every(uint32_t steps) {
  program_.instructions.back().every = steps;
  return *this;
}

std::vector<EngineRun::Interval> EngineRun::Of(uint32_t rank, std::string_view function) const {
  std::vector<Interval> found;
  for (const EventBatch& batch : batches) {
    if (batch.identity.rank.value != rank) continue;
    const IntervalColumns& rows = batch.intervals;
    for (size_t i = 0; i < rows.size(); ++i) {
      const std::string& name = batch.functions[rows.function[i]].name;
      if (name.find(function) == std::string::npos) continue;
      const int64_t start_ns = rows.start_ns[i] - HostClock::kEpochNs;
      found.push_back(
          {start_ns, start_ns + rows.duration_ns[i], name, batch.lanes[rows.lane[i]].name});
    }
  }
  return found;
}

std::vector<const EventBatch*> EngineRun::BatchesOf(uint32_t rank) const {
  std::vector<const EventBatch*> found;
  for (const EventBatch& batch : batches) {
    if (batch.identity.rank.value == rank) found.push_back(&batch);
  }
  return found;
}

EngineHarness::EngineHarness() {
  job.workload.jitter = {.kernel = 0, .host = 0, .transfer = 0};
  job.workload.launch_ns = 1'000;
  job.telemetry.clock_offset_ns = 0;
  job.telemetry.clock_drift_ppm = 0;
  job.telemetry.sample_period_ns = 0;
  job.steps = 1;
}

RankProgram EngineHarness::DataParallelStep() {
  HandmadeProgram writer(catalog);
  writer.Mark(MarkKind::kStepBegin)
      .In(Phase::kForward)
      .Kernel("matmul", 1'000'000)
      .In(Phase::kGradients)
      .AllReduce(GroupKind::kData, 1 << 20, 0);
  writer.In(Phase::kStepEnd).Synchronize().Mark(MarkKind::kStepEnd);
  return writer.program();
}

absl::StatusOr<SimulationReport> EngineHarness::RunInto(BatchSink& sink,
                                                        const SimulationProgress& progress) {
  const GroupTable groups(job.layout, job.job);
  JobEngine engine(job, groups, programs, catalog, effects, sink);
  engine.Shuffle(shuffle);
  return engine.Run(progress);
}

EngineRun EngineHarness::Run() {
  EngineRun run;
  CheckingSink sink(run.batches);
  const absl::StatusOr<SimulationReport> report = RunInto(sink, [&](uint32_t steps, int64_t) {
    run.progress_steps.push_back(steps);
    return absl::OkStatus();
  });
  EXPECT_TRUE(report.ok()) << report.status();
  if (report.ok()) run.report = *report;
  return run;
}

}  // namespace eroica::simulate
