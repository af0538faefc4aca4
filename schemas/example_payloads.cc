#include "schemas/example_payloads.h"

namespace eroica {
namespace {

Window ExampleWindow() {
  return {.kind = WindowKind::kSteps,
          .index = 7,
          .start_ns = 1'700'000'000'000'000'000,
          .end_ns = 1'700'000'010'000'000'000,
          .first_step = 70,
          .last_step = 79};
}

Communicator ExampleCommunicator() {
  return {.id = CommId(0xfeed'beef'0000'0001),
          .name = "dp",
          .description = "data parallel",
          .size = 4,
          .ranks = {0, 2, 4, 6}};
}

FunctionPattern ExamplePattern(uint64_t hash) {
  FunctionPattern pattern{.function = FunctionId(hash),
                          .name = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
                          .stack = "train.py:main > train.py:step",
                          .function_class = FunctionClass::kCollective,
                          .wait = WaitKind::kPeer,
                          .resource = Resource::kNvlink,
                          .resource_samples = 1'000,
                          .beta = 0.25,
                          .mu = 0.8,
                          .sigma = 0.1,
                          .count = 640,
                          .total_ns = 3'000'000'000,
                          .critical_ns = 2'500'000'000,
                          .duration_mean_ns = 4'687'500.5,
                          .duration_m2 = 1e15,
                          .duration_min_ns = 1'000'000,
                          .duration_max_ns = 90'000'000,
                          .bytes = uint64_t{1} << 40,
                          .active_steps = 10,
                          .histogram = {}};
  for (uint64_t ns = 1'000'000; ns < 90'000'000; ns *= 2)
    pattern.histogram.Add(ns, static_cast<uint32_t>(ns % 97 + 1));
  return pattern;
}

std::vector<InFlightCollective> ExampleInFlight() {
  return {{.communicator = 0,
           .operation = CollectiveOperation::kAllReduce,
           .started = true,
           .peer = -1,
           .sequence = 42,
           .bytes = 1 << 26,
           .launched_ns = 1'700'000'000'000'000'123},
          {.communicator = 0,
           .operation = CollectiveOperation::kRecv,
           .started = false,
           .peer = 5,
           .sequence = 9,
           .bytes = 1,
           .launched_ns = 2}};
}

std::vector<OperationCount> ExampleOperations() {
  return {{.communicator = 0,
           .operation = CollectiveOperation::kUnknown,
           .peer = -1,
           .launched = 43,
           .completed = 42},
          {.communicator = 0,
           .operation = CollectiveOperation::kRecv,
           .peer = 5,
           .launched = 10,
           .completed = 9}};
}

std::vector<FunctionDef> ExampleFunctions() {
  return {{.name = "train.py:main",
           .function_class = FunctionClass::kPython,
           .wait = WaitKind::kNone,
           .parent = kNoParent},
          {.name = "queue.py:get",
           .function_class = FunctionClass::kPython,
           .wait = WaitKind::kOther,
           .parent = 0},
          {.name = "gemm_bf16_128x128",
           .function_class = FunctionClass::kGpuCompute,
           .wait = WaitKind::kNone,
           .parent = kNoParent},
          {.name = "ncclAllReduce",
           .function_class = FunctionClass::kCollective,
           .wait = WaitKind::kPeer,
           .parent = kNoParent}};
}

std::vector<ProgressReport> ExampleReports(int64_t at_ns) {
  return {{.time_ns = at_ns,
           .step = 71,
           .function = 1,
           .in_flight = {},
           .operations = {},
           .timed_out = false},
          {.time_ns = at_ns + 1'000'000,
           .step = 71,
           .function = kNoParent,
           .in_flight = ExampleInFlight(),
           .operations = ExampleOperations(),
           .timed_out = true}};
}

std::vector<ConnectionSample> ExampleConnections(int64_t at_ns) {
  return {{.time_ns = at_ns,
           .peer = 5,
           .resource = Resource::kNic,
           .bytes = 1 << 26,
           .busy_ns = 1'500'000,
           .retransmits = 2},
          {.time_ns = at_ns,
           .peer = 1,
           .resource = Resource::kNvlink,
           .bytes = 1 << 28,
           .busy_ns = 1'400'000,
           .retransmits = 0}};
}

}  // namespace

EventBatch ExampleEventBatch() {
  EventBatch batch;
  batch.identity = {.job = JobId("llm-70b"),
                    .rank = RankId(3),
                    .world_size = 8,
                    .role = "stage 1",
                    .host = "node-0017",
                    .pid = 4'242,
                    .device = 3,
                    .producer = "eroica-cupti",
                    .producer_version = "0.1.0",
                    .host_only = true,
                    .window_steps = 10,
                    .window_offset = 3,
                    .started_ns = 1'700'000'000'000'000'000};
  batch.sequence = 12;
  batch.final = true;
  batch.clock = {
      .realtime_ns = 1'700'000'000'000'000'000, .monotonic_ns = 86'400'000'000'000, .device_ns = 5};
  batch.time_unit_ns = 1'000;
  batch.functions = ExampleFunctions();
  batch.lanes = {{.name = "MainThread", .kind = LaneKind::kTrainingThread},
                 {.name = "stream 7", .kind = LaneKind::kDeviceStream}};
  batch.communicators = {{.id = CommId(0xfeed'beef'0000'0001),
                          .name = "dp",
                          .description = "data parallel",
                          .size = 4,
                          .ranks = {1, 3, 5, 7}}};
  const int64_t base = 1'700'000'000'000'000'000;
  batch.intervals.push_back(base, 10'000'000, 0, 0);
  batch.intervals.push_back(base, 2'000'000, 1, 0);
  batch.intervals.push_back(base + 2'500'000, 0, 2, 1);
  batch.intervals.push_back(base + 3'000'000, 7'123'000, 3, 1);
  batch.collectives = {{.interval = 3,
                        .communicator = 0,
                        .operation = CollectiveOperation::kAllReduce,
                        .peer = -1,
                        .sequence = 41,
                        .bytes = 1 << 26},
                       {.interval = 3,
                        .communicator = 0,
                        .operation = CollectiveOperation::kSend,
                        .peer = 5,
                        .sequence = 9,
                        .bytes = 4'096}};
  batch.samples = {{.time_ns = base + 1'000, .resource = Resource::kGpuSm, .value = 1},
                   {.time_ns = base + 1'000'000, .resource = Resource::kCpu, .value = 0.2f}};
  batch.samples[1].value = 13'107.0f / 65'535;  // a step of the wire's scale
  batch.marks = {{.time_ns = base - 5'000, .kind = MarkKind::kStepBegin, .id = 70},
                 {.time_ns = base + 10'500'000, .kind = MarkKind::kStepEnd, .id = 70}};
  batch.progress = ExampleReports(base + 9'000'000);
  batch.connections = ExampleConnections(base + 9'000'000);
  batch.losses = {{.kind = EventKind::kSample, .reason = DropReason::kRingFull, .count = 17}};
  return batch;
}

PatternBatch ExamplePatternBatch() {
  PatternBatch batch;
  batch.job = JobId("llm-70b");
  batch.rank = RankId(3);
  batch.world_size = 8;
  batch.role = "stage 1";
  batch.host = "node-0017";
  batch.device = 3;
  batch.pid = 4'242;
  batch.window = ExampleWindow();
  batch.watermark_ns = 1'700'000'011'000'000'000;
  batch.final = true;
  batch.silent = true;
  batch.host_only = true;
  batch.completeness = {.events = 80'000, .late = 1, .lost = 2, .sampled = 3, .outside = 4};
  batch.steps = {{.id = 70,
                  .duration_ns = 1'000'000'000,
                  .peer_wait_ns = 12'000'000,
                  .stage_ns = {100, 300'000'000, 699'999'900, 0}},
                 {.id = 71, .duration_ns = 1'001'000'000, .peer_wait_ns = 0}};
  batch.patterns = {ExamplePattern(17), ExamplePattern(0xffff'ffff'ffff'fff0)};
  batch.folded_critical_ns = {1, 2, 3, 4, 5};
  batch.folded_functions = 99;
  batch.communicators = {CommId(5), CommId(0xfeed'beef'0000'0001)};
  batch.connections = {{.peer = 1,
                        .resource = Resource::kNvlink,
                        .bytes = uint64_t{1} << 33,
                        .busy_ns = 50'000'000,
                        .retransmits = 0},
                       {.peer = 5,
                        .resource = Resource::kNic,
                        .bytes = 1 << 30,
                        .busy_ns = 60'000'000,
                        .retransmits = 7}};
  batch.levels = {{.resource = Resource::kCpu, .mean = 0.25, .max = 1, .samples = 500},
                  {.resource = Resource::kCpuWait, .mean = 0.125, .max = 0.5, .samples = 1}};
  batch.suspended = {{.gap = {CaptureKind::kDeviceWork, 0}, .suspended_ns = 17},
                     {.gap = {CaptureKind::kCollectives, 0x8002}, .suspended_ns = 12'000'000}};
  return batch;
}

CollectiveBatch ExampleCollectiveBatch() {
  CollectiveBatch batch;
  batch.job = JobId("llm-70b");
  batch.rank = RankId(2);
  batch.world_size = 8;
  batch.communicator = ExampleCommunicator();
  batch.window = ExampleWindow();
  batch.final = true;
  batch.predecessors = {{.function = FunctionId(17),
                         .name = "queue.py:get",
                         .stack = "train.py:main > data.py:next"}};
  batch.records = {{.operation = CollectiveOperation::kAllReduce,
                    .sequence = 1'000'000,
                    .peer = -1,
                    .step = 70,
                    .duration_ns = 3'000'000,
                    .exposed_ns = 1'000'000,
                    .gap_ns = 40'000,
                    .bytes = 1 << 26,
                    .before = 1,
                    .before_ns = 39'000},
                   {.operation = CollectiveOperation::kSend,
                    .sequence = 12,
                    .peer = 4,
                    .step = -1,
                    .duration_ns = 5,
                    .exposed_ns = 0,
                    .gap_ns = 0,
                    .bytes = uint64_t{1} << 60,
                    .before = 0,
                    .before_ns = 0}};
  return batch;
}

CollectiveSummary ExampleCollectiveSummary() {
  CollectiveSummary summary;
  summary.job = JobId("llm-70b");
  summary.communicator = CommId(0xfeed'beef'0000'0001);
  summary.communicator_name = "dp";
  summary.communicator_description = "data parallel";
  summary.world_size = 8;
  summary.window = ExampleWindow();
  summary.members = {
      {.rank = RankId(0),
       .count = 640,
       .wait_ns = 2'000'000'000,
       .exposed_wait_ns = 1'500'000'000,
       .last_count = 600,
       .lateness_ns = 5'000'000,
       .caused_wait_ns = 4'000'000'000,
       .late_steps = {70, 71, 79},
       .blockers = {{.function = FunctionId(17),
                     .name = "queue.py:get",
                     .stack = "train.py:main",
                     .count = 590,
                     .caused_wait_ns = 3'900'000'000,
                     .run_ns = 4'100'000'000}},
       .incomplete = 1},
      {.rank = RankId(2), .count = 640, .wait_ns = 7, .late_steps = {}, .blockers = {}}};
  summary.pairs = {{.source = RankId(0),
                    .destination = RankId(2),
                    .count = 64,
                    .receive_wait_ns = 11,
                    .send_wait_ns = 12,
                    .unmatched = 13}};
  summary.operations = 640;
  summary.incomplete = 1;
  summary.transfer_ns = 123'456'789;
  summary.bytes = uint64_t{1} << 41;
  summary.missing = {RankId(4), RankId(6)};
  summary.steps = 10;
  return summary;
}

Finding ExampleFinding() {
  Finding finding;
  finding.job = JobId("llm-70b");
  finding.kind = FindingKind::kImbalance;
  finding.subkind = "data";
  finding.severity = Severity::kMajor;
  finding.state = FindingState::kUpdated;
  finding.confidence = 0.875;
  finding.first_window = 7;
  finding.last_window = 9;
  finding.first_step = 70;
  finding.last_step = 99;
  finding.culprits = {{.rank = 0, .host = "node-0017", .device = 3, .peer = 2}};
  finding.victims = {{.rank = RankId(2), .lost_ns = 4'000'000'000, .lost_ns_per_step = 1.5e8},
                     {.rank = RankId(4), .lost_ns = 1, .lost_ns_per_step = 0.1}};
  finding.function = "queue.py:get";
  finding.stack = "train.py:main > data.py:next";
  finding.function_class = FunctionClass::kPython;
  finding.evidence = {{.name = "beta",
                       .unit = "ratio",
                       .culprit = 0.4,
                       .peers = 0.01,
                       .threshold = 0.05,
                       .samples = 7}};
  finding.chain = {{.rank = 0, .description = "waits for data", .lost_ns = 4'000'000'000},
                   {.rank = -1, .description = "", .lost_ns = 0}};
  finding.lost_gpu_seconds_per_hour = 1'234.5;
  finding.lost_ns_per_step = 1.5e8;
  finding.title = "Rank 0 waits 150 ms a step for data";
  finding.explanation = "Its peers wait 2 ms.";
  finding.suggested_action = "Look at the data loader of node-0017.";
  finding.caveats = {"8 % of the events were lost", ""};
  finding.operator_name = "differential";
  finding.operator_version = "1";
  finding.replay_id = "replay-5";
  finding.events = 1'000'000;
  finding.events_lost = 80'000;
  finding.ranks_seen = 7;
  finding.world_size = 8;
  finding.emitted_at_ns = 1'700'000'012'000'000'000;
  finding.first_seen_ns = 1'699'999'980'000'000'000;
  finding.last_seen_ns = 1'700'000'010'250'000'000;
  finding.id = FindingId(finding);
  return finding;
}

Control ExampleControl() {
  return {.job = JobId("llm-70b"),
          .capture_level = CaptureLevel::kEvents,
          .first_step = 100,
          .last_step = 110,
          .requester = "operator@example.org",
          .expires_at_ns = 1'700'000'600'000'000'000};
}

RankStanding ExampleRankStanding() {
  RankStanding standing;
  standing.job = JobId("llm-70b");
  standing.rank = RankId(3);
  standing.world_size = 8;
  standing.host = "node-0017";
  standing.device = 3;
  standing.pid = 4'242;
  standing.time_ns = 1'700'000'030'000'000'000;
  standing.last_progress_ns = 1'700'000'010'000'000'000;
  standing.timed_out = true;
  standing.pause = Pause::kCheckpoint;
  standing.window_kind = WindowKind::kSteps;
  standing.window_index = 7;
  standing.step = 72;
  standing.last_step = 71;
  standing.step_mean_ns = 1'000'500'000;
  standing.function = "queue.py:get";
  standing.stack = "train.py:main > data.py:next";
  standing.function_class = FunctionClass::kCpuOp;
  standing.communicators = {ExampleCommunicator()};
  standing.in_flight = ExampleInFlight();
  standing.operations = ExampleOperations();
  standing.connections = {{.time_ns = 1'700'000'030'000'000'000,
                           .peer = 5,
                           .resource = Resource::kNic,
                           .bytes = 0,
                           .busy_ns = 1'000'000'000,
                           .retransmits = 9}};
  return standing;
}

}  // namespace eroica
