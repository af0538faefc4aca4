// Payloads that our encoder never writes, built with flatc's own builders: each breaks one rule of
// the wire and must be refused with its reason.
#include <flatbuffers/flatbuffers.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "collective_generated.h"
#include "event_generated.h"
#include "finding_generated.h"
#include "pattern_generated.h"
#include "schemas/codec.h"

namespace eroica {
namespace {

using flatbuffers::FlatBufferBuilder;

Bytes BytesOf(const FlatBufferBuilder& builder) {
  return {reinterpret_cast<const std::byte*>(builder.GetBufferPointer()), builder.GetSize()};
}

template <typename T>
DropReason DecodeAs(Bytes payload) {
  T out;
  return Decoder().Decode(payload, &out);
}

// A good EventBatch with a row in every column, before something is done to it.
struct RawEventBatch {
  uint32_t time_unit_ns = 1;
  uint32_t interval_count = 2;
  std::vector<uint8_t> start = {0, 5}, duration = {1, 0x80, 0x01}, function = {0, 0}, lane = {0, 0};
  std::vector<uint32_t> collective_interval = {1};
  std::vector<uint16_t> collective_communicator = {0};
  std::vector<uint8_t> collective_operation = {1};
  std::vector<uint64_t> collective_sequence = {7}, collective_bytes = {8};
  std::vector<int32_t> collective_peer = {-1};
  std::vector<uint8_t> sample_time = {3}, sample_resource = {0};
  std::vector<uint16_t> sample_value = {65'535};
  std::vector<uint8_t> mark_kind = {0}, mark_time = {2};
  std::vector<int64_t> mark_id = {1};

  DropReason Decode() const {
    FlatBufferBuilder b;
    const auto functions = b.CreateVector(std::vector{wire::CreateFunctionDirect(b, "f")});
    const auto lanes = b.CreateVector(std::vector{wire::CreateLaneDirect(b, "l")});
    const auto communicators =
        b.CreateVector(std::vector{wire::CreateCommunicatorDirect(b, 1, "c")});
    wire::FinishEventBatchBuffer(
        b, wire::CreateEventBatch(
               b, b.CreateString("j"), 0, 2, 0, 0, 0, -1, 0, 0, 0, false, 0, 1'000, nullptr,
               functions, lanes, communicators, time_unit_ns, interval_count, b.CreateVector(start),
               b.CreateVector(duration), b.CreateVector(function), b.CreateVector(lane),
               b.CreateVector(collective_interval), b.CreateVector(collective_communicator),
               b.CreateVector(collective_operation), b.CreateVector(collective_sequence),
               b.CreateVector(collective_bytes), b.CreateVector(collective_peer),
               b.CreateVector(sample_time), b.CreateVector(sample_resource),
               b.CreateVector(sample_value), b.CreateVector(mark_kind), b.CreateVector(mark_time),
               b.CreateVector(mark_id)));
    return DecodeAs<EventBatch>(BytesOf(b));
  }
};

struct EventCase {
  const char* name;
  std::function<void(RawEventBatch&)> breakage;
  DropReason reason;
};

class EventWire : public ::testing::TestWithParam<EventCase> {};

TEST_P(EventWire, IsRefused) {
  RawEventBatch batch;
  ASSERT_EQ(batch.Decode(), DropReason::kNone);
  GetParam().breakage(batch);
  EXPECT_EQ(ToString(batch.Decode()), ToString(GetParam().reason));
}

using B = RawEventBatch;
constexpr uint8_t kContinued = 0x80;

INSTANTIATE_TEST_SUITE_P(
    Columns, EventWire,
    ::testing::Values(
        EventCase{"TooFewStarts", [](B& b) { b.start.pop_back(); }, DropReason::kColumnLength},
        EventCase{"TooManyStarts", [](B& b) { b.start.push_back(0); }, DropReason::kColumnLength},
        EventCase{"HalfAStart", [](B& b) { b.start.back() |= kContinued; },
                  DropReason::kColumnLength},
        EventCase{"NoStarts", [](B& b) { b.start.clear(); }, DropReason::kColumnLength},
        EventCase{"TooFewDurations", [](B& b) { b.duration = {1}; }, DropReason::kColumnLength},
        EventCase{"HalfADuration", [](B& b) { b.duration.pop_back(); }, DropReason::kColumnLength},
        EventCase{"TooFewFunctions", [](B& b) { b.function.pop_back(); },
                  DropReason::kColumnLength},
        EventCase{"TooFewLanes", [](B& b) { b.lane.pop_back(); }, DropReason::kColumnLength},
        EventCase{"CountTooLarge", [](B& b) { b.interval_count = 3; }, DropReason::kColumnLength},
        EventCase{"CountHuge",
                  [](B& b) { b.interval_count = std::numeric_limits<uint32_t>::max(); },
                  DropReason::kColumnLength},
        EventCase{"CountZero", [](B& b) { b.interval_count = 0; }, DropReason::kColumnLength},
        EventCase{"CollectiveIntervals", [](B& b) { b.collective_interval.clear(); },
                  DropReason::kColumnLength},
        EventCase{"CollectiveCommunicators", [](B& b) { b.collective_communicator.push_back(0); },
                  DropReason::kColumnLength},
        EventCase{"CollectiveOperations", [](B& b) { b.collective_operation.clear(); },
                  DropReason::kColumnLength},
        EventCase{"CollectiveSequences", [](B& b) { b.collective_sequence.push_back(0); },
                  DropReason::kColumnLength},
        EventCase{"CollectiveBytes", [](B& b) { b.collective_bytes.clear(); },
                  DropReason::kColumnLength},
        EventCase{"CollectivePeers", [](B& b) { b.collective_peer.clear(); },
                  DropReason::kColumnLength},
        EventCase{"SampleTimes", [](B& b) { b.sample_time.push_back(0); },
                  DropReason::kColumnLength},
        EventCase{"SampleResources", [](B& b) { b.sample_resource.clear(); },
                  DropReason::kColumnLength},
        EventCase{"SampleValues", [](B& b) { b.sample_value.push_back(0); },
                  DropReason::kColumnLength},
        EventCase{"MarkKinds", [](B& b) { b.mark_kind.clear(); }, DropReason::kColumnLength},
        EventCase{"MarkTimes", [](B& b) { b.mark_time.clear(); }, DropReason::kColumnLength},
        EventCase{"MarkIds", [](B& b) { b.mark_id.push_back(0); }, DropReason::kColumnLength}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Values, EventWire,
    ::testing::Values(
        EventCase{"Function", [](B& b) { b.function[1] = 1; }, DropReason::kIndexOutOfRange},
        EventCase{"FunctionBeyond32Bits",
                  [](B& b) { b.function = {0, 0x80, 0x80, 0x80, 0x80, 0x10}; },
                  DropReason::kIndexOutOfRange},
        EventCase{"FunctionAtTheTop", [](B& b) { b.function = {0, 0xff, 0xff, 0xff, 0xff, 0x0f}; },
                  DropReason::kIndexOutOfRange},
        EventCase{"Lane", [](B& b) { b.lane[0] = 1; }, DropReason::kIndexOutOfRange},
        EventCase{"CollectiveInterval", [](B& b) { b.collective_interval[0] = 2; },
                  DropReason::kIndexOutOfRange},
        EventCase{"CollectiveCommunicator", [](B& b) { b.collective_communicator[0] = 1; },
                  DropReason::kIndexOutOfRange},
        EventCase{"CollectivePeer", [](B& b) { b.collective_peer[0] = 2; },
                  DropReason::kIndexOutOfRange},
        EventCase{"CollectiveOperation", [](B& b) { b.collective_operation[0] = 12; },
                  DropReason::kEnumOutOfRange},
        EventCase{"SampleResource", [](B& b) { b.sample_resource[0] = 255; },
                  DropReason::kEnumOutOfRange},
        EventCase{"MarkKind", [](B& b) { b.mark_kind[0] = kMarkKindCount; },
                  DropReason::kEnumOutOfRange},
        EventCase{"NoUnit", [](B& b) { b.time_unit_ns = 0; }, DropReason::kTimeOutOfRange},
        EventCase{"Start",
                  [](B& b) {
                    b.start = std::vector<uint8_t>(10, 0xff), b.start[8] = 0x7f, b.start[9] = 0;
                  },
                  DropReason::kTimeOutOfRange},
        EventCase{"StartTimesUnit",
                  [](B& b) { b.start = {0, 0xff, 0xff, 0xff, 0xff, 0x7f}, b.time_unit_ns = ~0u; },
                  DropReason::kTimeOutOfRange},
        EventCase{
            "DurationTimesUnit",
            [](B& b) { b.duration = {0, 0xff, 0xff, 0xff, 0xff, 0x7f}, b.time_unit_ns = ~0u; },
            DropReason::kTimeOutOfRange},
        EventCase{
            "EndOfAnInterval",
            [](B& b) { b.duration = {0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40}; },
            DropReason::kTimeOutOfRange},
        EventCase{
            "SampleTime",
            [](B& b) { b.sample_time = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}; },
            DropReason::kTimeOutOfRange},
        EventCase{
            "MarkTime",
            [](B& b) { b.mark_time = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}; },
            DropReason::kTimeOutOfRange}),
    [](const auto& test) { return test.param.name; });

TEST(EventWireLimits, RefusesMoreRowsThanItsLimits) {
  B intervals;
  intervals.interval_count = CodecLimits::kIntervals + 1;
  for (auto* column : {&intervals.start, &intervals.duration, &intervals.function, &intervals.lane})
    column->assign(intervals.interval_count, 0);
  EXPECT_EQ(intervals.Decode(), DropReason::kLimitExceeded);
  B marks;
  marks.mark_kind.assign(CodecLimits::kIntervals + 1, 0);
  marks.mark_time = marks.mark_kind;
  marks.mark_id.assign(CodecLimits::kIntervals + 1, 0);
  EXPECT_EQ(marks.Decode(), DropReason::kLimitExceeded);
}

// `count` rows that are one and the same table: small on the wire, whatever the count.
DropReason DecodeWithFunctions(size_t count, const std::string& name) {
  FlatBufferBuilder b;
  const std::vector functions(count, wire::CreateFunctionDirect(b, name.c_str()));
  wire::FinishEventBatchBuffer(
      b, wire::CreateEventBatchDirect(b, "j", 0, 1, nullptr, nullptr, 0, -1, nullptr, nullptr, 0,
                                      false, 0, 0, nullptr, &functions));
  return DecodeAs<EventBatch>(BytesOf(b));
}

TEST(EventWireLimits, RefusesTooManyTables) {
  EXPECT_EQ(DecodeWithFunctions(CodecLimits::kFunctions, "f"), DropReason::kNone);
  EXPECT_EQ(DecodeWithFunctions(CodecLimits::kFunctions + 1, "f"), DropReason::kLimitExceeded);
  EXPECT_EQ(DecodeWithFunctions(5u << 20, "f"), DropReason::kVerifierFailed);
}

TEST(EventWireLimits, RefusesALongName) {
  EXPECT_EQ(DecodeWithFunctions(1, std::string(CodecLimits::kNameBytes, 'x')), DropReason::kNone);
  EXPECT_EQ(DecodeWithFunctions(1, std::string(CodecLimits::kNameBytes + 1, 'x')),
            DropReason::kLimitExceeded);
}

// A quarter of a megabyte that would unfold to a quarter of a gigabyte.
TEST(EventWireLimits, RefusesMuchThatIsSharedByMany) {
  EXPECT_EQ(DecodeWithFunctions(CodecLimits::kFunctions, std::string(CodecLimits::kNameBytes, 'x')),
            DropReason::kLimitExceeded);
}

TEST(EventWireLimits, RefusesAHugePayloadUnread) {
  std::vector<std::byte> payload(CodecLimits::kPayloadBytes + 1);
  EXPECT_EQ(DecodeAs<EventBatch>(payload), DropReason::kLimitExceeded);
}

// FlatBuffers' verifier does not look at the alignment of elements: a vector of eight-byte numbers,
// written as one of twice as many four-byte numbers, passes it wherever it lies.
DropReason DecodeWithShiftedVector(size_t padding) {
  FlatBufferBuilder b;
  b.StartVector(4, sizeof(uint32_t));
  for (int i = 0; i < 4; ++i) b.PushElement(uint32_t{0});
  const flatbuffers::Offset<flatbuffers::Vector<uint64_t>> communicators(b.EndVector(2));
  const std::vector<uint32_t> pad(padding, 0);
  const auto steps = b.CreateVector(pad);  // shifts what comes before it, seen from the front
  const auto job = b.CreateString("j");
  wire::PatternBatchBuilder table(b);
  table.add_job(job);
  table.add_world_size(1);
  table.add_communicators(communicators);
  (void)steps;
  wire::FinishPatternBatchBuffer(b, table.Finish());
  return DecodeAs<PatternBatch>(BytesOf(b));
}

TEST(PatternWire, RefusesAMisalignedVector) {
  const DropReason even = DecodeWithShiftedVector(2);
  const DropReason odd = DecodeWithShiftedVector(3);
  EXPECT_EQ(std::min(even, odd), DropReason::kNone);
  EXPECT_EQ(std::max(even, odd), DropReason::kVerifierFailed);
}

DropReason DecodeWithHistogram(const std::vector<uint16_t>& bucket,
                               const std::vector<uint32_t>& count) {
  FlatBufferBuilder b;
  const auto buckets = b.CreateVector(bucket);
  const auto counts = b.CreateVector(count);
  wire::FunctionPatternBuilder pattern(b);
  pattern.add_histogram_bucket(buckets);
  pattern.add_histogram_count(counts);
  const auto patterns = b.CreateVector(std::vector{pattern.Finish()});
  const auto job = b.CreateString("j");
  wire::PatternBatchBuilder table(b);
  table.add_job(job);
  table.add_world_size(1);
  table.add_patterns(patterns);
  wire::FinishPatternBatchBuffer(b, table.Finish());
  return DecodeAs<PatternBatch>(BytesOf(b));
}

TEST(PatternWire, ChecksTheHistogram) {
  EXPECT_EQ(DecodeWithHistogram({1, 2}, {5, 6}), DropReason::kNone);
  EXPECT_EQ(DecodeWithHistogram({1, 2}, {5}), DropReason::kColumnLength);
  EXPECT_EQ(DecodeWithHistogram({2, 1}, {5, 6}), DropReason::kNotInOrder);
  EXPECT_EQ(DecodeWithHistogram({2, 2}, {5, 6}), DropReason::kNotInOrder);
  EXPECT_EQ(DecodeWithHistogram({1, 2}, {5, 0}), DropReason::kValueOutOfRange);
  EXPECT_EQ(DecodeWithHistogram({1, DurationHistogram::kBucketCount}, {5, 6}),
            DropReason::kIndexOutOfRange);
  EXPECT_EQ(DecodeWithHistogram(std::vector<uint16_t>(2'000, 1), std::vector<uint32_t>(2'000, 1)),
            DropReason::kLimitExceeded);
}

TEST(PatternWire, ReadsWhatAWriterOfFewerClassesSends) {
  FlatBufferBuilder b;
  const std::vector<int64_t> folded = {4, 5};
  const auto vector = b.CreateVector(folded);
  const auto job = b.CreateString("j");
  wire::PatternBatchBuilder table(b);
  table.add_job(job);
  table.add_world_size(1);
  table.add_folded_critical_ns(vector);
  wire::FinishPatternBatchBuffer(b, table.Finish());
  PatternBatch batch;
  batch.folded_critical_ns.fill(9);
  ASSERT_EQ(Decoder().Decode(BytesOf(b), &batch), DropReason::kNone);
  EXPECT_EQ(batch.folded_critical_ns, (std::array<int64_t, kFunctionClassCount>{4, 5, 0, 0, 0}));
}

// A CollectiveBatch of one record whose columns are as given.
struct RawCollectiveBatch {
  uint32_t count = 1;
  std::vector<uint8_t> operation = {1}, sequence = {2}, step = {0}, duration = {0}, exposed = {0},
                       gap = {0}, bytes = {0}, before = {0}, before_ns = {0};
  std::vector<int32_t> peer = {-1};

