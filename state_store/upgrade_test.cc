#include "state_store/upgrade.h"

#include <gtest/gtest.h>

#include "state_store/key_schema.h"

namespace eroica {
namespace {

const std::string kFirstTask = EncodeTaskPrefix("diagnose/eroica.patterns/0");
const std::string kSecondTask = EncodeTaskPrefix("diagnose/eroica.patterns/1");

TEST(Upgrade, FindingsAndJobsComeUnderTheTaskThatDiagnosesTheJob) {
  DiagnosingTasks tasks;
  tasks.Note(kFirstTask + BeginProgressKey(JobId("a"), ProgressFamily::kLedger).key());
  tasks.Note(kSecondTask + BeginProgressKey(JobId("b"), ProgressFamily::kLedger).key());
  tasks.Note(EncodeTaskPrefix("align/eroica.collectives/7") +
             BeginProgressKey(JobId("a"), ProgressFamily::kAligned).key());
  const std::string finding = EncodeKey(FindingKey{.job = JobId("a"), .finding = "1"});
  EXPECT_EQ(tasks.Upgrade(finding), kFirstTask + finding);
  EXPECT_EQ(tasks.Upgrade(EncodeKey(JobId("b"))), kSecondTask + EncodeKey(JobId("b")));
}

TEST(Upgrade, AJobThatIsOverComesUnderAnyTaskThatDiagnoses) {
  DiagnosingTasks tasks;
  tasks.Note(EncodeTaskPrefix("summarize/eroica.events/0") + "input");
  tasks.Note(kSecondTask + "input");
  EXPECT_EQ(tasks.Upgrade(EncodeKey(JobId("over"))), kSecondTask + EncodeKey(JobId("over")));
}

TEST(Upgrade, WhatNobodyDiagnosesAndWhatIsNoKeyIsLeftBehind) {
  DiagnosingTasks tasks;
  EXPECT_EQ(tasks.Upgrade(EncodeKey(JobId("a"))), std::nullopt);
  tasks.Note("no key");
  tasks.Note(kFirstTask + "input");
  EXPECT_EQ(tasks.Upgrade("no key"), std::nullopt);
}

}  // namespace
}  // namespace eroica
