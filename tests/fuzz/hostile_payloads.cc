#include "tests/fuzz/hostile_payloads.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "schemas/invariants.h"

namespace eroica {
namespace {

// Limits of rows are those of the codec; the texts behind them are short, so that a run is too.
constexpr uint32_t kManyFunctions = 2'048;
constexpr uint32_t kManyRows = 8'192;
constexpr uint32_t kManyRanks = 4'096;

template <typename T>
std::string Encoded(const T& value) {
  Encoder encoder;
  Bytes bytes;
  if (encoder.TryEncode(value, &bytes) != DropReason::kNone) return "";
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <typename Rows, typename Key>
void SortBy(Rows& rows, Key key) {
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto& a, const auto& b) { return key(a) < key(b); });
}

// No later than any moment may be.
int64_t Later(int64_t time_ns, int64_t by_ns) {
  return time_ns + std::min(by_ns, CodecLimits::kMaxTimeNs - time_ns);
}

JobId Job(FuzzBytes& bytes) { return JobId{bytes.Byte() % 16 == 0 ? "other" : "job"}; }

std::string Text(FuzzBytes& bytes, const char* prefix) {
  const uint8_t byte = bytes.Byte();
  std::string text = prefix + std::to_string(byte % 16);
  if (byte == 0xff) text.append(CodecLimits::kNameBytes - text.size(), 'n');
  return text;
}

uint32_t World(FuzzBytes& bytes) {
  const uint8_t byte = bytes.Byte();
  if (byte == 0xff) return CodecLimits::kRanks;
  return byte >= 0xf0 ? 1'000 : 1 + byte % 8;
}

uint32_t Rank(FuzzBytes& bytes, uint32_t world_size) {
  const uint8_t byte = bytes.Byte();
  return byte == 0xff ? world_size - 1 : byte % world_size;
}

int32_t Peer(FuzzBytes& bytes, uint32_t world_size) {
  return bytes.Flag() ? static_cast<int32_t>(Rank(bytes, world_size)) : -1;
}

Window SomeWindow(FuzzBytes& bytes) {
  Window window{.kind = bytes.Enum<WindowKind>(kWindowKindCount), .index = bytes.Step()};
  window.start_ns = bytes.Time();
  window.end_ns = Later(window.start_ns, bytes.Time());
  window.first_step = bytes.Step();
  window.last_step = std::max(window.first_step, bytes.Step());
  return window;
}

Communicator SomeCommunicator(FuzzBytes& bytes, uint32_t world_size, uint32_t number) {
  Communicator communicator{.id = CommId{number},
                            .name = Text(bytes, "group"),
                            .description = "",
                            .size = bytes.Byte() == 0xff ? ~uint32_t{0} : 0,
                            .ranks = {}};
  const uint32_t members = std::min(bytes.Count(kManyRanks), world_size);
  const uint32_t first = Rank(bytes, world_size);
  for (uint32_t i = 0; i < members; ++i) communicator.ranks.push_back((first + i) % world_size);
  return communicator;
}

// Numbers from `first` on; each draws a few bytes only while there are some.
std::vector<Communicator> Communicators(FuzzBytes& bytes, uint32_t world_size) {
  std::vector<Communicator> communicators;
  const uint32_t count = bytes.Count(CodecLimits::kCommunicators);
  const uint32_t first = bytes.Byte() * 64u;
  for (uint32_t i = 0; i < count; ++i)
    communicators.push_back(SomeCommunicator(bytes, world_size, first + i));
  return communicators;
}

std::vector<ConnectionSample> Connections(FuzzBytes& bytes, uint32_t world_size,
                                          size_t communicators) {
  std::vector<ConnectionSample> samples;
  for (uint32_t i = bytes.Count(kManyRows); i > 0; --i) {
    samples.push_back({.time_ns = bytes.Time(),
                       .peer = Rank(bytes, world_size),
                       .resource = bytes.Enum<Resource>(kResourceCount),
                       .bytes = bytes.Number(),
                       .busy_ns = bytes.Time(),
                       .retransmits = bytes.Number(),
                       .channels = bytes.Byte(),
                       .communicator = bytes.Below(
                           static_cast<uint32_t>(std::min<size_t>(communicators, 200)) + 1)});
  }
  SortBy(samples, [](const ConnectionSample& row) { return row.time_ns; });
  return samples;
}

std::vector<InFlightCollective> InFlight(FuzzBytes& bytes, uint32_t world_size,
                                         size_t communicators) {
  std::vector<InFlightCollective> rows;
  if (communicators == 0) return rows;
  for (uint32_t i = bytes.Count(kManyRows); i > 0; --i) {
    rows.push_back({.communicator = static_cast<uint16_t>(bytes.Byte() % communicators),
                    .operation = bytes.Enum<CollectiveOperation>(kCollectiveOperationCount),
                    .started = bytes.Flag(),
                    .peer = Peer(bytes, world_size),
                    .sequence = bytes.Number(),
                    .bytes = bytes.Number(),
                    .launched_ns = bytes.Time(),
                    .side = static_cast<uint8_t>(bytes.Byte() % 3)});
  }
  SortBy(rows, [](const InFlightCollective& row) {
    return std::tuple(row.communicator, row.operation, row.peer, row.sequence);
  });
  return rows;
}

std::vector<OperationCount> Operations(FuzzBytes& bytes, uint32_t world_size,
                                       size_t communicators) {
  std::vector<OperationCount> rows;
  if (communicators == 0) return rows;
  const uint32_t count = bytes.Count(CodecLimits::kIntervals);
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t completed = bytes.Number();
    rows.push_back({.communicator = static_cast<uint16_t>(i % communicators),
                    .operation = bytes.Enum<CollectiveOperation>(kCollectiveOperationCount),
                    .peer = static_cast<int32_t>(i % world_size),
                    .launched = std::max(completed, bytes.Number()),
                    .completed = completed});
  }
  SortBy(rows, [](const OperationCount& row) {
    return std::tuple(row.communicator, row.operation, row.peer);
  });
  return rows;
}

