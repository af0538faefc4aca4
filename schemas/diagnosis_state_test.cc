// What diagnose keeps of a job comes back as it was, and nothing else is taken for it.
#include "schemas/diagnosis_state.h"

#include <gtest/gtest.h>

#include <string>

#include "schemas/codec.h"

namespace eroica {
namespace {

// Names come from outside: they hold whatever bytes they like.
const std::string kHostile("a\nb\0 9 9\x1b[2J", 12);

RankTimes ExampleTimes(uint32_t ranks) {
  RankTimes times;
  times.window = {.kind = WindowKind::kSteps, .index = 7, .start_ns = 1, .end_ns = 9};
  times.world_size = ranks;
  for (uint32_t rank = 0; rank < ranks; ++rank)
    times.rows.push_back({rank, 1.5f * static_cast<float>(rank), 0.25f});
  times.roles = std::string(size_t{3} * CodecLimits::kNameBytes, 'r');
  times.processes = 42;
  times.device_calls.resize(2);
  times.device_calls[1].name = kHostile;
  return times;
}

LedgerState ExampleLedger() {
  LedgerState ledger;
  ledger.shown_otherwise = {{kHostile, 1}, {"f2", 3}};
  ledger.lasting_part = {{"f2", 17}};
  ClaimMemoryState& memory = ledger.memory;
  memory.first_window = 3;
  memory.asked = 5;
  memory.unrest[2] = 9;
  memory.records.resize(2);
  memory.records[1] = {.window = 4,
                       .kind = FindingKind::kCommunication,
                       .first_step = 17,
                       .slow_steps = 3,
                       .steps = 8,
                       .share = 0.125,
                       .least_windows = 2,
                       .ripe = true,
                       .far_off = true,
                       .accident = true,
                       .roams = true,
                       .ranks = {-1, 2, 5},
                       .function = kHostile,
                       .first_seen_ns = 1'700'000'000'000'000'000};
  return ledger;
}

TelemetryGapsState ExampleGaps() {
  return {
      .steps = 12.5,
      .gaps = {{.rank = 1, .unseen = 2.5, .runs = 1, .since = 4, .heard = true, .host = kHostile},
               {.rank = 3, .unseen = 1, .runs = 1, .since = 2, .heard = false, .host = ""}},
      .heard = {1, 3, 7},
      .ended = {2}};
}

template <typename T>
T ReadBack(const T& state) {
  T read;
  EXPECT_TRUE(DecodeState(EncodeState(state), &read));
  return read;
}

TEST(DiagnosisState, ComesBackAsItWas) {
  EXPECT_EQ(ReadBack(ExampleTimes(9)), ExampleTimes(9));
  EXPECT_EQ(ReadBack(ExampleLedger()), ExampleLedger());
  EXPECT_EQ(ReadBack(ExampleGaps()), ExampleGaps());
  EXPECT_EQ(ReadBack(RankTimes{}), RankTimes{});
  EXPECT_EQ(ReadBack(LedgerState{}), LedgerState{});
  EXPECT_EQ(ReadBack(TelemetryGapsState{}), TelemetryGapsState{});
}

// Of 100,000 ranks: more than a batch of patterns may have rows.
TEST(DiagnosisState, KeepsTheTimesOfLargeJobs) {
  ASSERT_GT(100'000u, CodecLimits::kPatterns);
  const RankTimes times = ExampleTimes(100'000);
  EXPECT_EQ(ReadBack(times), times);
}

TEST(DiagnosisState, IsReadIntoWhatHeldAnother) {
  RankTimes times = ExampleTimes(3);
  ASSERT_TRUE(DecodeState(EncodeState(RankTimes{}), &times));
  EXPECT_EQ(times, RankTimes{});
}

TEST(DiagnosisState, WhatIsNoStateOfTheTypeIsRefused) {
  RankTimes times;
  LedgerState ledger;
  TelemetryGapsState gaps;
  EXPECT_FALSE(DecodeState("", &times));
  EXPECT_FALSE(DecodeState("6 1 0 0", &ledger));
  EXPECT_FALSE(DecodeState(EncodeState(ExampleGaps()), &ledger));
  EXPECT_FALSE(DecodeState(EncodeState(ExampleLedger()), &times));
  EXPECT_FALSE(DecodeState(EncodeState(ExampleTimes(2)), &gaps));
}

// Whatever a damaged disk makes of the bytes, reading them ends.
TEST(DiagnosisState, DamagedBytesAreReadOrRefused) {
  const std::string whole = EncodeState(ExampleTimes(4));
  for (size_t at = 0; at < whole.size(); ++at) {
    RankTimes times;
    std::string bytes = whole;
    bytes[at] = static_cast<char>(~bytes[at]);
    if (DecodeState(bytes, &times)) {
      EXPECT_LE(times.rows.size(), whole.size());
    }
    EXPECT_FALSE(DecodeState(whole.substr(0, at), &times));
  }
}

}  // namespace
}  // namespace eroica