  DropReason Decode() const {
    FlatBufferBuilder b;
    wire::FinishCollectiveBatchBuffer(
        b, wire::CreateCollectiveBatchDirect(b, "j", 0, 1, 1, nullptr, nullptr, nullptr, 0, nullptr,
                                             false, nullptr, count, &operation, &sequence, &peer,
                                             &step, &duration, &exposed, &gap, &bytes, &before,
                                             &before_ns));
    return DecodeAs<CollectiveBatch>(BytesOf(b));
  }
};

TEST(CollectiveWire, RefusesColumnsOfUnequalLength) {
  ASSERT_EQ(RawCollectiveBatch().Decode(), DropReason::kNone);
  using Column = std::vector<uint8_t> RawCollectiveBatch::*;
  for (const Column column :
       {&RawCollectiveBatch::operation, &RawCollectiveBatch::sequence, &RawCollectiveBatch::step,
        &RawCollectiveBatch::duration, &RawCollectiveBatch::exposed, &RawCollectiveBatch::gap,
        &RawCollectiveBatch::bytes, &RawCollectiveBatch::before, &RawCollectiveBatch::before_ns}) {
    RawCollectiveBatch longer;
    (longer.*column).push_back(0);
    EXPECT_EQ(longer.Decode(), DropReason::kColumnLength);
    RawCollectiveBatch empty;
    (empty.*column).clear();
    EXPECT_EQ(empty.Decode(), DropReason::kColumnLength);
  }
  RawCollectiveBatch peers;
  peers.peer.push_back(-1);
  EXPECT_EQ(peers.Decode(), DropReason::kColumnLength);
  RawCollectiveBatch count;
  count.count = std::numeric_limits<uint32_t>::max();
  EXPECT_EQ(count.Decode(), DropReason::kColumnLength);
}

TEST(CollectiveWire, RefusesValuesOutOfRange) {
  RawCollectiveBatch before;
  before.before = {1};
  EXPECT_EQ(before.Decode(), DropReason::kIndexOutOfRange);
  RawCollectiveBatch negative;  // 2^63
  negative.gap = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01};
  EXPECT_EQ(negative.Decode(), DropReason::kTimeOutOfRange);
  RawCollectiveBatch step;  // -2
  step.step = {3};
  EXPECT_EQ(step.Decode(), DropReason::kTimeOutOfRange);
}

TEST(CollectiveWire, PeersMayBeLeftOut) {
  RawCollectiveBatch batch;
  batch.peer.clear();
  EXPECT_EQ(batch.Decode(), DropReason::kNone);
}

// Two steps of 5 ns, and whatever is said of their stages.
DropReason DecodeWithStages(const std::vector<int64_t>& stages) {
  FlatBufferBuilder b;
  const std::vector<wire::Step> steps = {{0, 5, 0}, {1, 5, 0}};
  const auto step_offsets = b.CreateVectorOfStructs(steps);
  const auto stage_offsets = b.CreateVector(stages);
  const auto job = b.CreateString("j");
  wire::PatternBatchBuilder table(b);
  table.add_job(job);
  table.add_world_size(1);
  table.add_steps(step_offsets);
  table.add_step_stage_ns(stage_offsets);
  wire::FinishPatternBatchBuffer(b, table.Finish());
  return DecodeAs<PatternBatch>(BytesOf(b));
}

TEST(PatternWire, StagesAreFourAStep) {
  EXPECT_EQ(DecodeWithStages({}), DropReason::kNone);
  EXPECT_EQ(DecodeWithStages({1, 2, 2, 0, 0, 0, 0, 0}), DropReason::kNone);
  EXPECT_EQ(DecodeWithStages({1, 2, 2, 0}), DropReason::kColumnLength);
  EXPECT_EQ(DecodeWithStages({1, 2, 2, 0, 0, 0, 0, 0, 0}), DropReason::kColumnLength);
  EXPECT_EQ(DecodeWithStages({1, 2, 3, 0, 0, 0, 0, 0}), DropReason::kValueOutOfRange);
  EXPECT_EQ(DecodeWithStages({-1, 3, 3, 0, 0, 0, 0, 0}), DropReason::kTimeOutOfRange);
}

// Reports that are one and the same table, each with rows that are one and the same vector: small
// on the wire, whatever the count.
DropReason DecodeWithReports(size_t reports, size_t rows) {
  FlatBufferBuilder b;
  const std::vector<wire::InFlight> in_flight(rows, wire::InFlight(0, 0, 0, -1, 0, 1, false));
  const std::vector progress(reports,
                             wire::CreateProgressReportDirect(b, 0, -1, kNoParent, &in_flight));
  const auto job = b.CreateString("j");
  const auto communicators = b.CreateVector(std::vector{wire::CreateCommunicatorDirect(b, 1, "c")});
  const auto progress_offsets = b.CreateVector(progress);
  wire::EventBatchBuilder table(b);
  table.add_job(job);
  table.add_world_size(1);
  table.add_communicators(communicators);
  table.add_progress(progress_offsets);
  wire::FinishEventBatchBuffer(b, table.Finish());
  return DecodeAs<EventBatch>(BytesOf(b));
}

TEST(EventWireLimits, RefusesTooManyReports) {
  EXPECT_EQ(DecodeWithReports(CodecLimits::kReports, 2), DropReason::kNone);
  EXPECT_EQ(DecodeWithReports(CodecLimits::kReports + 1, 2), DropReason::kLimitExceeded);
  EXPECT_EQ(DecodeWithReports(1, CodecLimits::kIntervals), DropReason::kNone);
  EXPECT_EQ(DecodeWithReports(1, CodecLimits::kIntervals + 1), DropReason::kLimitExceeded);
  EXPECT_EQ(DecodeWithReports(CodecLimits::kReports, CodecLimits::kIntervals),
            DropReason::kLimitExceeded);  // two gigabytes, unfolded
}

TEST(FindingWire, RefusesAMissingJob) {
  FlatBufferBuilder b;
  const auto id = b.CreateString("1");
  const auto start = b.StartTable();
  b.AddOffset(wire::Finding::VT_ID, id);
  b.Finish(flatbuffers::Offset<wire::Finding>(b.EndTable(start)), wire::FindingIdentifier());
  EXPECT_EQ(DecodeAs<Finding>(BytesOf(b)), DropReason::kVerifierFailed);
}

}  // namespace
}  // namespace eroica
