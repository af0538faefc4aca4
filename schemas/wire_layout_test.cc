// The structs of the wire are frozen for ever, and `flatc --conform` does not see one that grew:
// their sizes are asserted here, and where each field lies is looked up in the bytes.
#include <gtest/gtest.h>

#include <cstring>
#include <iterator>

#include "collective_summary_generated.h"
#include "event_generated.h"
#include "finding_generated.h"
#include "pattern_generated.h"
#include "schemas/finding.h"

namespace eroica {
namespace {

static_assert(sizeof(wire::ClockSnapshot) == 24 && alignof(wire::ClockSnapshot) == 8);
static_assert(sizeof(wire::LossEntry) == 16 && alignof(wire::LossEntry) == 8);
static_assert(sizeof(wire::InFlight) == 32 && alignof(wire::InFlight) == 8);
static_assert(sizeof(wire::OperationCount) == 24 && alignof(wire::OperationCount) == 8);
static_assert(sizeof(wire::ConnectionSample) == 40 && alignof(wire::ConnectionSample) == 8);
static_assert(sizeof(wire::Connection) == 32 && alignof(wire::Connection) == 8);
static_assert(sizeof(wire::Window) == 48 && alignof(wire::Window) == 8);
static_assert(sizeof(wire::Completeness) == 40 && alignof(wire::Completeness) == 8);
static_assert(sizeof(wire::Step) == 24 && alignof(wire::Step) == 8);
static_assert(sizeof(wire::PairSummary) == 40 && alignof(wire::PairSummary) == 8);

// The enums of the wire are ours, value for value.
template <auto wire_value, auto value>
constexpr bool kSame = static_cast<decltype(value)>(wire_value) == value;
static_assert(sizeof(wire::FindingKind) == 1 && sizeof(wire::Severity) == 1);
static_assert(sizeof(wire::FindingState) == 1 && sizeof(wire::FunctionClass) == 1);
static_assert(kSame<wire::FindingKind::slow_rank, FindingKind::kSlowRank>);
static_assert(kSame<wire::FindingKind::imbalance, FindingKind::kImbalance>);
static_assert(kSame<wire::FindingKind::communication, FindingKind::kCommunication>);
static_assert(kSame<wire::FindingKind::hang, FindingKind::kHang>);
static_assert(kSame<wire::FindingKind::step_time, FindingKind::kStepTime>);
static_assert(kSame<wire::FindingKind::regression, FindingKind::kRegression>);
static_assert(kSame<wire::FindingKind::contention, FindingKind::kContention>);
static_assert(kSame<wire::FindingKind::monitoring_gap, FindingKind::kMonitoringGap>);
static_assert(kSame<wire::Severity::info, Severity::kInfo>);
static_assert(kSame<wire::Severity::minor, Severity::kMinor>);
static_assert(kSame<wire::Severity::major, Severity::kMajor>);
static_assert(kSame<wire::Severity::critical, Severity::kCritical>);
static_assert(kSame<wire::FindingState::opened, FindingState::kOpened>);
static_assert(kSame<wire::FindingState::updated, FindingState::kUpdated>);
static_assert(kSame<wire::FindingState::resolved, FindingState::kResolved>);
static_assert(kSame<wire::FunctionClass::gpu_compute, FunctionClass::kGpuCompute>);
static_assert(kSame<wire::FunctionClass::memory_op, FunctionClass::kMemoryOp>);
static_assert(kSame<wire::FunctionClass::collective, FunctionClass::kCollective>);
static_assert(kSame<wire::FunctionClass::python, FunctionClass::kPython>);
static_assert(kSame<wire::FunctionClass::cpu_op, FunctionClass::kCpuOp>);

// What lies `offset` bytes into the struct.
template <typename T, typename Struct>
T At(const Struct& value, size_t offset) {
  T field;
  std::memcpy(&field, reinterpret_cast<const char*>(&value) + offset, sizeof field);
  return field;
}

// A subscriber in another language has the names of the JSON.
TEST(WireLayout, EnumsOfAFindingAreCalledAsInItsJson) {
  ASSERT_EQ(std::size(wire::EnumValuesFindingKind()), static_cast<size_t>(kFindingKindCount));
  for (const wire::FindingKind kind : wire::EnumValuesFindingKind())
    EXPECT_EQ(wire::EnumNameFindingKind(kind), ToString(static_cast<FindingKind>(kind)));
  ASSERT_EQ(std::size(wire::EnumValuesSeverity()), static_cast<size_t>(kSeverityCount));
  for (const wire::Severity severity : wire::EnumValuesSeverity())
    EXPECT_EQ(wire::EnumNameSeverity(severity), ToString(static_cast<Severity>(severity)));
  ASSERT_EQ(std::size(wire::EnumValuesFindingState()), static_cast<size_t>(kFindingStateCount));
  for (const wire::FindingState state : wire::EnumValuesFindingState())
    EXPECT_EQ(wire::EnumNameFindingState(state), ToString(static_cast<FindingState>(state)));
  ASSERT_EQ(std::size(wire::EnumValuesFunctionClass()), static_cast<size_t>(kFunctionClassCount));
  for (const wire::FunctionClass value : wire::EnumValuesFunctionClass())
    EXPECT_EQ(wire::EnumNameFunctionClass(value), ToString(static_cast<FunctionClass>(value)));
}

TEST(WireLayout, ClockSnapshot) {
  const wire::ClockSnapshot clock(1, 2, 3);
  EXPECT_EQ(At<int64_t>(clock, 0), clock.realtime_ns());
  EXPECT_EQ(At<int64_t>(clock, 8), clock.monotonic_ns());
  EXPECT_EQ(At<int64_t>(clock, 16), clock.device_ns());
}

TEST(WireLayout, LossEntry) {
  const wire::LossEntry loss(1, 2, 3);
  EXPECT_EQ(At<uint64_t>(loss, 0), loss.count());
  EXPECT_EQ(At<uint8_t>(loss, 8), loss.kind());
  EXPECT_EQ(At<uint8_t>(loss, 9), loss.reason());
}

TEST(WireLayout, InFlight) {
  const wire::InFlight row(1, 2, 3, 4, 5, 6, true);
  EXPECT_EQ(At<uint64_t>(row, 0), row.sequence());
  EXPECT_EQ(At<uint64_t>(row, 8), row.bytes());
  EXPECT_EQ(At<int64_t>(row, 16), row.launched_ns());
  EXPECT_EQ(At<int32_t>(row, 24), row.peer());
  EXPECT_EQ(At<uint16_t>(row, 28), row.communicator());
  EXPECT_EQ(At<uint8_t>(row, 30), row.operation());
  EXPECT_EQ(At<uint8_t>(row, 31), 1);
}

TEST(WireLayout, OperationCount) {
  const wire::OperationCount row(1, 2, 3, 4, 5);
  EXPECT_EQ(At<uint64_t>(row, 0), row.launched());
  EXPECT_EQ(At<uint64_t>(row, 8), row.completed());
  EXPECT_EQ(At<int32_t>(row, 16), row.peer());
  EXPECT_EQ(At<uint16_t>(row, 20), row.communicator());
  EXPECT_EQ(At<uint8_t>(row, 22), row.operation());
}

TEST(WireLayout, Window) {
  const wire::Window window(1, 2, 3, 4, 5, 6);
  EXPECT_EQ(At<int64_t>(window, 0), window.index());
  EXPECT_EQ(At<int64_t>(window, 8), window.start_ns());
  EXPECT_EQ(At<int64_t>(window, 16), window.end_ns());
  EXPECT_EQ(At<int64_t>(window, 24), window.first_step());
  EXPECT_EQ(At<int64_t>(window, 32), window.last_step());
  EXPECT_EQ(At<uint8_t>(window, 40), window.kind());
}

TEST(WireLayout, Completeness) {
  const wire::Completeness seen(1, 2, 3, 4, 5);
  EXPECT_EQ(At<uint64_t>(seen, 0), seen.events());
  EXPECT_EQ(At<uint64_t>(seen, 8), seen.late());
  EXPECT_EQ(At<uint64_t>(seen, 16), seen.lost());
  EXPECT_EQ(At<uint64_t>(seen, 24), seen.sampled());
  EXPECT_EQ(At<uint64_t>(seen, 32), seen.outside());
}

TEST(WireLayout, Step) {
  const wire::Step step(1, 2, 3);
  EXPECT_EQ(At<int64_t>(step, 0), step.id());
  EXPECT_EQ(At<int64_t>(step, 8), step.duration_ns());
  EXPECT_EQ(At<int64_t>(step, 16), step.peer_wait_ns());
}

TEST(WireLayout, ConnectionSample) {
  const wire::ConnectionSample sample(1, 2, 3, 4, 5, 6, 7, 8);
  EXPECT_EQ(At<int64_t>(sample, 0), sample.time_ns());
  EXPECT_EQ(At<uint64_t>(sample, 8), sample.bytes());
  EXPECT_EQ(At<int64_t>(sample, 16), sample.busy_ns());
  EXPECT_EQ(At<uint64_t>(sample, 24), sample.retransmits());
  EXPECT_EQ(At<uint32_t>(sample, 32), sample.peer());
  EXPECT_EQ(At<uint8_t>(sample, 36), sample.resource());
  EXPECT_EQ(At<uint8_t>(sample, 37), sample.channels());
  EXPECT_EQ(At<uint16_t>(sample, 38), sample.communicator());
}

TEST(WireLayout, Connection) {
  const wire::Connection connection(1, 2, 3, 4, 5, 6, 7);
  EXPECT_EQ(At<uint64_t>(connection, 0), connection.bytes());
  EXPECT_EQ(At<int64_t>(connection, 8), connection.busy_ns());
  EXPECT_EQ(At<uint64_t>(connection, 16), connection.retransmits());
  EXPECT_EQ(At<uint32_t>(connection, 24), connection.peer());
  EXPECT_EQ(At<uint8_t>(connection, 28), connection.resource());
  EXPECT_EQ(At<uint8_t>(connection, 29), connection.channels());
  EXPECT_EQ(At<uint16_t>(connection, 30), connection.communicator());
}

TEST(WireLayout, ResourceLevel) {
  const wire::ResourceLevel level(1, 0.5, 0.25f, 4);
  EXPECT_EQ(At<uint64_t>(level, 0), level.samples());
  EXPECT_EQ(At<double>(level, 8), level.mean());
  EXPECT_EQ(At<float>(level, 16), level.max());
  EXPECT_EQ(At<uint8_t>(level, 20), level.resource());
}

TEST(WireLayout, PairSummary) {
  const wire::PairSummary pair(1, 2, 3, 4, 5, 6);
  EXPECT_EQ(At<uint64_t>(pair, 0), pair.count());
  EXPECT_EQ(At<int64_t>(pair, 8), pair.receive_wait_ns());
  EXPECT_EQ(At<int64_t>(pair, 16), pair.send_wait_ns());
  EXPECT_EQ(At<uint64_t>(pair, 24), pair.unmatched());
  EXPECT_EQ(At<uint32_t>(pair, 32), pair.source());
  EXPECT_EQ(At<uint32_t>(pair, 36), pair.destination());
}

}  // namespace
}  // namespace eroica
