#include "ops/cli/stored_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/cli/state_folder.h"
#include "schemas/codec.h"
#include "schemas/test_encoder.h"
#include "state_store/in_memory_store.h"
#include "state_store/key_schema.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class StoredFindingsTest : public ::testing::Test {
 protected:
  void Store(const std::string& job, const std::string& id, int64_t first_window) {
    Finding finding;
    finding.job = JobId{job};
    finding.id = id;
    finding.first_window = first_window;
    const Bytes bytes = encoder_.Encode(finding);
    StoreBytes(job, id, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  void StoreBytes(const std::string& job, const std::string& id, std::string value) {
    StateChanges changes;
    changes.Put(Table::kFindings, EncodeKey(FindingKey{.job = JobId{job}, .finding = id}),
                std::move(value));
    ASSERT_TRUE(store_.Write(changes).ok());
  }
  std::vector<std::string> Read(const std::string& job) {
    absl::StatusOr<StoredFindings> stored = ReadStoredFindings(store_, job);
    EXPECT_TRUE(stored.ok()) << stored.status();
    std::vector<std::string> ids;
    for (const Finding& finding : stored->findings)
      ids.push_back(finding.job.value + ":" + finding.id);
    malformed_ = stored->malformed;
    return ids;
  }

  InMemoryStore store_;
  TestEncoder encoder_;
  uint64_t malformed_ = 0;
};

TEST_F(StoredFindingsTest, AreInTheOrderInWhichTheyWereFirstSaid) {
  EXPECT_THAT(Read(""), IsEmpty());
  Store("night", "a", 7);
  Store("night", "c", 3);
  Store("night", "b", 3);
  Store("day", "d", 9);
  EXPECT_THAT(Read(""), ElementsAre("day:d", "night:b", "night:c", "night:a"));
}

TEST_F(StoredFindingsTest, OfOneJobAreOfNoOtherWithTheSamePrefix) {
  Store("night", "a", 1);
  Store("night2", "b", 1);
  EXPECT_THAT(Read("night"), ElementsAre("night:a"));
  EXPECT_THAT(Read("nigh"), IsEmpty());
}

TEST_F(StoredFindingsTest, WhatIsNoFindingIsSkippedAndCounted) {
  Store("night", "a", 1);
  StoreBytes("night", "b", "");
  StoreBytes("night", "c", "no flatbuffer at all, and longer than any header of one");
  EXPECT_THAT(Read(""), ElementsAre("night:a"));
  EXPECT_EQ(malformed_, 2u);
}

TEST(StateFolder, IsConfiguredOrBesideTheRecordingOrHere) {
  NodeConfig config;
  EXPECT_EQ(StateFolder(config), "eroica-state");
  config.node.recording = "a/recording/";
  EXPECT_EQ(StateFolder(config), "a/recording.state");
  config.state.folder = "elsewhere";
  EXPECT_EQ(StateFolder(config), "elsewhere");
}

}  // namespace
}  // namespace eroica
