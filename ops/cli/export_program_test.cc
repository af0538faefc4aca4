// `eroica export` from outside: over the recording of a real job, and that `eroica import` reads
// what it writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"

namespace eroica {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ExportProgramTest : public ::testing::Test {
 protected:
  std::string In(const std::string& name) const { return folder_.path() + "/" + name; }
  ProgramRun Export(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"export", "--recording", recording_});
    return RunProgram(std::move(arguments));
  }
  Json Exported(std::vector<std::string> arguments) const {
    arguments.emplace_back("--json");
    const ProgramRun run = Export(std::move(arguments));
    EXPECT_EQ(run.exit_code, kExitNothingFound) << run.err;
    return Json::parse(run.out, nullptr, /*allow_exceptions=*/false);
  }
  static Json Trace(const std::string& path) { return Json::parse(ReadBytes(path)); }

  ScratchDirectory folder_;
  std::string recording_ = kFaultyRecording;
};

TEST_F(ExportProgramTest, AWindowOfSomeRanks) {
  const Json all = Exported({"-o", In("all.json")});
  ASSERT_GE(all.at("ranks").size(), 2u);
  EXPECT_EQ(all.at("events_left_out"), 0);
  const Json window = Exported({"--window", "steps-2", "--ranks", "1", "-o", In("window.json")});
  EXPECT_EQ(window.at("ranks"), Json({1}));
  EXPECT_EQ(window.at("window"), "steps-2");
  EXPECT_GT(window.at("events"), 0);
  EXPECT_LT(window.at("events"), all.at("events"));
  std::set<int> processes;
  std::set<std::string> steps;
  const Json trace_events = Trace(In("window.json")).at("traceEvents");
  for (const Json& event : trace_events) {
    processes.insert(event.at("pid").get<int>());
    const std::string name = event.at("name");
    if (name.starts_with("ProfilerStep#")) steps.insert(name);
  }
  EXPECT_THAT(processes, ElementsAre(1));
  EXPECT_GT(steps.size(), 1u) << "the steps of the window are marked";
}

TEST_F(ExportProgramTest, AFindingGivesJobWindowAndAMarkOnItsCulprit) {
  recording_ = In("recording");
  std::filesystem::copy(kFaultyRecording, recording_, std::filesystem::copy_options::recursive);
  ASSERT_EQ(RunProgram({"node", "--recording", recording_, "--drain", "--set",
                        "summarize.out_of_orderness_ms=1000"})
                .exit_code,
            kExitNothingFound);
  const Json finding =
      Json::parse(RunProgram({"findings", "--recording", recording_, "--json"}).out);
  const std::string id = finding.at("id");
  const Json said = Exported({"--finding", id.substr(0, 8), "-o", In("finding.json")});
  EXPECT_EQ(said.at("finding"), id);
  EXPECT_EQ(said.at("job"), finding.at("job"));
  std::vector<Json> marks;
  const Json trace_events = Trace(In("finding.json")).at("traceEvents");
  for (const Json& event : trace_events) {
    if (event.value("cat", "") == "finding") marks.push_back(event);
  }
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0].at("name"), finding.at("title"));
  EXPECT_EQ(marks[0].at("pid"), finding.at("culprits").at(0).at("rank"));
  EXPECT_EQ(marks[0].at("args").at("next"), finding.at("suggested_action"));
  const ProgramRun none = Export({"--finding", "ffff", "-o", In("none.json")});
  EXPECT_EQ(none.exit_code, kExitError);
  EXPECT_THAT(none.err, HasSubstr("--finding ffff: there is none"));
}

// Rank, category, name, begin and duration in ns: as often as there are such events.
using Events = std::multiset<std::tuple<int, std::string, std::string, int64_t, int64_t>>;

Events EventsOf(const Json& trace) {
  Events events;
  const int64_t base_ns = trace.at("baseTimeNanoseconds");
  const auto ns = [](const Json& microseconds) {
    return std::llround(microseconds.get<double>() * 1'000);
  };
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X")
      events.emplace(event.at("pid").get<int>(), event.at("cat").get<std::string>(),
                     event.at("name").get<std::string>(), base_ns + ns(event.at("ts")),
                     ns(event.at("dur")));
  }
  return events;
}

// Every event of every rank that came from a trace, through a trace and back once more.
TEST_F(ExportProgramTest, WhatWasExportedIsImportedAsTheSameEvents) {
  const Json ranks = Exported({"-o", In("all.json")}).at("ranks");
  for (const std::string turn : {"first", "second"}) {
    std::filesystem::create_directory(In(turn));
    for (const Json& rank : ranks) {
      const std::string number = std::to_string(rank.get<int>());
      Exported({"--ranks", number, "-o", In(turn + "/rank" + number + ".json.gz")});
    }
    recording_ = In(turn + ".recording");
    ASSERT_EQ(RunProgram({"import", In(turn), "-o", recording_, "--job", "again"}).exit_code,
              kExitNothingFound);
    Exported({"-o", In(turn + ".json")});
  }
  const Events first = EventsOf(Trace(In("first.json")));
  EXPECT_GT(first.size(), 1'000u);
  // The importer leaves out the lines of frames that are open at the start, and the last step is
  // open at the end.
  const auto without_names = [](const Events& events) {
    Events nameless;
    for (const auto& [rank, category, name, begin, duration] : events)
      nameless.emplace(rank, category, "", begin, name.starts_with("ProfilerStep#") ? 0 : duration);
    return nameless;
  };
  EXPECT_TRUE(without_names(first) == without_names(EventsOf(Trace(In("all.json")))));
  EXPECT_TRUE(first == EventsOf(Trace(In("second.json"))));
}

TEST_F(ExportProgramTest, WhatIsLeftOutIsSaid) {
  const ProgramRun run = Export({"--events", "10", "-o", In("small.json")});
  EXPECT_EQ(run.exit_code, kExitNothingFound) << run.err;
  EXPECT_THAT(run.err, HasSubstr("events are left out"));
  EXPECT_THAT(run.err, HasSubstr("--ranks"));
  EXPECT_FALSE(Trace(In("small.json")).at("traceEvents").empty());
}

TEST_F(ExportProgramTest, WhatIsNotThereIsAnError) {
  const auto error_of = [this](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"-o", In("none.json")});
    const ProgramRun run = Export(std::move(arguments));
    EXPECT_EQ(run.exit_code, kExitError);
    EXPECT_FALSE(std::filesystem::exists(In("none.json")));
    return run.err;
  };
  EXPECT_THAT(error_of({"--window", "steps-100000"}), HasSubstr("steps-100000"));
  EXPECT_THAT(error_of({"--window", "3"}), HasSubstr("give one such as steps-3 or time-12"));
  EXPECT_THAT(error_of({"--ranks", "9-1"}), HasSubstr("--ranks: '9-1' are no ranks"));
  EXPECT_THAT(error_of({"--ranks", "4000"}), HasSubstr("there are no events"));
  EXPECT_THAT(error_of({"--job", "no\x1b[2Jsuch"}), HasSubstr("no\\x1b[2Jsuch"));
  WriteBytes(In("mine.json"), "mine");
  EXPECT_EQ(Export({"-o", In("mine.json")}).exit_code, kExitError);
  EXPECT_EQ(ReadBytes(In("mine.json")), "mine");
}

}  // namespace
}  // namespace eroica