ProducerIdentity Identity(FuzzBytes& bytes) {
  ProducerIdentity identity{.job = Job(bytes), .world_size = World(bytes)};
  identity.rank = RankId{Rank(bytes, identity.world_size)};
  identity.host = Text(bytes, "host");
  identity.pid = bytes.Byte() % 4;
  identity.device = static_cast<int32_t>(bytes.Byte() % 4) - 1;
  identity.producer = "fuzz";
  identity.host_only = bytes.Flag();
  constexpr uint32_t kSizes[] = {0, 0, 1, 1, 10, 1'000, ~uint32_t{0}};
  identity.window_steps = kSizes[bytes.Byte() % std::size(kSizes)];
  if (identity.window_steps > 1) identity.window_offset = bytes.Byte() % 2;
  identity.started_ns = bytes.Byte() % 3;
  return identity;
}

void AddFunctions(FuzzBytes& bytes, EventBatch* batch) {
  const uint32_t count = 1 + bytes.Count(kManyFunctions);
  const bool chain = bytes.Flag();
  for (uint32_t i = 0; i < count; ++i) {
    FunctionDef function{.name = Text(bytes, "function"),
                         .function_class = bytes.Enum<FunctionClass>(kFunctionClassCount),
                         .wait = bytes.Enum<WaitKind>(kWaitKindCount)};
    if (i % 8 != 0) function.name += std::to_string(i);
    if (chain && i > 0 && i % 256 != 0) function.parent = i - 1;
    batch->functions.push_back(std::move(function));
  }
}

void AddIntervals(FuzzBytes& bytes, EventBatch* batch) {
  const uint32_t count = bytes.Count(kManyRows);
  int64_t start_ns = bytes.Time();
  for (uint32_t i = 0; i < count; ++i) {
    start_ns = Later(start_ns, bytes.Time());
    const int64_t duration_ns = std::min(bytes.Time(), CodecLimits::kMaxTimeNs - start_ns);
    const uint32_t function = (i + bytes.Byte()) % static_cast<uint32_t>(batch->functions.size());
    const auto lane = static_cast<uint8_t>(bytes.Byte() % batch->lanes.size());
    batch->intervals.push_back(start_ns, duration_ns, function, lane);
    if (batch->communicators.empty() || bytes.Flag()) continue;
    batch->collectives.push_back(
        {.interval = i,
         .communicator = static_cast<uint16_t>(bytes.Byte() % batch->communicators.size()),
         .operation = bytes.Enum<CollectiveOperation>(kCollectiveOperationCount),
         .peer = Peer(bytes, batch->identity.world_size),
         .sequence = bytes.Number(),
         .bytes = bytes.Number()});
  }
}

void AddMarks(FuzzBytes& bytes, EventBatch* batch) {
  const uint32_t count = bytes.Count(CodecLimits::kIntervals);
  int64_t time_ns = bytes.Time();
  int64_t step = bytes.Step();
  for (uint32_t i = 0; i < count; ++i) {
    const auto kind = bytes.empty() ? MarkKind::kStepBegin : bytes.Enum<MarkKind>(kMarkKindCount);
    if (kind == MarkKind::kStepBegin) step = std::min(step + 1, CodecLimits::kMaxTimeNs);
    const bool of_capture =
        kind == MarkKind::kCaptureSuspended || kind == MarkKind::kCaptureResumed;
    batch->marks.push_back({time_ns, kind, of_capture ? bytes.Byte() : step});
    time_ns = Later(time_ns, std::max<int64_t>(1, bytes.Time()));
  }
}

void AddReports(FuzzBytes& bytes, EventBatch* batch) {
  for (uint32_t i = bytes.Count(64); i > 0; --i) {
    ProgressReport report{.time_ns = bytes.Time(), .step = bytes.Step()};
    if (bytes.Flag()) report.function = 0;
    report.in_flight = InFlight(bytes, batch->identity.world_size, batch->communicators.size());
    report.operations = Operations(bytes, batch->identity.world_size, batch->communicators.size());
    report.timed_out = bytes.Flag();
    report.collectives_suspended = bytes.Flag();
    report.starts_unknown = bytes.Flag();
    report.moment_unknown = bytes.Flag();
    batch->progress.push_back(std::move(report));
  }
  SortBy(batch->progress, [](const ProgressReport& report) { return report.time_ns; });
}

DurationHistogram Histogram(FuzzBytes& bytes) {
  DurationHistogram histogram;
  for (uint32_t i = bytes.Count(64); i > 0; --i)
    histogram.Add(static_cast<uint64_t>(bytes.Time()), 1 + bytes.Byte());
  return histogram;
}

FunctionPattern Pattern(FuzzBytes& bytes, uint32_t number) {
  FunctionPattern row{.function = FunctionId{number}, .name = Text(bytes, "function")};
  row.function_class = bytes.Enum<FunctionClass>(kFunctionClassCount);
  row.wait = bytes.Enum<WaitKind>(kWaitKindCount);
  row.resource = bytes.Flag() ? bytes.Enum<Resource>(kResourceCount) : Resource::kNone;
  row.resource_samples = bytes.Number();
  row.beta = bytes.Share();
  row.mu = bytes.Share();
  row.sigma = bytes.Share();
  row.count = bytes.Number();
  row.total_ns = bytes.Time();
  row.critical_ns = bytes.Time();
  row.duration_mean_ns = static_cast<double>(bytes.Time());
  row.duration_m2 = bytes.Finite();
  row.duration_min_ns = bytes.Time();
  row.duration_max_ns = bytes.Time();
  row.bytes = bytes.Number();
  row.active_steps = bytes.Byte();
  row.histogram = Histogram(bytes);
  return row;
}

void AddSteps(FuzzBytes& bytes, PatternBatch* batch) {
  const uint32_t count = bytes.Count(kManyRows);
  const int64_t first = std::min(bytes.Step(), CodecLimits::kMaxTimeNs - int64_t{count});
  for (uint32_t i = 0; i < count; ++i) {
    StepRecord step{.id = first + i, .duration_ns = bytes.Time(), .peer_wait_ns = bytes.Time()};
    if (bytes.Flag()) {
      step.stage_ns[bytes.Byte() % kStepStageCount] = step.duration_ns;
    }
    step.pause = bytes.Enum<Pause>(kPauseCount);
    batch->steps.push_back(step);
  }
}

void AddConnections(FuzzBytes& bytes, PatternBatch* batch) {
  for (uint32_t i = bytes.Count(kManyRows); i > 0; --i) {
    const bool named = bytes.Flag() && !batch->communicators.empty();
    batch->connections.push_back(
        {.peer = Rank(bytes, batch->world_size),
         .resource = bytes.Enum<Resource>(kResourceCount),
         .bytes = bytes.Number(),
         .busy_ns = bytes.Time(),
         .retransmits = bytes.Number(),
         .channels = bytes.Byte(),
         .communicator =
             named ? batch->communicators[bytes.Byte() % batch->communicators.size()] : CommId{}});
  }
  SortBy(batch->connections, [](const ConnectionPattern& row) {
    return std::tuple(row.peer, row.resource, row.communicator);
  });
}

MemberSummary Member(FuzzBytes& bytes, uint32_t rank) {
  MemberSummary member{.rank = RankId{rank}, .count = bytes.Number()};
  member.wait_ns = bytes.Time();
  member.exposed_wait_ns = bytes.Time();
  member.last_count = bytes.Number();
  member.lateness_ns = bytes.Time();
  member.caused_wait_ns = bytes.Time();
  for (uint32_t i = bytes.Count(kManyRows); i > 0; --i) member.late_steps.push_back(bytes.Step());
  std::sort(member.late_steps.begin(), member.late_steps.end());
  for (uint32_t i = bytes.Count(64); i > 0; --i) {
    member.blockers.push_back({.function = FunctionId{bytes.Byte()},
                               .name = Text(bytes, "function"),
                               .stack = Text(bytes, "stack"),
                               .count = bytes.Number(),
                               .caused_wait_ns = bytes.Time(),
                               .run_ns = bytes.Time()});
  }
  member.incomplete = bytes.Number();
  return member;
}

}  // namespace

