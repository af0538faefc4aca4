// Recordings of real jobs, one after the other under one name, as a job that is started again: the
// second run is diagnosed as if it had been alone.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "schemas/test_encoder.h"
#include "state_store/in_memory_store.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/runtime/bounded_run.h"
#include "stream_ops/runtime/testing/log_reading.h"
#include "stream_ops/runtime/topic_layout.h"
#include "stream_ops/summarize/edge_summarizer.h"
#include "tests/evaluation/real/recording_sources.h"
#include "tests/support/eroica_topology.h"

namespace eroica::testing {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using RanksOfRun = std::map<RankId, std::vector<EventBatch>>;

int64_t Earliest(const RanksOfRun& run) {
  int64_t earliest_ns = std::numeric_limits<int64_t>::max();
  for (const auto& [rank, batches] : run) {
    for (const EventBatch& batch : batches) {
      if (batch.intervals.size() > 0)
        earliest_ns = std::min(earliest_ns, batch.intervals.start_ns.front());
    }
  }
  return earliest_ns;
}

void Shift(EventBatch& batch, int64_t by_ns) {
  for (int64_t& start_ns : batch.intervals.start_ns) start_ns += by_ns;
  for (ResourceSample& sample : batch.samples) sample.time_ns += by_ns;
  for (Mark& mark : batch.marks) mark.time_ns += by_ns;
  for (ConnectionSample& sample : batch.connections) sample.time_ns += by_ns;
  batch.progress.clear();
}

// Under the name "job", ten minutes after the run before, in containers whose processes have one
// number.
RanksOfRun ReadRun(const std::string& name, int64_t number) {
  RanksOfRun run;
  const auto batches = ReadRecordedBatches("tests/golden/live/" + name);
  EXPECT_TRUE(batches.ok()) << batches.status();
  for (const EventBatch& batch : *batches) run[batch.identity.rank].push_back(batch);
  const int64_t begin_ns = (1'800'000'000 + 600 * number) * 1'000'000'000;
  const int64_t by_ns = begin_ns - Earliest(run);
  for (auto& [rank, of_rank] : run) {
    for (EventBatch& batch : of_rank) {
      Shift(batch, by_ns);
      batch.identity.job = JobId("job");
      batch.identity.pid = 7;
      batch.identity.started_ns = begin_ns;
    }
  }
  return run;
}

// The stages on a log of their own.
class Stages {
 public:
  Stages() { EXPECT_TRUE(CreateMissingTopics(log_.admin(), kDefaultTopicPrefix, {}).ok()); }

  // Capture level 2: what happened.
  void Send(const std::vector<EventBatch>& batches) {
    for (const EventBatch& batch : batches)
      Append(Topic::kEvents, EventsKey(batch.identity.job, batch.identity.rank),
             encoder_.Encode(batch));
  }
  // Capture level 1: what the process itself makes of it.
  void SendSummarized(const std::vector<EventBatch>& batches) {
    EdgeSummarizer edge(EdgeSummarizer::InOrder(), [this](const EdgeRecord& record) {
      Append(record.topic, record.key, record.payload);
      return absl::OkStatus();
    });
    for (const EventBatch& batch : batches) EXPECT_TRUE(edge.Add(batch).ok());
    EXPECT_TRUE(edge.Finish().ok());
  }

  // "kind of rank R, in step S", in the order in which they were opened.
  std::vector<std::string> Opened() {
    InMemoryStore store;
    EXPECT_TRUE(BoundedRun(log_, store, EroicaTopology(), {}).Run().ok());
    std::vector<std::string> opened;
    for (const ConsumerRecord& record :
         ReadTopic(log_, TopicName(kDefaultTopicPrefix, Topic::kFindings))) {
      Finding finding;
      EXPECT_EQ(Decoder().Decode(record.payload(), &finding), DropReason::kNone);
      if (finding.state != FindingState::kOpened) continue;
      const int64_t rank = finding.culprits.empty() ? -1 : finding.culprits[0].rank;
      opened.push_back(fmt::format("{} of rank {}, in step {}", ToString(finding.kind), rank,
                                   finding.first_step));
    }
    return opened;
  }

 private:
  void Append(Topic topic, std::string key, Bytes payload) {
    std::string value(reinterpret_cast<const char*>(payload.data()), payload.size());
    AppendAll(log_, {{.topic = TopicName(kDefaultTopicPrefix, topic),
                      .key = std::move(key),
                      .value = std::move(value),
                      .headers = {}}});
  }

  MemoryLog log_;
  TestEncoder encoder_;
};

struct Way {
  std::string name;
  bool summarized = false;
  bool rank_after_rank = false;  // all that a rank says in both runs before the next rank
};

void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

class RunsOfRealJobs : public ::testing::TestWithParam<Way> {
 protected:
  static std::vector<std::string> Opened(const std::vector<std::string>& names) {
    std::vector<RanksOfRun> runs;
    for (const std::string& name : names)
      runs.push_back(ReadRun(name, static_cast<int64_t>(runs.size())));
    Stages stages;
    const auto send = [&stages](const std::vector<EventBatch>& batches) {
      GetParam().summarized ? stages.SendSummarized(batches) : stages.Send(batches);
    };
    if (GetParam().rank_after_rank) {
      for (const auto& [rank, unused] : runs[0]) {
        for (const RanksOfRun& run : runs) send(run.at(rank));
      }
    } else {
      for (const RanksOfRun& run : runs) {
        for (const auto& [rank, batches] : run) send(batches);
      }
    }
    return stages.Opened();
  }
};

TEST_P(RunsOfRealJobs, TheSecondRunIsDiagnosedAsIfItWereAlone) {
  const std::vector<std::string> alone = Opened({"compute"});
  ASSERT_THAT(alone, SizeIs(1));
  EXPECT_THAT(alone[0], HasSubstr("slow_rank of rank 3"));
  EXPECT_EQ(Opened({"healthy", "compute"}), alone);
}

TEST_P(RunsOfRealJobs, AHealthyJobThatIsStartedAgainIsHealthy) {
  EXPECT_THAT(Opened({"healthy", "healthy", "healthy"}), IsEmpty());
}

TEST_P(RunsOfRealJobs, EachRunHasItsOwnFault) {
  std::vector<std::string> both = Opened({"compute"});
  for (std::string& opened : Opened({"gil"})) both.push_back(std::move(opened));
  EXPECT_THAT(Opened({"compute", "gil"}), ElementsAreArray(both));
}

INSTANTIATE_TEST_SUITE_P(Ways, RunsOfRealJobs,
                         ::testing::Values(Way{"level 1", true, false},
                                           Way{"level 1, rank after rank", true, true},
                                           Way{"level 2", false, false},
                                           Way{"level 2, rank after rank", false, true}),
                         [](const auto& way) { return fmt::format("way{}", way.index); });

}  // namespace
}  // namespace eroica::testing
