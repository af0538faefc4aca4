#include "ops/act/actor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <sstream>

#include "ops/findings/testing/findings_topic.h"
#include "stream_ops/recording/scratch_directory.h"

namespace eroica {
namespace {

using Past = FindingSubscription::Past;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kNowMs = 1'700'000'000'000;

class ActorTest : public ::testing::Test {
 protected:
  ActorTest() {
    options_.policy.actions = {{.name = "spare",
                                .kind = ActionKind::kRestartRankOnSpare,
                                .command = {"/bin/swap", "{rank}"}}};
    options_.policy.rules = {
        {.name = "slow", .action = "spare", .confidence = 0, .quorum_windows = 1}};
    options_.policy.limits.cool_down = std::chrono::seconds(0);
    options_.execute = true;
    options_.wall_clock_ms = [] { return kNowMs; };
    options_.run = [this](const CommandOptions& command) -> absl::StatusOr<CommandResult> {
      // The intent is on the disk by now.
      EXPECT_THAT(ReadBytes(path_), HasSubstr(R"("entry":"intent")"));
      ran_.push_back(command.arguments.back());
      return result_;
    };
  }

  void Open() {
    actor_ = nullptr;
    journal_ = nullptr;
    journal_ = *ActionJournal::Open(path_);
    actor_ = std::make_unique<Actor>(options_, *journal_);
    ASSERT_TRUE(actor_->Begin().ok());
  }
  static FindingSubscription::Version Version(const std::string& id, int32_t rank,
                                              Past past = Past::kNews) {
    Finding finding = FindingOf(id, FindingState::kUpdated);
    finding.kind = FindingKind::kSlowRank;
    finding.subkind = "function";
    finding.caveats.clear();
    finding.culprits = {{.rank = rank, .host = "node" + std::to_string(rank)}};
    finding.emitted_at_ns = kNowMs * 1'000'000;
    return {.finding = finding, .partition = 0, .offset = 0, .past = past};
  }
  void Take(std::vector<FindingSubscription::Version> versions, std::vector<int32_t> begun = {}) {
    ASSERT_TRUE(actor_->Take({.versions = std::move(versions), .begun = std::move(begun)}).ok());
  }
  // Kinds of the entries in the journal, in order.
  std::vector<std::string> Entries() const {
    std::vector<std::string> kinds;
    std::istringstream lines(ReadBytes(path_));
    for (std::string line; std::getline(lines, line);) {
      const auto entry = DecodeJournalEntry(line);
      EXPECT_TRUE(entry.ok()) << line;
      if (entry.ok()) kinds.emplace_back(ToString(entry->kind));
    }
    return kinds;
  }

  const ScratchDirectory folder_;
  const std::string path_ = folder_.path() + "/act.jsonl";
  ActorOptions options_;
  CommandResult result_{.exit_code = 0, .output = "swapped\n"};
  std::vector<std::string> ran_;
  std::unique_ptr<ActionJournal> journal_;
  std::unique_ptr<Actor> actor_;
};

TEST_F(ActorTest, ActsOnceAboutAFindingAndWritesIntentAndOutcomeDown) {
  Open();
  Take({Version("a", 3)});
  Take({Version("a", 3)});
  EXPECT_THAT(ran_, ElementsAre("3"));
  EXPECT_THAT(Entries(), ElementsAre("intent", "outcome", "refused"));
  EXPECT_THAT(ReadBytes(path_), HasSubstr(R"("output":"swapped\n")"));
  EXPECT_EQ(actor_->probe().done, 1U);
}

TEST_F(ActorTest, ADryRunDoesNothingAndLeavesEverythingToBeDone) {
  options_.execute = false;
  Open();
  Take({Version("a", 3)});
  EXPECT_THAT(ran_, IsEmpty());
  EXPECT_THAT(Entries(), ElementsAre("dry_run"));
  options_.execute = true;
  Open();
  Take({Version("a", 3)});
  EXPECT_THAT(ran_, ElementsAre("3"));
}

TEST_F(ActorTest, AfterAKillBetweenIntentAndOutcomeNothingIsDoneAgain) {
  Open();
  Take({Version("a", 3)});
  const std::string intent = ReadBytes(path_).substr(0, ReadBytes(path_).find('\n') + 1);
  actor_ = nullptr;
  journal_ = nullptr;
  WriteBytes(path_, intent);  // as it was when it was killed
  ran_.clear();
  Open();
  Take({Version("a", 3)});
  EXPECT_THAT(ran_, IsEmpty());
  EXPECT_THAT(Entries(), ElementsAre("intent", "interrupted", "refused"));
  Open();
  EXPECT_THAT(Entries(), ElementsAre("intent", "interrupted", "refused")) << "said once";
}

TEST_F(ActorTest, AFailureIsAnOutcomeAndIsNotTriedAgain) {
  result_ = {.exit_code = 1, .output = "no spare is left\n"};
  Open();
  Take({Version("a", 3), Version("a", 3)});
  EXPECT_THAT(ran_, ElementsAre("3"));
  EXPECT_EQ(actor_->probe().failed, 1U);
  EXPECT_THAT(ReadBytes(path_), HasSubstr(R"("reason":"it ended with 1")"));
}

TEST_F(ActorTest, TheSameRefusalIsWrittenDownOnce) {
  options_.policy.rules[0].confidence = 1;
  Open();
  for (int i = 0; i < 5; ++i) Take({Version("a", 3)});
  Take({Version("b", 4)});
  EXPECT_THAT(Entries(), ElementsAre("refused", "refused"));
  EXPECT_EQ(actor_->probe().refused, 2U);
}

TEST_F(ActorTest, WhatWasHandledIsNotConsideredAndWhatWasThereBeforeIsOnceAllIsKnown) {
  Open();
  Take({Version("h", 1, Past::kHandled), Version("e", 2, Past::kEarlier)});
  EXPECT_THAT(ran_, IsEmpty());
  Take({}, {0});
  EXPECT_THAT(ran_, ElementsAre("2"));
}

TEST_F(ActorTest, WithoutTheAuditTopicNothingIsDone) {
  options_.publish = [](const JournalEntry&) { return absl::UnavailableError("no broker"); };
  Open();
  Take({Version("a", 3)});
  EXPECT_THAT(ran_, IsEmpty());
  EXPECT_THAT(Entries(), ElementsAre("refused"));
}

TEST_F(ActorTest, WhatSomebodyElseHasActedOnIsLeftAlone) {
  Open();
  actor_->ActedElsewhere({.at_ms = kNowMs - 10, .finding_id = "a"});
  Take({Version("a", 3)});
  EXPECT_THAT(ran_, IsEmpty());
  EXPECT_THAT(Entries(), ElementsAre("refused"));
}

}  // namespace
}  // namespace eroica
