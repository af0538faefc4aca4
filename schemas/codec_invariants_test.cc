// Values that no batch may hold. What our own encoder refuses to write is written around it, so
// that the decoder sees it too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "schemas/example_payloads.h"
#include "schemas/invariants.h"
#include "schemas/test_encoder.h"
#include "schemas/wire_codec.h"

namespace eroica {
namespace {

constexpr int64_t kMax = CodecLimits::kMaxTimeNs;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename T>
class Expect {
 public:
  explicit Expect(T value) : good_(std::move(value)) {
    EXPECT_EQ(CheckInvariants(good_), DropReason::kNone);
  }

  // With `change`, both the check and the decoder of the written value answer `reason`.
  void Refused(DropReason reason, const std::function<void(T&)>& change, const char* file,
               int line) {
    const ::testing::ScopedTrace trace(file, line, "change");
    T value = good_;
    change(value);
    EXPECT_EQ(ToString(CheckInvariants(value)), ToString(reason));
    WireWriter writer;
    Write(value, writer);
    T decoded;
    const Bytes bytes(reinterpret_cast<const std::byte*>(writer.builder().GetBufferPointer()),
                      writer.builder().GetSize());
    EXPECT_EQ(ToString(Decoder().Decode(bytes, &decoded)), ToString(reason));
  }

