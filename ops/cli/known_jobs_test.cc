#include "ops/cli/known_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "state_store/in_memory_store.h"
#include "state_store/key_schema.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/runtime/changelog.h"

namespace eroica {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kRow =
    R"({"world_size":8,"ranks_seen":7,"roles":1,"window_kind":"steps","last_window":23})";

KnownJobs Nights() {
  KnownJobs known{.node_has_run = true};
  known.jobs["night"] = {.last_window = 23, .world_size = 8, .ranks_seen = 8};
  known.jobs["young"] = {};
  return known;
}

NoFindings Explain(const KnownJobs& known, const char* job, size_t resolved = 0) {
  return ExplainNoFindings(known, {.job = job,
                                   .resolved = resolved,
                                   .source = "localhost:9092",
                                   .node_command = "eroica node --bootstrap localhost:9092"});
}

TEST(ExplainNoFindings, NoNodeHasRun) {
  const NoFindings none = Explain(KnownJobs(), "night");
  EXPECT_FALSE(none.is_healthy);
  EXPECT_EQ(none.text,
            "No findings: no node has run over localhost:9092 yet. Run `eroica node --bootstrap "
            "localhost:9092`.");
  const NoFindings resolved = Explain(KnownJobs(), "night", 1);
  EXPECT_EQ(resolved.exit_code(), kExitCannotTell);
  EXPECT_EQ(resolved.text,
            "Cannot tell: 1 finding is resolved, and the state of the node that found them is not "
            "here. Run `eroica node --bootstrap localhost:9092`.");
}

TEST(ExplainNoFindings, NoSuchJobNamesTheOneThatIsNear) {
  const NoFindings none = Explain(Nights(), "nigt");
  EXPECT_FALSE(none.is_healthy);
  EXPECT_THAT(none.text, AllOf(HasSubstr("No job 'nigt' is known; did you mean 'night'?"),
                               HasSubstr("Known: night (to window 23), young (no window yet).")));
  EXPECT_THAT(Explain(KnownJobs{.node_has_run = true}, "x").text, HasSubstr("No job is."));
}

TEST(ExplainNoFindings, AHealthyJobIsDiagnosedToAWindow) {
  const NoFindings none = Explain(Nights(), "night");
  EXPECT_EQ(none.exit_code(), kExitNothingFound);
  EXPECT_EQ(none.text, "Nothing found in job night: diagnosed to window 23, 8 of 8 ranks seen.");
  EXPECT_THAT(none.reasons, IsEmpty());
  const NoFindings all = Explain(Nights(), "");
  EXPECT_TRUE(all.is_healthy);
  EXPECT_THAT(all.text, HasSubstr("2 jobs known, diagnosed: night (to window 23), young"));
  KnownJobs only_night{.node_has_run = true};
  only_night.jobs["night"] = Nights().jobs["night"];
  EXPECT_EQ(Explain(only_night, "").text, none.text) << "there is no other job";
}

TEST(ExplainNoFindings, FindingsThatAreResolvedAreSaidAndNoneIsOpen) {
  const NoFindings none = Explain(Nights(), "night", 2);
  EXPECT_EQ(none.exit_code(), kExitNothingFound);
  EXPECT_EQ(none.text,
            "No finding in job night is open: 2 findings are resolved; diagnosed to window 23, 8 "
            "of 8 ranks seen.");
}

// The missing rank was not diagnosed.
TEST(ExplainNoFindings, AJobWhoseRanksWereNotAllSeenIsNotHealthy) {
  KnownJobs known = Nights();
  known.jobs["night"].ranks_seen = 7;
  for (const char* job : {"night", ""}) {
    const NoFindings none = Explain(known, job);
    EXPECT_EQ(none.exit_code(), kExitCannotTell) << job;
    EXPECT_THAT(none.reasons, ElementsAre(HasSubstr("7 of 8 ranks were seen in window 23"))) << job;
  }
}

// What was recorded is whole, but for the end of some ranks.
TEST(ExplainNoFindings, NorIsOneThatIsRecordedWholeButForItsNewestWindow) {
  KnownJobs known = Nights();
  known.jobs["night"].ranks_seen = 1;
  known.jobs["night"].gaps = CaptureGaps{};
  const NoFindings none = Explain(known, "night");
  EXPECT_EQ(none.exit_code(), kExitCannotTell);
  EXPECT_THAT(none.reasons, ElementsAre(HasSubstr("1 of 8 ranks were seen in window 23")));
}

TEST(ExplainNoFindings, AJobInWhichTwoProcessesAreOneRankIsNotHealthy) {
  KnownJobs known = Nights();
  known.jobs["night"].contested = {{.rank = 0, .processes = 2, .hosts = {"a", "b"}}};
  for (const char* job : {"night", ""}) {
    const NoFindings none = Explain(known, job);
    EXPECT_EQ(none.exit_code(), kExitCannotTell) << job;
    EXPECT_THAT(none.reasons,
                ElementsAre(HasSubstr("2 processes say that they are rank 0 (hosts a, b)")))
        << job;
  }
}

TEST(ExplainNoFindings, WhatWasNotRecordedOfAJobMakesItUndecided) {
  KnownJobs known = Nights();
  known.jobs["night"].gaps = CaptureGaps{.sentences = {"No training step was seen."}};
  EXPECT_EQ(Explain(known, "night").exit_code(), kExitNothingFound);
  EXPECT_THAT(Explain(known, "night").reasons, ElementsAre("No training step was seen."));
  known.jobs["night"].gaps->undecided = true;
  const NoFindings none = Explain(known, "night");
  EXPECT_EQ(none.exit_code(), kExitCannotTell);
  EXPECT_EQ(none.text, "Cannot tell for job night: nothing stands out, and that does not suffice.");
  EXPECT_EQ(Explain(known, "night", 1).exit_code(), kExitCannotTell);
  EXPECT_EQ(Explain(known, "night", 1).text,
            "Cannot tell for job night: 1 finding is resolved, nothing else stands out, and that "
            "does not suffice.");
  EXPECT_EQ(Explain(known, "").exit_code(), kExitCannotTell);
  EXPECT_THAT(Explain(known, "").reasons, ElementsAre("night: No training step was seen."));
}

TEST(ExplainNoFindings, NothingIsHealthyOfWhichAPartIsLost) {
  KnownJobs known = Nights();
  for (int i = 0; i < 7; ++i) known.lost.push_back("segment " + std::to_string(i) + " is cut");
  for (const char* job : {"night", ""}) {
    const NoFindings none = Explain(known, job);
    EXPECT_FALSE(none.is_healthy);
    EXPECT_THAT(none.text,
                AllOf(HasSubstr("the recording is not whole"), Not(HasSubstr("Nothing found"))));
    EXPECT_THAT(none.reasons,
                ElementsAre("segment 0 is cut.", "segment 1 is cut.", "segment 2 is cut.",
                            "segment 3 is cut.", "3 more partitions have lost a part."));
  }
}

TEST(ExplainNoFindings, AJobOfWhichNoWindowIsDiagnosedIsNotHealthy) {
  EXPECT_FALSE(Explain(Nights(), "young").is_healthy);
  KnownJobs only_young{.node_has_run = true};
  only_young.jobs["young"] = {};
  EXPECT_FALSE(Explain(only_young, "").is_healthy);
}

TEST(ExplainNoFindings, NamesDriveNoTerminalAndAreNotListedWithoutEnd) {
  KnownJobs known{.node_has_run = true};
  for (int i = 0; i < 100; ++i) known.jobs["job\x1b[2J" + std::to_string(i)] = {.last_window = 1};
  const std::string text = Explain(known, "no\x1b[31m").text + Explain(known, "").text;
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("and 92 more"));
}