std::string HostileEventBatch(FuzzBytes& bytes) {
  EventBatch batch;
  batch.identity = Identity(bytes);
  batch.sequence = bytes.Number();
  batch.final = bytes.Byte() % 8 == 0;
  batch.lanes = {{"main", LaneKind::kTrainingThread},
                 {"stream", LaneKind::kDeviceStream},
                 {Text(bytes, "thread"), LaneKind::kHostThread}};
  batch.communicators = Communicators(bytes, batch.identity.world_size);
  AddFunctions(bytes, &batch);
  AddIntervals(bytes, &batch);
  AddMarks(bytes, &batch);
  for (uint32_t i = bytes.Count(kManyRows); i > 0; --i)
    batch.samples.push_back(
        {bytes.Time(), bytes.Enum<Resource>(kResourceCount), static_cast<float>(bytes.Share())});
  SortBy(batch.samples, [](const ResourceSample& row) { return row.time_ns; });
  AddReports(bytes, &batch);
  batch.connections = Connections(bytes, batch.identity.world_size, batch.communicators.size());
  if (bytes.Flag())
    batch.losses.push_back({EventKind::kInterval, DropReason::kRingFull, bytes.Number()});
  return Encoded(batch);
}

std::string HostilePatternBatch(FuzzBytes& bytes) {
  PatternBatch batch{.job = Job(bytes), .rank = {}, .world_size = World(bytes)};
  batch.rank = RankId{Rank(bytes, batch.world_size)};
  batch.role = Text(bytes, "role");
  batch.host = Text(bytes, "host");
  batch.device = static_cast<int32_t>(bytes.Byte() % 4) - 1;
  batch.pid = bytes.Byte() % 4;
  batch.window = SomeWindow(bytes);
  batch.final = bytes.Byte() % 8 == 0;
  batch.silent = bytes.Byte() % 8 == 0;
  batch.host_only = bytes.Flag();
  batch.completeness = {.events = bytes.Number(), .late = bytes.Number(), .lost = bytes.Number()};
  AddSteps(bytes, &batch);
  const uint32_t patterns = bytes.Count(kManyFunctions);
  const uint32_t first = bytes.Byte();
  for (uint32_t i = 0; i < patterns; ++i) batch.patterns.push_back(Pattern(bytes, first + i));
  for (int64_t& folded : batch.folded_critical_ns) folded = bytes.Time();
  const uint32_t communicators = bytes.Count(CodecLimits::kCommunicators);
  for (uint32_t i = 0; i < communicators; ++i) batch.communicators.push_back(CommId{i});
  AddConnections(bytes, &batch);
  for (int i = 0; i < kResourceCount; ++i) {
    if (!bytes.Flag()) continue;
    batch.levels.push_back({.resource = static_cast<Resource>(i),
                            .mean = bytes.Share(),
                            .max = static_cast<float>(bytes.Share()),
                            .samples = uint64_t{1} + bytes.Byte()});
  }
  for (int i = 0; i < kCaptureKindCount; ++i) {
    if (bytes.Flag())
      batch.suspended.push_back({.gap = {static_cast<CaptureKind>(i), bytes.Byte()},
                                 .suspended_ns = std::max<int64_t>(1, bytes.Time())});
  }
  return Encoded(batch);
}

