#include "stream_ops/replay/replay_run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "schemas/codec.h"
#include "schemas/testing/not_empty.h"
#include "schemas/time_unit.h"
#include "state_store/in_memory_store.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/recording/recorded_slice.h"
#include "stream_ops/recording/scratch_directory.h"
#include "stream_ops/runtime/bounded_run.h"
#include "stream_ops/runtime/testing/log_reading.h"
#include "stream_ops/runtime/testing/window_sum.h"
#include "stream_ops/runtime/topic_layout.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::ReadTopic;
using testing::Repeats;
using testing::SortedValues;
using testing::WindowSum;

constexpr const char* kEvents = "eroica.events";
constexpr const char* kPatterns = "eroica.patterns";
constexpr const char* kFindings = "eroica.findings";
constexpr const char* kDeadLetters = "eroica.deadletter";
constexpr int64_t kBegin = 1'000'000;

Topology TwoStages(std::vector<PunctuationType>* punctuations = nullptr) {
  return Topology(
      {{"first", Topic::kEvents,
        [punctuations] {
          return std::make_unique<WindowSum>(Topic::kPatterns, Repeats::kAdd, punctuations);
        }},
       {"second", Topic::kPatterns,
        [] { return std::make_unique<WindowSum>(Topic::kFindings, Repeats::kIgnore); }}});
}