 private:
  T good_;
};

#define REFUSED(reason, ...) \
  expect.Refused(            \
      DropReason::reason, [](auto& v) { __VA_ARGS__; }, __FILE__, __LINE__)

TEST(EventInvariants, Identity) {
  Expect expect(ExampleEventBatch());
  REFUSED(kInvalidIdentity, v.identity.rank = RankId(8));
  REFUSED(kInvalidIdentity, v.identity.world_size = 0);
  REFUSED(kLimitExceeded, v.identity.world_size = CodecLimits::kRanks + 1);
  REFUSED(kIndexOutOfRange, v.identity.device = -2);
  REFUSED(kTimeOutOfRange, v.clock.realtime_ns = -1);
  REFUSED(kTimeOutOfRange, v.clock.monotonic_ns = kMax + 1);
  REFUSED(kTimeOutOfRange, v.clock.device_ns = std::numeric_limits<int64_t>::min());
}

TEST(EventInvariants, Functions) {
  Expect expect(ExampleEventBatch());
  REFUSED(kEnumOutOfRange, v.functions[1].function_class = static_cast<FunctionClass>(5));
  REFUSED(kEnumOutOfRange, v.functions[1].wait = static_cast<WaitKind>(3));
  REFUSED(kIndexOutOfRange, v.functions[1].parent = 1);
  REFUSED(kIndexOutOfRange, v.functions[1].parent = 2);
  REFUSED(kIndexOutOfRange, v.functions[0].parent = 0);
  REFUSED(kIndexOutOfRange, v.functions.clear());
}

TEST(EventInvariants, StackDepth) {
  EventBatch batch;
  batch.identity.job = JobId("j");
  for (uint32_t i = 0; i < CodecLimits::kStackDepth; ++i)
    batch.functions.push_back({.name = "f", .parent = i == 0 ? kNoParent : i - 1});
  Expect expect(batch);
  REFUSED(kLimitExceeded,
          v.functions.push_back({.name = "f", .parent = CodecLimits::kStackDepth - 1}));
}

TEST(EventInvariants, LanesAndCommunicators) {
  Expect expect(ExampleEventBatch());
  REFUSED(kEnumOutOfRange, v.lanes[0].kind = static_cast<LaneKind>(kLaneKindCount));
  REFUSED(kIndexOutOfRange, v.lanes.pop_back());
  REFUSED(kLimitExceeded, v.lanes.resize(257));
  REFUSED(kIndexOutOfRange, v.communicators[0].ranks[2] = 8);
  REFUSED(kLimitExceeded, v.communicators.resize(CodecLimits::kCommunicators + 1));
  REFUSED(kIndexOutOfRange, v.communicators.clear());
}

TEST(EventInvariants, Rows) {
  Expect expect(ExampleEventBatch());
  REFUSED(kIndexOutOfRange, v.intervals.function[2] = 4);
  REFUSED(kIndexOutOfRange, v.collectives[1].peer = 8);
  REFUSED(kIndexOutOfRange, v.collectives[1].peer = -2);
  REFUSED(kIndexOutOfRange, v.collectives[1].interval = 4);
  REFUSED(kNotInOrder, v.collectives[1].interval = 0);
  REFUSED(kEnumOutOfRange, v.collectives[0].operation = static_cast<CollectiveOperation>(12));
  REFUSED(kEnumOutOfRange, v.samples[0].resource = Resource::kNone);
  REFUSED(kEnumOutOfRange, v.marks[0].kind = static_cast<MarkKind>(kMarkKindCount));
  REFUSED(kTimeOutOfRange, v.marks[0].id = -2);
  REFUSED(kEnumOutOfRange, v.losses[0].kind = static_cast<EventKind>(5));
  REFUSED(kEnumOutOfRange, v.losses[0].reason = static_cast<DropReason>(255));
  REFUSED(kLimitExceeded, v.losses.resize(CodecLimits::kLosses + 1));
}

TEST(EventInvariants, Progress) {
  Expect expect(ExampleEventBatch());
  REFUSED(kTimeOutOfRange, v.connections[0].time_ns = -1);
  REFUSED(kTimeOutOfRange, v.connections[0].busy_ns = kMax + 1);
  REFUSED(kIndexOutOfRange, v.connections[1].peer = 8);
  REFUSED(kEnumOutOfRange, v.connections[1].resource = Resource::kNone);
  REFUSED(kIndexOutOfRange,
          v.connections[1].communicator = static_cast<uint32_t>(v.communicators.size()) + 1);
  REFUSED(kNotInOrder, v.connections[0].time_ns += 1);
  REFUSED(kLimitExceeded,
          v.connections.resize(CodecLimits::kConnections + 1, v.connections.back()));
  REFUSED(kTimeOutOfRange, v.progress[0].time_ns = -1);
  REFUSED(kTimeOutOfRange, v.progress[1].time_ns = kMax + 1);
  REFUSED(kNotInOrder, std::swap(v.progress[0], v.progress[1]));
  REFUSED(kTimeOutOfRange, v.progress[0].step = -2);
  REFUSED(kIndexOutOfRange, v.progress[0].function = 4);
  REFUSED(kIndexOutOfRange, v.progress[1].in_flight[0].communicator = 1);
  REFUSED(kEnumOutOfRange, v.progress[1].in_flight[0].operation =
                               static_cast<CollectiveOperation>(kCollectiveOperationCount));
  REFUSED(kIndexOutOfRange, v.progress[1].in_flight[1].peer = 8);
  REFUSED(kTimeOutOfRange, v.progress[1].in_flight[1].launched_ns = -1);
  REFUSED(kNotInOrder, std::swap(v.progress[1].in_flight[0], v.progress[1].in_flight[1]));
  REFUSED(kIndexOutOfRange, v.progress[1].operations[1].communicator = 1);
  REFUSED(kEnumOutOfRange, v.progress[1].operations[1].operation =
                               static_cast<CollectiveOperation>(kCollectiveOperationCount));
  REFUSED(kIndexOutOfRange, v.progress[1].operations[1].peer = -2);
  REFUSED(kValueOutOfRange, v.progress[1].operations[1].completed = 11);
  REFUSED(kNotInOrder, std::swap(v.progress[1].operations[0], v.progress[1].operations[1]));
  REFUSED(kLimitExceeded, v.progress.resize(CodecLimits::kReports + 1, v.progress.back()));
  REFUSED(kLimitExceeded, v.progress[1].in_flight.resize(CodecLimits::kIntervals + 1,
                                                         v.progress[1].in_flight.back()));
  REFUSED(kLimitExceeded, v.progress[1].operations.resize(CodecLimits::kIntervals + 1,
                                                          v.progress[1].operations.back()));
}

// These cannot even be written: the wire holds differences of times, and columns of rows.
TEST(EventInvariants, TimesInMemory) {
  const auto check = [](const std::function<void(EventBatch&)>& change) {
    EventBatch batch = ExampleEventBatch();
    change(batch);
    return CheckInvariants(batch);
  };
  EXPECT_EQ(check([](EventBatch& b) { b.intervals.start_ns[0] = b.intervals.start_ns[1] + 1; }),
            DropReason::kTimeOutOfRange);
  EXPECT_EQ(check([](EventBatch& b) { b.intervals.start_ns[0] = -1; }),
            DropReason::kTimeOutOfRange);
  EXPECT_EQ(check([](EventBatch& b) { b.intervals.start_ns[3] = kMax + 1; }),
            DropReason::kTimeOutOfRange);
  EXPECT_EQ(check([](EventBatch& b) { b.intervals.duration_ns[3] = -1; }),
            DropReason::kTimeOutOfRange);
  EXPECT_EQ(check([](EventBatch& b) { b.intervals.duration_ns[3] = kMax; }),
            DropReason::kTimeOutOfRange);
  EXPECT_EQ(check([](EventBatch& b) {
              b.intervals.duration_ns[3] = std::numeric_limits<int64_t>::min();
            }),
            DropReason::kTimeOutOfRange);
  EXPECT_EQ(check([](EventBatch& b) { b.intervals.lane.pop_back(); }), DropReason::kColumnLength);
  EXPECT_EQ(check([](EventBatch& b) { std::swap(b.samples[0], b.samples[1]); }),
            DropReason::kNotInOrder);
  EXPECT_EQ(check([](EventBatch& b) { std::swap(b.marks[0], b.marks[1]); }),
            DropReason::kNotInOrder);
  EXPECT_EQ(check([](EventBatch& b) { b.samples[0].value = 1.5f; }), DropReason::kValueOutOfRange);
  EXPECT_EQ(check([](EventBatch& b) { b.time_unit_ns = 0; }), DropReason::kTimeOutOfRange);
  EXPECT_EQ(check([](EventBatch& b) { b.identity.job = JobId(); }), DropReason::kInvalidIdentity);
}

TEST(PatternInvariants, Window) {
  Expect expect(ExamplePatternBatch());
  REFUSED(kEnumOutOfRange, v.window.kind = static_cast<WindowKind>(2));
  REFUSED(kTimeOutOfRange, v.window.start_ns = v.window.end_ns + 1);
  REFUSED(kTimeOutOfRange, v.window.end_ns = kMax + 1);
  REFUSED(kTimeOutOfRange, v.window.start_ns = -1);
  REFUSED(kTimeOutOfRange, v.window.first_step = v.window.last_step + 1);
  REFUSED(kTimeOutOfRange, v.window.first_step = -2);
  REFUSED(kTimeOutOfRange, v.window.index = std::numeric_limits<int64_t>::min());
}

TEST(PatternInvariants, Patterns) {
  Expect expect(ExamplePatternBatch());
  REFUSED(kInvalidIdentity, v.rank = RankId(8));
  REFUSED(kEnumOutOfRange, v.patterns[0].function_class = static_cast<FunctionClass>(5));
  REFUSED(kEnumOutOfRange, v.patterns[0].wait = static_cast<WaitKind>(3));
  REFUSED(kEnumOutOfRange, v.patterns[0].resource = static_cast<Resource>(kResourceCount));
  REFUSED(kValueOutOfRange, v.patterns[0].beta = kNan);
  REFUSED(kValueOutOfRange, v.patterns[0].beta = 1.01);
  REFUSED(kValueOutOfRange, v.patterns[0].mu = -0.01);
  REFUSED(kValueOutOfRange, v.patterns[0].sigma = kInfinity);
  REFUSED(kValueOutOfRange, v.patterns[0].duration_mean_ns = kInfinity);
  REFUSED(kValueOutOfRange, v.patterns[0].duration_mean_ns = kNan);
  REFUSED(kValueOutOfRange, v.patterns[0].duration_mean_ns = -1);
  REFUSED(kValueOutOfRange, v.patterns[0].duration_mean_ns = 1e19);
  REFUSED(kValueOutOfRange, v.patterns[0].duration_m2 = kNan);
  REFUSED(kTimeOutOfRange, v.patterns[0].total_ns = -1);
  REFUSED(kTimeOutOfRange, v.patterns[0].critical_ns = kMax + 1);
  REFUSED(kTimeOutOfRange, v.patterns[0].duration_min_ns = -1);
  REFUSED(kTimeOutOfRange, v.patterns[0].duration_max_ns = -1);
  REFUSED(kNotInOrder, std::swap(v.patterns[0], v.patterns[1]));
}

TEST(PatternInvariants, StepsAndCommunicators) {
  Expect expect(ExamplePatternBatch());
  REFUSED(kTimeOutOfRange, v.steps[0].duration_ns = -1);
  REFUSED(kTimeOutOfRange, v.steps[0].peer_wait_ns = -1);
  REFUSED(kTimeOutOfRange, v.steps[0].id = -2);
  REFUSED(kNotInOrder, std::swap(v.steps[0], v.steps[1]));
  REFUSED(kValueOutOfRange, ++v.steps[0].stage_ns[0]);
  REFUSED(kTimeOutOfRange, v.steps[0].stage_ns[3] = -1);
  REFUSED(kValueOutOfRange, v.steps[1].stage_ns[0] = 1);
  REFUSED(kTimeOutOfRange, v.folded_critical_ns[4] = -1);
  REFUSED(kNotInOrder, std::swap(v.communicators[0], v.communicators[1]));
  REFUSED(kLimitExceeded, v.communicators.resize(CodecLimits::kCommunicators + 1));
}

TEST(PatternInvariants, Levels) {
  Expect expect(ExamplePatternBatch());
  REFUSED(kEnumOutOfRange, v.levels[1].resource = static_cast<Resource>(kResourceCount));
  REFUSED(kEnumOutOfRange, v.levels[1].resource = Resource::kNone);
  REFUSED(kValueOutOfRange, v.levels[0].mean = kNan);
  REFUSED(kValueOutOfRange, v.levels[0].mean = -0.5);
  REFUSED(kValueOutOfRange, v.levels[0].max = 1.5f);
  REFUSED(kValueOutOfRange, v.levels[0].samples = 0);
  REFUSED(kNotInOrder, std::swap(v.levels[0], v.levels[1]));
  REFUSED(kNotInOrder, v.levels[1].resource = v.levels[0].resource);  // each once
  REFUSED(kLimitExceeded, v.levels.resize(kResourceCount + 1, v.levels[0]));
}

TEST(PatternInvariants, SuspendedCaptures) {
  Expect expect(ExamplePatternBatch());
  REFUSED(kValueOutOfRange, v.suspended[0].suspended_ns = 0);
  REFUSED(kTimeOutOfRange, v.suspended[0].suspended_ns = -1);
  REFUSED(kNotInOrder, std::swap(v.suspended[0], v.suspended[1]));
  REFUSED(kNotInOrder, v.suspended[1].gap.capture = v.suspended[0].gap.capture);  // each once
}

TEST(CollectiveInvariants, Batch) {
  Expect expect(ExampleCollectiveBatch());
  REFUSED(kInvalidIdentity, v.world_size = 2);
  REFUSED(kIndexOutOfRange, v.communicator.ranks[3] = 8);
  REFUSED(kEnumOutOfRange, v.records[0].operation = static_cast<CollectiveOperation>(12));
  REFUSED(kIndexOutOfRange, v.records[0].peer = 8);
  REFUSED(kTimeOutOfRange, v.records[0].duration_ns = -1);
  REFUSED(kTimeOutOfRange, v.records[0].exposed_ns = kMax + 1);
  REFUSED(kTimeOutOfRange, v.records[0].gap_ns = -1);
  REFUSED(kTimeOutOfRange, v.records[0].before_ns = -1);
  REFUSED(kTimeOutOfRange, v.records[0].step = -2);
  REFUSED(kIndexOutOfRange, v.records[0].before = 2);
}

TEST(CollectiveInvariants, Summary) {
  Expect expect(ExampleCollectiveSummary());
  REFUSED(kInvalidIdentity, v.members[1].rank = RankId(8));
  REFUSED(kNotInOrder, std::swap(v.members[0], v.members[1]));
  REFUSED(kTimeOutOfRange, v.members[0].wait_ns = -1);
  REFUSED(kTimeOutOfRange, v.members[0].exposed_wait_ns = -1);
  REFUSED(kTimeOutOfRange, v.members[0].lateness_ns = -1);
  REFUSED(kTimeOutOfRange, v.members[0].caused_wait_ns = -1);
  REFUSED(kNotInOrder, std::swap(v.members[0].late_steps[0], v.members[0].late_steps[1]));
  REFUSED(kTimeOutOfRange, v.members[0].blockers[0].run_ns = -1);
  REFUSED(kTimeOutOfRange, v.members[0].blockers[0].caused_wait_ns = -1);
  REFUSED(kInvalidIdentity, v.pairs[0].source = RankId(8));
  REFUSED(kInvalidIdentity, v.pairs[0].destination = RankId(8));
  REFUSED(kTimeOutOfRange, v.pairs[0].send_wait_ns = -1);
  REFUSED(kTimeOutOfRange, v.pairs[0].receive_wait_ns = -1);
  REFUSED(kNotInOrder, v.pairs.push_back({.source = RankId(0), .destination = RankId(1)}));
  REFUSED(kInvalidIdentity, v.missing[0] = RankId(8));
  REFUSED(kTimeOutOfRange, v.transfer_ns = -1);
}

TEST(FindingInvariants, Finding) {
  Expect expect(ExampleFinding());
  REFUSED(kEnumOutOfRange, v.kind = static_cast<FindingKind>(8));
  REFUSED(kEnumOutOfRange, v.severity = static_cast<Severity>(4));
  REFUSED(kEnumOutOfRange, v.state = static_cast<FindingState>(3));
  REFUSED(kEnumOutOfRange, v.function_class = static_cast<FunctionClass>(5));
  REFUSED(kValueOutOfRange, v.confidence = 1.1);
  REFUSED(kValueOutOfRange, v.lost_gpu_seconds_per_hour = kNan);
  REFUSED(kValueOutOfRange, v.lost_ns_per_step = kInfinity);
  REFUSED(kTimeOutOfRange, v.first_step = -2);
  REFUSED(kTimeOutOfRange, v.last_step = -2);
  REFUSED(kTimeOutOfRange, v.emitted_at_ns = -1);
  REFUSED(kTimeOutOfRange, v.first_seen_ns = -1);
  REFUSED(kTimeOutOfRange, v.last_seen_ns = -1);
  REFUSED(kLimitExceeded, v.world_size = CodecLimits::kRanks + 1);
  REFUSED(kIndexOutOfRange, v.culprits[0].rank = -2);
  REFUSED(kIndexOutOfRange, v.culprits[0].peer = CodecLimits::kRanks);
  REFUSED(kIndexOutOfRange, v.culprits[0].device = -2);
  REFUSED(kIndexOutOfRange, v.victims[1].rank = RankId(~0u));
  REFUSED(kTimeOutOfRange, v.victims[0].lost_ns = -1);
  REFUSED(kValueOutOfRange, v.victims[0].lost_ns_per_step = kNan);
  REFUSED(kNotInOrder, std::swap(v.victims[0], v.victims[1]));
  REFUSED(kValueOutOfRange, v.evidence[0].culprit = kInfinity);
  REFUSED(kValueOutOfRange, v.evidence[0].peers = kNan);
  REFUSED(kValueOutOfRange, v.evidence[0].threshold = -kInfinity);
  REFUSED(kIndexOutOfRange, v.chain[0].rank = -2);
  REFUSED(kTimeOutOfRange, v.chain[0].lost_ns = -1);
}

TEST(FindingInvariants, Control) {
  Expect expect(ExampleControl());
  REFUSED(kEnumOutOfRange, v.capture_level = static_cast<CaptureLevel>(4));
  REFUSED(kTimeOutOfRange, v.first_step = -1);
}

TEST(RankStandingInvariants, Standing) {
  Expect expect(ExampleRankStanding());
  REFUSED(kInvalidIdentity, v.rank = RankId(8));
  REFUSED(kInvalidIdentity, v.world_size = 0);
  REFUSED(kIndexOutOfRange, v.device = -2);
  REFUSED(kTimeOutOfRange, v.time_ns = -1);
  REFUSED(kTimeOutOfRange, v.last_progress_ns = -1);
  REFUSED(kTimeOutOfRange, v.last_progress_ns = v.time_ns + 1);
  REFUSED(kEnumOutOfRange, v.pause = static_cast<Pause>(kPauseCount));
  REFUSED(kEnumOutOfRange, v.window_kind = static_cast<WindowKind>(kWindowKindCount));
  REFUSED(kTimeOutOfRange, v.window_index = -2);
  REFUSED(kTimeOutOfRange, v.step = -2);
  REFUSED(kTimeOutOfRange, v.last_step = -2);
  REFUSED(kTimeOutOfRange, v.step_mean_ns = -1);
  REFUSED(kIndexOutOfRange, v.connections[0].peer = 8);
  REFUSED(kTimeOutOfRange, v.connections[0].busy_ns = -1);
  REFUSED(kEnumOutOfRange, v.function_class = static_cast<FunctionClass>(kFunctionClassCount));
  REFUSED(kIndexOutOfRange, v.communicators[0].ranks[1] = 8);
  REFUSED(kNotInOrder, v.communicators.push_back({.id = CommId(1)}));
  REFUSED(kLimitExceeded,
          v.communicators.resize(CodecLimits::kCommunicators + 1, v.communicators.back()));
  REFUSED(kIndexOutOfRange, v.in_flight[1].communicator = 1);
  REFUSED(kNotInOrder, std::swap(v.in_flight[0], v.in_flight[1]));
  REFUSED(kIndexOutOfRange, v.operations[0].communicator = 1);
  REFUSED(kValueOutOfRange, v.operations[0].completed = 44);
  REFUSED(kValueOutOfRange, v.end = ProcessEnd{.exit_code = 256});
  REFUSED(kValueOutOfRange, v.end = ProcessEnd{.exit_code = -2});
  REFUSED(kValueOutOfRange, v.end = ProcessEnd{.signal = 65});
  REFUSED(kTimeOutOfRange, v.end = ProcessEnd{.started_ns = -1});
  REFUSED(kValueOutOfRange, (v.end = ProcessEnd{.exit_code = 1, .signal = 9}));
  REFUSED(kValueOutOfRange, v.end = ProcessEnd{.job_failure = JobFailure{.exit_code = 256}});
  REFUSED(kValueOutOfRange,
          (v.end = ProcessEnd{.job_failure = JobFailure{.exit_code = 1, .signal = 9}}));
  REFUSED(kTimeOutOfRange, v.end = ProcessEnd{.job_failure = JobFailure{.within_ns = -1}});
}

// What no value may do: a batch of an import has ended `eroica diagnose` here, more than once.
template <typename Value>
DropReason ReasonOf(const Value& value) {
  Bytes bytes;
  return Encoder().TryEncode(value, &bytes);
}

TEST(Encoder, RefusesWhatBreaksAnInvariant) {
  EXPECT_EQ(ReasonOf(EventBatch()), DropReason::kInvalidIdentity);
  EXPECT_EQ(ReasonOf(PatternBatch()), DropReason::kInvalidIdentity);
  EXPECT_EQ(ReasonOf(CollectiveBatch()), DropReason::kInvalidIdentity);
  EXPECT_EQ(ReasonOf(CollectiveSummary()), DropReason::kInvalidIdentity);
  EXPECT_EQ(ReasonOf(Finding()), DropReason::kInvalidIdentity);
  EXPECT_EQ(ReasonOf(Control()), DropReason::kInvalidIdentity);
  EXPECT_EQ(ReasonOf(RankStanding()), DropReason::kInvalidIdentity);
  EventBatch batch = ExampleEventBatch();
  batch.communicators[0].ranks.push_back(batch.identity.world_size);
  EXPECT_EQ(ReasonOf(batch), DropReason::kIndexOutOfRange);
  Control control = ExampleControl();
  control.job.value.assign(CodecLimits::kNameBytes + 1, 'j');
  EXPECT_EQ(ReasonOf(control), DropReason::kLimitExceeded);
}

TEST(Encoder, RefusesATimeBetweenTwoUnits) {
  EventBatch off_the_unit = ExampleEventBatch();
  off_the_unit.intervals.duration_ns[1] += 1;
  Encoder encoder;
  Bytes bytes;
  EXPECT_EQ(encoder.TryEncode(off_the_unit, &bytes), DropReason::kTimeOutOfRange);
  EXPECT_EQ(encoder.TryEncode(ExampleEventBatch(), &bytes), DropReason::kNone);
}

TEST(Encoder, RefusesANumberThatIsNone) {
  Encoder encoder;
  Bytes bytes;
  PatternBatch pattern = ExamplePatternBatch();
  pattern.patterns[0].mu = kNan;
  EXPECT_EQ(encoder.TryEncode(pattern, &bytes), DropReason::kValueOutOfRange);
  pattern = ExamplePatternBatch();
  EXPECT_EQ(encoder.TryEncode(pattern, &bytes), DropReason::kNone);
  EXPECT_TRUE(std::ranges::equal(bytes, TestEncoder().Encode(pattern)));
}

// Rows and texts within their limits can be more together than a FlatBuffer can address.
TEST(Encoder, IsFullBeforeAFlatBufferOverflows) {
  PatternBatch pattern = ExamplePatternBatch();
  FunctionPattern row = pattern.patterns.back();
  row.stack = std::string(1 << 12, 's');
  row.histogram.clear();
  for (uint16_t bucket = 0; bucket < DurationHistogram::kBucketCount; ++bucket)
    row.histogram.AddBucket(bucket, 1);
  pattern.patterns.assign(CodecLimits::kPatterns / 3, row);
  Encoder encoder;
  Bytes bytes;
  EXPECT_EQ(encoder.TryEncode(pattern, &bytes), DropReason::kLimitExceeded);
  EXPECT_EQ(encoder.TryEncode(ExamplePatternBatch(), &bytes), DropReason::kNone);
}

}  // namespace
}  // namespace eroica