TEST(ExplainNoFindings, AJobThatFailedForNoKnownReasonIsNotHealthy) {
  KnownJobs known = Nights();
  known.jobs["night"].failure = UnexplainedFailure{
      .signal = 15, .failure = {.exit_code = 1, .ranks = 8, .within_ns = 2'000'000}};
  const NoFindings all = Explain(known, "night");
  EXPECT_EQ(all.exit_code(), kExitCannotTell);
  EXPECT_THAT(all.text, HasSubstr("Cannot tell for job night"));
  EXPECT_THAT(all.reasons,
              ElementsAre(HasSubstr("All ranks were ended by SIGTERM within 2.00 ms, and the job "
                                    "ended with exit code 1: who sent it")));
  known.jobs["night"].failure->failure.ranks = 6;
  known.jobs["night"].gaps = CaptureGaps{};
  EXPECT_THAT(Explain(known, "night").reasons,
              ElementsAre(HasSubstr("6 of 8 ranks were ended by SIGTERM")));
  known.jobs["night"].failure = UnexplainedFailure{.signal = 0, .failure = {.signal = 9}};
  EXPECT_THAT(Explain(known, "night").reasons,
              ElementsAre(HasSubstr("The job ended by SIGKILL, and no process of a rank")));
}

TEST(JobsOfStore, KnowWhichJobFailed) {
  const UnexplainedFailure failure{.signal = 15, .failure = {.exit_code = 1, .ranks = 8}};
  InMemoryStore store;
  StateChanges changes;
  const std::string task = EncodeTaskPrefix("diagnose/3");
  changes.Put(Table::kJobs, task + EncodeKey(JobId("night")), kRow);
  changes.Put(Table::kProgress,
              task + BeginProgressKey(JobId("night"), ProgressFamily::kFailure).key(),
              EncodeFailureRow(failure));
  ASSERT_TRUE(store.Write(changes).ok());
  const absl::StatusOr<KnownJobs> known = JobsOfStore(store);
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_EQ(known->jobs.at("night").failure, failure);
  EXPECT_EQ(known->jobs.at("night").last_window, 23);
}

