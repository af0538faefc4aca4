#include "ops/act/action_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "stream_ops/recording/scratch_directory.h"

namespace eroica {
namespace {

using Kind = JournalEntryKind;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

JournalEntry Entry(Kind kind, const std::string& id) {
  return {.kind = kind,
          .id = id,
          .at_ms = 1'700'000'000'123,
          .finding_id = "finding-" + id,
          .version_id = "version",
          .title = "Rank 3 \x1b[2J is slow",
          .job = "night",
          .hosts = {"node1", "node2"},
          .rule = "slow",
          .action = "spare",
          .arguments = {"/bin/swap", "a b", "3"},
          .reason = "why",
          .done = kind == Kind::kOutcome,
          .exit_code = kind == Kind::kOutcome ? 0 : -1,
          .output = kind == Kind::kOutcome ? "done\n" : "",
          .took_ms = kind == Kind::kOutcome ? 12 : 0};
}

class ActionJournalTest : public ::testing::Test {
 protected:
  std::unique_ptr<ActionJournal> Open() {
    auto journal = ActionJournal::Open(path_);
    EXPECT_TRUE(journal.ok()) << journal.status();
    return journal.ok() ? *std::move(journal) : nullptr;
  }
  void Append(std::initializer_list<JournalEntry> entries) {
    const auto journal = Open();
    for (const JournalEntry& entry : entries) ASSERT_TRUE(journal->Append(entry).ok());
  }

  const ScratchDirectory folder_;
  const std::string path_ = folder_.path() + "/act.jsonl";
};

TEST_F(ActionJournalTest, AnEntryComesBackAsItWas) {
  for (int kind = 0; kind < kJournalEntryKindCount; ++kind) {
    const JournalEntry entry = Entry(static_cast<Kind>(kind), "1");
    const std::string line = EncodeJournalEntry(entry);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_EQ(line.find('\x1b'), std::string::npos);
    const auto decoded = DecodeJournalEntry(line);
    ASSERT_TRUE(decoded.ok()) << line;
    EXPECT_EQ(*decoded, entry) << line;
  }
  EXPECT_THAT(EncodeJournalEntry(Entry(Kind::kIntent, "1")),
              HasSubstr(R"("at":"2023-11-14T22:13:20.123Z")"));
}

TEST_F(ActionJournalTest, AnIntentWithoutOutcomeIsInterrupted) {
  Append({Entry(Kind::kRefused, "0"), Entry(Kind::kIntent, "1"), Entry(Kind::kOutcome, "1"),
          Entry(Kind::kDryRun, "2"), Entry(Kind::kIntent, "3")});
  {
    const auto journal = Open();
    EXPECT_THAT(journal->intents(), SizeIs(2)) << "a dry run is none";
    ASSERT_THAT(journal->interrupted(), SizeIs(1));
    EXPECT_EQ(journal->interrupted()[0].finding_id, "finding-3");
  }
  Append({Entry(Kind::kInterrupted, "3")});
  EXPECT_THAT(Open()->interrupted(), IsEmpty()) << "it has been said";
  EXPECT_THAT(Open()->intents(), SizeIs(2)) << "and counts as done for ever";
}

TEST_F(ActionJournalTest, ALineThatACrashHasCutOffIsRemoved) {
  Append({Entry(Kind::kIntent, "1")});
  const std::string whole = ReadBytes(path_);
  WriteBytes(path_, whole + R"({"entry":"outco)");
  EXPECT_THAT(Open()->interrupted(), SizeIs(1));
  EXPECT_EQ(ReadBytes(path_), whole);
}

TEST_F(ActionJournalTest, AJournalThatCannotBeReadIsNotGuessedAt) {
  WriteBytes(path_, "something else\n");
  const auto journal = ActionJournal::Open(path_);
  EXPECT_TRUE(absl::IsDataLoss(journal.status()));
  EXPECT_THAT(std::string(journal.status().message()), HasSubstr("act.jsonl:1"));
}

TEST_F(ActionJournalTest, OneProcessHoldsIt) {
  const auto journal = Open();
  EXPECT_TRUE(absl::IsFailedPrecondition(ActionJournal::Open(path_).status()));
}

TEST_F(ActionJournalTest, IsItsOwnersAloneAndNoPipe) {
  Append({Entry(Kind::kIntent, "1")});
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  const std::string pipe = folder_.path() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(std::string(ActionJournal::Open(pipe).status().message()), HasSubstr("pipe"));
}

}  // namespace
}  // namespace eroica