std::string HostileCollectiveBatch(FuzzBytes& bytes) {
  CollectiveBatch batch{.job = Job(bytes), .rank = {}, .world_size = World(bytes)};
  batch.rank = RankId{Rank(bytes, batch.world_size)};
  batch.communicator = SomeCommunicator(bytes, batch.world_size, bytes.Byte() % 4);
  batch.window = SomeWindow(bytes);
  batch.final = bytes.Byte() % 8 == 0;
  for (uint32_t i = bytes.Count(64); i > 0; --i)
    batch.predecessors.push_back(
        {FunctionId{bytes.Byte()}, Text(bytes, "function"), Text(bytes, "stack")});
  for (uint32_t i = bytes.Count(kManyRows); i > 0; --i) {
    batch.records.push_back(
        {.operation = bytes.Enum<CollectiveOperation>(kCollectiveOperationCount),
         .sequence = bytes.Number(),
         .peer = Peer(bytes, batch.world_size),
         .step = bytes.Step(),
         .duration_ns = bytes.Time(),
         .exposed_ns = bytes.Time(),
         .gap_ns = bytes.Time(),
         .bytes = bytes.Number(),
         .before = bytes.Below(static_cast<uint32_t>(batch.predecessors.size()) + 1),
         .before_ns = bytes.Time()});
  }
  return Encoded(batch);
}

