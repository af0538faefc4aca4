// Rows as version 1 wrote them, spelled out here: its code is gone.
#include "state_store/upgrade.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "schemas/window.h"
#include "state_store/key_schema.h"

namespace eroica {
namespace {

// A name that a careless parser takes for more than one.
const std::string kJob = "a/0000\n7";

std::string Number(uint64_t value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}
std::string KeyOf(const std::string& task, const std::string& own) {
  return EncodeTaskPrefix(task) + own;
}
std::string SummarizeValue(uint64_t of) {
  return Number(3) + Number(kJob.size()) + kJob + Number(of) + "whatever follows";
}
std::string OldWindowKey(WindowKind kind, int64_t index) {
  KeyWriter writer;
  if (kind == WindowKind::kTime) return writer.PutByte(0).PutInt64(index).PutString(kJob).key();
  return writer.PutByte(1).PutString(kJob).PutInt64(index).key();
}

using Row = std::pair<std::string, std::string>;

TEST(Upgrade, SummarizeKeepsItsRows) {
  const std::string task = "summarize/eroica.events/3";
  const auto begin = [&](ProgressFamily family) {
    return KeyOf(task, BeginProgressKey(JobId(kJob), family).key());
  };
  EXPECT_EQ(UpgradeProgressRow(KeyOf(task, "rank/" + kJob + "/00000009"), SummarizeValue(9)),
            Row(begin(ProgressFamily::kRank) + KeyWriter().PutUint32(9).key(), SummarizeValue(9)));
  EXPECT_EQ(UpgradeProgressRow(KeyOf(task, "communicator/" + kJob + "/0000000000000009"),
                               SummarizeValue(9)),
            Row(begin(ProgressFamily::kCommunicator) + KeyWriter().PutUint64(9).key(),
                SummarizeValue(9)));
  EXPECT_EQ(
      UpgradeProgressRow(KeyOf(task, "reported/" + kJob + "/00000009"), SummarizeValue(9)),
      Row(begin(ProgressFamily::kReported) + KeyWriter().PutUint32(9).key(), SummarizeValue(9)));
  EXPECT_FALSE(UpgradeProgressRow(KeyOf(task, "rank/job/1"), "nonsense"));
  EXPECT_FALSE(UpgradeProgressRow(KeyOf(task, "rank/job/1"), Number(3) + Number(1 << 20) + "job"));
}

TEST(Upgrade, AlignKeepsItsRows) {
  const std::string task = "align/eroica.collectives/0";
  const ProgressFamily families[] = {ProgressFamily::kAligned, ProgressFamily::kCarried,
                                     ProgressFamily::kMembers};
  for (uint8_t tag = 0; tag < 3; ++tag) {
    const std::string rest = KeyWriter().PutUint64(7).PutByte(1).PutUint32(2).key();
    const std::string old = KeyWriter().PutByte(tag).PutString(kJob).key() + rest;
    EXPECT_EQ(UpgradeProgressRow(KeyOf(task, old), "value"),
              Row(KeyOf(task, BeginProgressKey(JobId(kJob), families[tag]).key() + rest), "value"));
  }
  EXPECT_FALSE(UpgradeProgressRow(KeyOf(task, KeyWriter().PutByte(3).PutString(kJob).key()), ""));
}

TEST(Upgrade, DiagnoseKeepsWhichWindowsAreClosed) {
  const std::string task = "diagnose/eroica.patterns/1";
  for (const WindowKind kind : {WindowKind::kTime, WindowKind::kSteps}) {
    const std::string key = BeginProgressKey(JobId(kJob), ProgressFamily::kClosedWindow)
                                .PutByte(static_cast<uint8_t>(kind))
                                .key();
    EXPECT_EQ(UpgradeProgressRow(KeyOf(task, OldWindowKey(kind, 0)), "-41"),
              Row(KeyOf(task, key), KeyWriter().PutInt64(-41).key()));
    EXPECT_FALSE(UpgradeProgressRow(KeyOf(task, OldWindowKey(kind, 0)), "41 "));
  }
  const std::string job = KeyWriter().PutString(kJob).key();
  EXPECT_EQ(
      UpgradeProgressRow(KeyOf(task, "standstill/" + job + "12"), "2"),
      Row(KeyOf(task,
                BeginProgressKey(JobId(kJob), ProgressFamily::kStalledStep).PutInt64(12).key()),
          KeyWriter().PutInt64(2).key()));
}

TEST(Upgrade, WhatDiagnoseRememberedIsLeftBehind) {
  const std::string task = "diagnose/eroica.patterns/1";
  const std::string job = KeyWriter().PutString(kJob).key();
  for (const std::string& own :
       {"claims/" + job, "gaps/" + job, "times/" + OldWindowKey(WindowKind::kTime, 4),
        OldWindowKey(WindowKind::kSteps, 4)}) {
    EXPECT_FALSE(UpgradeProgressRow(KeyOf(task, own), "7"));
  }
  EXPECT_FALSE(UpgradeProgressRow("no key", "7"));
  EXPECT_FALSE(UpgradeProgressRow(KeyOf("another/task/0", "rank/x"), SummarizeValue(9)));
}

}  // namespace
}  // namespace eroica