// The log that the live node worked on, and replays of it.
class ReplayRunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto source = RecordingLog::Open({.directory = folder_.path() + "/source"});
    ASSERT_TRUE(source.ok()) << source.status();
    source_ = *std::move(source);
    TopicLayout layout;
    layout.partitions.fill(3);
    ASSERT_TRUE(CreateMissingTopics(source_->admin(), "eroica", layout).ok());
  }

  void Append(const std::string& topic, const std::string& key, const std::string& value,
              int64_t time_ms, Headers headers = {{"job", "job"}}) {
    const absl::Status status = (*source_->NewProducer())
                                    ->Append({.topic = topic,
                                              .key = key,
                                              .value = value,
                                              .headers = std::move(headers),
                                              .timestamp_ms = time_ms});
    ASSERT_TRUE(status.ok()) << status;
  }

  // Ten windows of five keys, three amounts each, and a bad record a window.
  void AppendWindows() {
    int64_t time = kBegin;
    for (int window = 10; window < 20; ++window) {
      for (int amount = 1; amount <= 3; ++amount) {
        for (const char* key : {"a", "b", "c", "d", "e"})
          Append(kEvents, key, fmt::format("{}:{}:{}", key, window, amount), time += 10);
      }
      Append(kEvents, "bad", fmt::format("no record {}", window), time += 10);
    }
  }

  ReplayInput Input(std::optional<int64_t> until_ms = {}) {
    const absl::StatusOr<LogSlice> slice =
        TakeSlice(*source_, {.topics = ReplayTopics("eroica"), .from_ms = {}, .to_ms = {}});
    EXPECT_TRUE(slice.ok()) << slice.status();
    return {.slice = *slice, .readers = ReadersOf(*source_), .until_ms = until_ms};
  }

  // The folder of a replay, as a process of its own would have it open.
  static std::unique_ptr<RecordingLog> OpenFolder(const std::string& folder) {
    auto log = RecordingLog::Open(
        {.directory = folder, .segment_bytes = 2'000, .compress = false, .sync = false});
    EXPECT_TRUE(log.ok()) << log.status();
    return *std::move(log);
  }

  struct Output {
    std::vector<std::string> findings;  // offset, value and replay id
    size_t dead_letters = 0;
    friend bool operator==(const Output&, const Output&) = default;
  };
  static Output ReadOutput(const std::string& folder) {
    const auto log = OpenFolder(folder);
    Output output;
    for (const ConsumerRecord& record : ReadTopic(*log, kFindings)) {
      output.findings.push_back(
          fmt::format("{} {} {}", record.offset, record.value,
                      FindHeader(record.headers, kHeaderReplay).value_or("none")));
    }
    output.dead_letters = ReadTopic(*log, kDeadLetters).size();
    return output;
  }

  // To its end, dying after so many steps again and again; 0: never.
  Output Replay(const std::string& name, const ReplayInput& input, ReplayOptions options = {},
                uint64_t steps_max = 0, std::vector<PunctuationType>* punctuations = nullptr) {
    const std::string folder = folder_.path() + "/" + name;
    const Topology topology = TwoStages(punctuations);
    options.replay_id = "r1";
    InMemoryStore store;
    std::mt19937_64 random(steps_max);
    // It lives a little longer each time, so that it comes to its end.
    for (bool more = true; more; steps_max += steps_max > 0 ? 1 : 0) {
      const auto log = OpenFolder(folder);
      ReplayClock clock;
      const auto run = ReplayRun::Open(input, *log, store, topology, &clock, options);
      EXPECT_TRUE(run.ok()) << run.status();
      if (!run.ok()) return {};
      uint64_t steps = steps_max == 0 ? ~uint64_t{0} : 1 + random() % steps_max;
      for (; more && steps > 0; --steps) {
        const absl::StatusOr<bool> step = (*run)->Step();
        EXPECT_TRUE(step.ok()) << step.status();
        more = step.ok() && *step;
      }
      EXPECT_TRUE(more || (*run)->done() == (*run)->total());
    }
    return ReadOutput(folder);
  }

  const ScratchDirectory folder_;
  std::unique_ptr<RecordingLog> source_;
};

TEST_F(ReplayRunTest, SaysWhatABoundedRunSaysAndMarksIt) {
  AppendWindows();
  const Output output = Replay("replay", Input());
  EXPECT_EQ(output.findings.size(), 50u);
  EXPECT_THAT(output.findings.front(), ::testing::EndsWith(" r1"));
  EXPECT_EQ(output.dead_letters, 10u);

  const Topology topology = TwoStages();
  InMemoryStore store;
  ASSERT_TRUE(BoundedRun(*source_, store, topology, {}).Run().ok());
  EXPECT_EQ(SortedValues(*source_, kFindings),
            SortedValues(*OpenFolder(folder_.path() + "/replay"), kFindings));
}

TEST_F(ReplayRunTest, WhatStagesHaveSentIsNotReadAgainWhatProducersHaveSentIs) {
  Append(kEvents, "a", "a:1:5", kBegin);
  Append(kPatterns, "a", "a:1:77", kBegin, {{"job", "job"}, {"stage", "first"}});
  Append(kPatterns, "edge", "edge:1:9", kBegin, {{"job", "job"}});
  EXPECT_THAT(Replay("replay", Input()).findings, ElementsAre("0 a:1:5 r1", "1 edge:1:9 r1"));
}

TEST_F(ReplayRunTest, ABoundedRunMarksWhatItsStagesSend) {
  AppendWindows();
  const Topology topology = TwoStages();
  InMemoryStore store;
  ASSERT_TRUE(BoundedRun(*source_, store, topology, {}).Run().ok());
  for (const ConsumerRecord& record : NotEmpty(ReadTopic(*source_, kPatterns)))
    EXPECT_EQ(FindHeader(record.headers, kHeaderStage), "first");
  EXPECT_EQ(Replay("replay", Input()).findings.size(), 50u) << "of the events alone";
}

TEST_F(ReplayRunTest, OneJobCanBeReplayed) {
  Append(kEvents, "a", "a:1:5", kBegin, {{"job", "day"}});
  Append(kEvents, "b", "b:1:6", kBegin, {{"job", "night"}});
  Append(kEvents, "c", "c:1:7", kBegin, {});
  EXPECT_THAT(Replay("replay", Input(), {.job = "night"}).findings, ElementsAre("0 b:1:6 r1"));
}

TEST_F(ReplayRunTest, KilledAnywhereItSaysTheSameOnce) {
  AppendWindows();
  const ReplayOptions options{.poll_records_max = 7, .checkpoint_records = 30};
  const Output undisturbed = Replay("undisturbed", Input(), options);
  EXPECT_EQ(undisturbed.findings.size(), 50u);
  for (uint64_t steps = 2; steps <= 6; ++steps) {
    EXPECT_EQ(Replay(fmt::format("killed-{}", steps), Input(), options, steps), undisturbed)
        << steps;
  }
}

// A record may bear any time.
TEST(ReplayClock, ATimeBeyondNanosecondsIsTheLatest) {
  ReplayClock clock;
  clock.AdvanceTo(std::numeric_limits<int64_t>::max());
  EXPECT_GT(clock.now_ns(), CodecLimits::kMaxTimeNs - kNsPerSecond);
}

TEST_F(ReplayRunTest, ItsFolderDoesNotGrowWithTheSlice) {
  for (int window = 0; window < 3'000; ++window)
    Append(kEvents, "a", fmt::format("a:{}:1", window), kBegin + window);
  const std::string folder = folder_.path() + "/replay";
  const Topology topology = TwoStages();
  InMemoryStore store;
  ReplayClock clock;
  const auto log = OpenFolder(folder);
  const auto run =
      ReplayRun::Open(Input(), *log, store, topology, &clock, {.checkpoint_records = 256});
  ASSERT_TRUE(run.ok()) << run.status();
  size_t most = 0;
  absl::StatusOr<bool> more = true;
  while (more.ok() && *more) {
    more = (*run)->Step();
    size_t bytes = 0;
    for (const std::string& topic : ReplayTopics("eroica")) {
      if (!std::filesystem::exists(folder + "/" + topic)) continue;
      for (const auto& entry : std::filesystem::recursive_directory_iterator(folder + "/" + topic))
        bytes += entry.is_regular_file() ? entry.file_size() : 0;
    }
    most = std::max(most, bytes);
  }
  ASSERT_TRUE(more.ok()) << more.status();
  EXPECT_EQ(ReadTopic(*log, kFindings).size(), 3'000u);
  EXPECT_LT(most, 120'000u) << "the slice has ten times as much";
  EXPECT_FALSE(std::filesystem::exists(folder + "/" + kEvents))
      << "what is finished needs no input";
}

TEST_F(ReplayRunTest, FinishedItStaysSo) {
  Append(kEvents, "a", "a:1:5", kBegin);
  const std::string folder = folder_.path() + "/replay";
  const Topology topology = TwoStages();
  InMemoryStore store;
  for (int i = 0; i < 2; ++i) {
    ReplayClock clock;
    const auto log = OpenFolder(folder);
    const auto run = ReplayRun::Open(Input(), *log, store, topology, &clock, {});
    ASSERT_TRUE(run.ok()) << run.status();
    while (*(*run)->Step()) {
    }
    EXPECT_EQ((*run)->done(), (*run)->total());
    EXPECT_EQ(ReadTopic(*log, kFindings).size(), 1u);
  }
}

TEST_F(ReplayRunTest, AFolderWhoseFilesAreGoneIsSaidToBeDamaged) {
  AppendWindows();
  const std::string folder = folder_.path() + "/replay";
  const Topology topology = TwoStages();
  InMemoryStore store;
  ReplayClock clock;
  const ReplayOptions options{.checkpoint_records = 30};
  {
    const auto log = OpenFolder(folder);
    const auto run = ReplayRun::Open(Input(), *log, store, topology, &clock, options);
    ASSERT_TRUE(run.ok()) << run.status();
    ASSERT_TRUE((*run)->Step().ok());
    ASSERT_TRUE((*run)->Step().ok());
  }
  std::filesystem::remove_all(folder);
  const auto log = OpenFolder(folder);
  EXPECT_TRUE(
      absl::IsDataLoss(ReplayRun::Open(Input(), *log, store, topology, &clock, options).status()));
}

// A node of two stages over a log that stamps with the arrival, driven by hand.
class LiveNode {
 public:
  LiveNode() : topology_(TwoStages(&punctuations_)) {
    TopicLayout layout;
    layout.partitions.fill(3);
    EXPECT_TRUE(CreateMissingTopics(log_.admin(), "eroica", layout).ok());
    int depth = 0;
    for (const Stage& stage : topology_.stages()) {
      StreamThreadOptions options;
      options.poll_timeout = std::chrono::milliseconds(0);
      options.idle_timeout = std::chrono::milliseconds(2'000) * ++depth;
      threads_.push_back(std::make_unique<StreamThread>(log_, store_, stage, options));
    }
  }

  void RunUntil(int64_t time_ms) {
    for (; now_ms_ <= time_ms; now_ms_ += 100) {
      for (const auto& thread : threads_)
        EXPECT_TRUE(thread->RunOnce(TimePoint() + std::chrono::milliseconds(now_ms_)).ok());
    }
  }
  void Append(const std::string& key, const std::string& value) {
    ASSERT_TRUE((*log_.NewProducer())
                    ->Append({.topic = kEvents, .key = key, .value = value, .headers = {}})
                    .ok());
  }

  std::vector<std::string> Findings() { return SortedValues(log_, kFindings); }
  const std::vector<PunctuationType>& punctuations() const { return punctuations_; }

 private:
  std::vector<PunctuationType> punctuations_;
  MemoryLog log_;
  InMemoryStore store_;
  const Topology topology_;
  std::vector<std::unique_ptr<StreamThread>> threads_;
  int64_t now_ms_ = kBegin;
};

// Keys that pause for more and for less than the idle timeout, in partitions of their own.
struct Arrival {
  int64_t after_ms;
  const char* key;
  const char* value;
};
constexpr Arrival kArrivals[] = {
    {0, "a", "a:1:1"},     {100, "b", "b:1:1"},    {1'000, "a", "a:1:2"},  {1'500, "c", "c:1:1"},
    {4'500, "a", "a:1:4"},  // late: the window is closed by silence
    {5'000, "a", "a:2:1"}, {6'000, "b", "b:1:2"},  {6'100, "b", "b:2:1"},  {7'500, "b", "b:2:2"},
    {9'000, "b", "b:2:4"}, {40'000, "c", "c:1:2"}, {40'100, "c", "c:2:1"}, {41'000, "a", "a:3:1"},
};

class ReplayOfArrivalsTest : public ReplayRunTest {
 protected:
  void SetUp() override {
    ReplayRunTest::SetUp();
    for (const Arrival& arrival : kArrivals)
      Append(kEvents, arrival.key, arrival.value, kBegin + arrival.after_ms);
  }
};

TEST_F(ReplayOfArrivalsTest, SilenceDoesWhatItDidLive) {
  LiveNode live;
  for (const Arrival& arrival : kArrivals) {
    live.RunUntil(kBegin + arrival.after_ms - 50);
    live.Append(arrival.key, arrival.value);
  }
  live.RunUntil(kBegin + 59'000);  // no minute passes
  std::vector<PunctuationType> punctuations;
  const Output replayed = Replay("replay", Input(kBegin + 60'000), {}, 0, &punctuations);
  std::vector<std::string> findings;
  for (const ConsumerRecord& record :
       NotEmpty(ReadTopic(*OpenFolder(folder_.path() + "/replay"), kFindings)))
    findings.push_back(record.value);
  std::sort(findings.begin(), findings.end());
  EXPECT_EQ(findings, live.Findings());
  EXPECT_THAT(findings, ::testing::Contains("a:1:3")) << "what came late counts for nothing";
  EXPECT_EQ(punctuations, live.punctuations());
}

TEST_F(ReplayOfArrivalsTest, TheEndOfTheSliceIsNoEndOfTheInput) {
  const Output cut = Replay("cut", Input(kBegin + 41'100));
  const Output whole = Replay("whole", Input(kBegin + 60'000));
  EXPECT_GT(whole.findings.size(), cut.findings.size()) << "nobody was silent for long enough yet";
}

TEST_F(ReplayOfArrivalsTest, KilledAnywhereItSeesTheSameSilence) {
  const ReplayOptions options{.checkpoint_records = 2};
  const Output undisturbed = Replay("undisturbed", Input(kBegin + 60'000), options);
  EXPECT_THAT(undisturbed.findings, Not(IsEmpty()));
  for (const uint64_t steps : {2u, 3u, 5u, 8u, 13u, 40u}) {
    EXPECT_EQ(Replay(fmt::format("killed-{}", steps), Input(kBegin + 60'000), options, steps),
              undisturbed)
        << steps;
  }
}

}  // namespace
}  // namespace eroica
