#include "ops/findings/audit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "stream_ops/log/memory_log.h"

namespace eroica {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

AuditEntry Entry(AuditAction action, const std::string& target = "f") {
  return {.id = "",
          .at_ms = 7,
          .by = "me",
          .action = action,
          .target = target,
          .detail = "a \"note\"\n",
          .until_ms = action == AuditAction::kMute ? 99 : 0};
}

class AuditLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(
        log_.admin()
            .CreateTopic(
                {.name = "eroica.audit", .partitions = 1, .config = {}, .replication_factor = 1})
            .ok());
    PublishedFinding published;
    published.finding.id = "f";
    index_.Add(published);
  }

  MemoryLog log_;
  FindingIndex index_{100'000};
};

TEST_F(AuditLogTest, WhatIsAppendedCountsAtOnceAndForTheFinding) {
  AuditLog audit(log_, "eroica", index_);
  AuditEntry mute = Entry(AuditAction::kMute);
  ASSERT_TRUE(audit.Append(&mute).ok());
  AuditEntry acknowledge = Entry(AuditAction::kAcknowledge);
  ASSERT_TRUE(audit.Append(&acknowledge).ok());
  EXPECT_NE(mute.id, acknowledge.id);
  ASSERT_THAT(audit.Entries(), SizeIs(2));
  EXPECT_EQ(audit.Entries()[0], acknowledge);
  const Annotation& annotation = index_.Find("f")->annotation;
  EXPECT_EQ(annotation.muted->until_ms, 99);
  EXPECT_EQ(annotation.acknowledged->by, "me");
  AuditEntry unmute = Entry(AuditAction::kUnmute);
  ASSERT_TRUE(audit.Append(&unmute).ok());
  EXPECT_FALSE(index_.Find("f")->annotation.muted);
  EXPECT_TRUE(index_.Find("f")->annotation.acknowledged);
}

TEST_F(AuditLogTest, AnotherNodeLearnsOfItFromTheTopic) {
  {
    AuditLog audit(log_, "eroica", index_);
    for (const AuditAction action :
         {AuditAction::kAcknowledge, AuditAction::kCapture, AuditAction::kMute}) {
      AuditEntry entry = Entry(action, action == AuditAction::kCapture ? "job" : "f");
      ASSERT_TRUE(audit.Append(&entry).ok());
    }
  }
  FindingIndex other_index(100'000);
  AuditLog other(log_, "eroica", other_index);
  other.Start();
  while (other.version() < 3) std::this_thread::yield();
  PublishedFinding published;
  published.finding.id = "f";
  other_index.Add(published);
  EXPECT_TRUE(other_index.Find("f")->annotation.acknowledged);
  EXPECT_TRUE(other_index.Find("f")->annotation.muted);
  AuditEntry own = Entry(AuditAction::kUnmute);
  ASSERT_TRUE(other.Append(&own).ok());
  EXPECT_EQ(other.Entries().size(), 4U) << "its own record is not taken twice";
}

TEST_F(AuditLogTest, WithoutATopicNothingIsDone) {
  MemoryLog empty;
  AuditLog audit(empty, "eroica", index_);
  AuditEntry entry = Entry(AuditAction::kMute);
  EXPECT_FALSE(audit.Append(&entry).ok());
  EXPECT_THAT(audit.Entries(), IsEmpty());
  EXPECT_FALSE(index_.Find("f")->annotation.muted);
}

TEST_F(AuditLogTest, ATopicThatIsNotThereIsMissingUntilItIsMade) {
  AuditLog audit(log_, "other", index_);
  EXPECT_FALSE(audit.is_missing());
  audit.Start();
  while (!audit.is_missing()) std::this_thread::yield();
  EXPECT_FALSE(audit.caught_up());
  ASSERT_TRUE(
      log_.admin()
          .CreateTopic(
              {.name = "other.audit", .partitions = 1, .config = {}, .replication_factor = 1})
          .ok());
  while (!audit.caught_up() || audit.is_missing()) std::this_thread::yield();
}

TEST(AuditEntryTest, IsReadAsItWasWrittenAndNothingElseIs) {
  for (int i = 0; i < kAuditActionCount; ++i) {
    const AuditEntry entry = Entry(static_cast<AuditAction>(i));
    EXPECT_EQ(DecodeAuditEntry(EncodeAuditEntry(entry)), entry);
  }
  EXPECT_FALSE(DecodeAuditEntry(""));
  EXPECT_FALSE(DecodeAuditEntry("[]"));
  EXPECT_FALSE(DecodeAuditEntry(R"({"id":"1"})"));
  EXPECT_FALSE(DecodeAuditEntry(
      R"({"id":"1","at_ms":1,"by":"a","action":"erase","target":"t","detail":"","until_ms":0})"));
  EXPECT_FALSE(DecodeAuditEntry(
      R"({"id":"1","at_ms":"1","by":"a","action":"mute","target":"t","detail":"","until_ms":0})"));
}

}  // namespace
}  // namespace eroica