TEST(JobsOfStore, AreThoseOfAllTasks) {
  InMemoryStore store;
  StateChanges changes;
  changes.Put(Table::kJobs, EncodeTaskPrefix("diagnose/3") + EncodeKey(JobId("night")), kRow);
  changes.Put(Table::kProgress,
              EncodeTaskPrefix("summarize/1") +
                  BeginProgressKey(JobId("young"), ProgressFamily::kRank).PutUint32(0).key(),
              "x");
  ASSERT_TRUE(store.Write(changes).ok());
  const absl::StatusOr<KnownJobs> known = JobsOfStore(store);
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_TRUE(known->node_has_run);
  ASSERT_EQ(known->jobs.size(), 2u);
  EXPECT_EQ(known->jobs.at("night").last_window, 23);
  EXPECT_EQ(known->jobs.at("night").ranks_seen, 7u);
  EXPECT_FALSE(known->jobs.at("young").diagnosed());
}

TEST(JobsOfChangelog, AreWhatStandsInItAtItsEnd) {
  MemoryLog log;
  const auto read = [&log] { return JobsOfChangelog(log, "eroica", std::chrono::seconds(60)); };
  EXPECT_FALSE(read()->node_has_run) << "there is no such topic";
  const std::string topic = ChangelogTopic("eroica", "diagnose");
  ASSERT_TRUE(log.admin().CreateTopic({.name = topic, .partitions = 2}).ok());
  EXPECT_FALSE(read()->node_has_run);
  std::vector<ProducerRecord> records;
  const ChangelogRecords writer(topic, 1, {.epoch = 1, .id = 7}, 100'000);
  for (const char* job : {"night", "gone"})
    writer.Put(RowName(Table::kJobs, EncodeKey(JobId(job))), kRow, 0, &records);
  writer.Delete(RowName(Table::kJobs, EncodeKey(JobId("gone"))), 10, &records);
  records.push_back(writer.Committed(TaskPosition()));
  const auto producer = log.NewProducer();
  for (const ProducerRecord& record : records) ASSERT_TRUE((*producer)->Append(record).ok());
  const absl::StatusOr<KnownJobs> known = read();
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_TRUE(known->node_has_run);
  EXPECT_TRUE(known->is_whole);
  ASSERT_EQ(known->jobs.size(), 1u);
  EXPECT_EQ(known->jobs.at("night").last_window, 23);
}

}  // namespace
}  // namespace eroica