std::string HostileCollectiveSummary(FuzzBytes& bytes) {
  CollectiveSummary summary{.job = Job(bytes), .communicator = CommId{bytes.Byte() % 4u}};
  summary.communicator_name = Text(bytes, "group");
  summary.world_size = World(bytes);
  summary.window = SomeWindow(bytes);
  const uint32_t members = std::min(bytes.Count(64), summary.world_size);
  for (uint32_t i = 0; i < members; ++i) summary.members.push_back(Member(bytes, i));
  for (uint32_t i = bytes.Count(kManyRows); i > 0; --i) {
    summary.pairs.push_back({.source = RankId{Rank(bytes, summary.world_size)},
                             .destination = RankId{Rank(bytes, summary.world_size)},
                             .count = bytes.Number(),
                             .receive_wait_ns = bytes.Time(),
                             .send_wait_ns = bytes.Time(),
                             .unmatched = bytes.Number(),
                             .transfer_ns = bytes.Time()});
  }
  SortBy(summary.pairs,
         [](const PairSummary& pair) { return std::pair(pair.source, pair.destination); });
  summary.operations = bytes.Number();
  summary.incomplete = bytes.Number();
  summary.transfer_ns = bytes.Time();
  summary.bytes = bytes.Number();
  for (uint32_t i = bytes.Count(64); i > 0; --i)
    summary.missing.push_back(RankId{Rank(bytes, summary.world_size)});
  summary.steps = bytes.Byte();
  return Encoded(summary);
}

std::string HostileRankStanding(FuzzBytes& bytes) {
  RankStanding standing{.job = Job(bytes), .rank = {}, .world_size = World(bytes)};
  standing.rank = RankId{Rank(bytes, standing.world_size)};
  standing.host = Text(bytes, "host");
  standing.device = static_cast<int32_t>(bytes.Byte() % 4) - 1;
  standing.pid = bytes.Byte() % 4;
  standing.time_ns = bytes.Time();
  standing.last_progress_ns = std::min(bytes.Time(), standing.time_ns);
  standing.timed_out = bytes.Flag();
  standing.collectives_suspended = bytes.Flag();
  standing.starts_unknown = bytes.Flag();
  standing.moment_unknown = bytes.Flag();
  standing.pause = bytes.Enum<Pause>(kPauseCount);
  standing.window_kind = bytes.Enum<WindowKind>(kWindowKindCount);
  standing.window_index = bytes.Step();
  standing.step = bytes.Step();
  standing.last_step = bytes.Step();
  standing.step_mean_ns = bytes.Time();
  standing.function = Text(bytes, "function");
  standing.stack = Text(bytes, "stack");
  standing.function_class = bytes.Enum<FunctionClass>(kFunctionClassCount);
  standing.communicators = Communicators(bytes, standing.world_size);
  const size_t communicators = standing.communicators.size();
  standing.in_flight = InFlight(bytes, standing.world_size, communicators);
  standing.operations = Operations(bytes, standing.world_size, communicators);
  standing.connections = Connections(bytes, standing.world_size, communicators);
  if (bytes.Flag()) {
    standing.end = ProcessEnd{.exit_code = static_cast<int32_t>(bytes.Byte()) - 1,
                              .out_of_memory = bytes.Flag()};
    if (standing.end->exit_code < 0) standing.end->signal = bytes.Byte() % (kHighestSignal + 1);
    if (bytes.Flag()) {
      standing.end->job_failure = JobFailure{.exit_code = static_cast<int32_t>(bytes.Byte()) - 1,
                                             .ranks = bytes.Byte(),
                                             .within_ns = bytes.Time(),
                                             .others_untold = bytes.Flag()};
    }
  }
  return Encoded(standing);
}

}  // namespace eroica
