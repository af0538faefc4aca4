#include "ops/cli/known_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "state_store/in_memory_store.h"
#include "state_store/key_schema.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/runtime/changelog.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kRow =
    R"({"world_size":8,"ranks_seen":7,"roles":1,"window_kind":"steps","last_window":23})";

KnownJobs Nights() {
  KnownJobs known{.node_has_run = true};
  known.jobs["night"] = {.last_window = 23, .world_size = 8, .ranks_seen = 7};
  known.jobs["young"] = {};
  return known;
}

NoFindings Explain(const KnownJobs& known, const char* job) {
  return ExplainNoFindings(known, job, "localhost:9092", "eroica node --bootstrap localhost:9092");
}

TEST(ExplainNoFindings, NoNodeHasRun) {
  const NoFindings none = Explain(KnownJobs(), "night");
  EXPECT_FALSE(none.is_healthy);
  EXPECT_EQ(none.text,
            "No findings: no node has run over localhost:9092 yet. Run `eroica node --bootstrap "
            "localhost:9092`.");
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
  EXPECT_TRUE(none.is_healthy);
  EXPECT_EQ(none.text, "Nothing found in job night: diagnosed to window 23, 7 of 8 ranks seen.");
  const NoFindings all = Explain(Nights(), "");
  EXPECT_TRUE(all.is_healthy);
  EXPECT_THAT(all.text, HasSubstr("2 jobs known, diagnosed: night (to window 23), young"));
}

TEST(ExplainNoFindings, NothingIsHealthyOfWhichAPartIsLost) {
  KnownJobs known = Nights();
  for (int i = 0; i < 7; ++i) known.lost.push_back("segment " + std::to_string(i) + " is cut");
  for (const char* job : {"night", ""}) {
    const NoFindings none = Explain(known, job);
    EXPECT_FALSE(none.is_healthy);
    EXPECT_THAT(none.text,
                AllOf(HasSubstr("segment 0 is cut; segment 1 is cut"),
                      HasSubstr("and of 3 more partitions"), Not(HasSubstr("Nothing found"))));
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
