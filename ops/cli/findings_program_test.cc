// `eroica findings` from outside: in which order, which of them, what it says where there are none,
// and how it follows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"
#include "schemas/codec.h"
#include "schemas/example_payloads.h"
#include "schemas/test_encoder.h"
#include "stream_ops/recording/recording_log.h"

namespace eroica {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

Finding FindingOf(const std::string& job, Severity severity, double lost_ns, int32_t rank) {
  Finding finding = ExampleFinding();
  finding.job = JobId{job};
  finding.kind = FindingKind::kSlowRank;
  finding.severity = severity;
  finding.state = FindingState::kOpened;
  finding.lost_ns_per_step = lost_ns;
  finding.culprits = {{.rank = rank}};
  finding.title = "Rank " + std::to_string(rank) + " is slow.";
  finding.id = FindingId(finding);
  return finding;
}

class FindingsProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(RunProgram({"topics", "create", "--recording", recording()}).exit_code,
              kExitNothingFound);
    auto log = RecordingLog::Open({.directory = recording()});
    ASSERT_TRUE(log.ok()) << log.status();
    log_ = *std::move(log);
    producer_ = *log_->NewProducer();
  }
  std::string recording() const { return folder_.path() + "/recording"; }

  void Append(const Finding& finding) {
    TestEncoder encoder;
    const Bytes payload = encoder.Encode(finding);
    ASSERT_TRUE(producer_
                    ->Append({.topic = "eroica.findings",
                              .key = "job",
                              .value = std::string(reinterpret_cast<const char*>(payload.data()),
                                                   payload.size())})
                    .ok());
    ASSERT_TRUE(producer_->Flush(std::chrono::seconds(10)).ok());
  }
  ProgramRun Findings(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"findings", "--recording", recording()});
    return RunProgram(std::move(arguments));
  }
  // The ranks of the lines, in their order.
  std::string Ranks(std::vector<std::string> arguments) const {
    arguments.emplace_back("--brief");
    const ProgramRun run = Findings(std::move(arguments));
    std::string ranks;
    for (size_t at = 0; (at = run.out.find("Rank ", at)) != std::string::npos; ++at)
      ranks += run.out.substr(at + 5, run.out.find(' ', at + 5) - at - 5) + " ";
    return ranks;
  }

  ScratchDirectory folder_;
  std::unique_ptr<RecordingLog> log_;
  std::unique_ptr<LogProducer> producer_;
};

TEST_F(FindingsProgramTest, TheGravestComesFirstAndWhatIsResolvedLast) {
  Append(FindingOf("night", Severity::kMajor, 37e6, 3));
  Append(FindingOf("night", Severity::kMajor, 38e6, 2));
  Append(FindingOf("day", Severity::kCritical, 65e6, 0));
  Finding resolved = FindingOf("day", Severity::kCritical, 99e6, 1);
  resolved.state = FindingState::kResolved;
  Append(resolved);
  EXPECT_EQ(Ranks({}), "0 2 3 1 ");
  EXPECT_EQ(Ranks({"--open"}), "0 2 3 ");
  EXPECT_EQ(Ranks({"--job", "night"}), "2 3 ");
  EXPECT_EQ(Ranks({"--severity", "critical"}), "0 1 ");
  EXPECT_EQ(Ranks({"--rank", "3"}), "3 ");
  EXPECT_EQ(Ranks({"--kind", "slow_rank,hang"}), "0 2 3 1 ");
  EXPECT_EQ(Ranks({"--since", "2023-11-14T22:13:30Z"}), "0 2 3 1 ");
  EXPECT_EQ(Ranks({"--since", "2023-11-14T22:13:31Z"}), "");
  const ProgramRun none = Findings({"--kind", "hang"});
  EXPECT_EQ(none.exit_code, kExitNothingFound);
  EXPECT_THAT(none.out, StartsWith("None of 4 findings is what was asked for"));
  EXPECT_EQ(Findings({"--job", "day", "--rank", "1"}).exit_code, kExitNothingFound)
      << "it is resolved";
}

TEST_F(FindingsProgramTest, AFindingNamesItsJobAndItsTimeOfDay) {
  Append(FindingOf("night", Severity::kMajor, 37e6, 3));
  ASSERT_EQ(::setenv("TZ", "UTC-1", 1), 0);
  const ProgramRun text = Findings({});
  const ProgramRun brief = Findings({"--brief"});
  ::unsetenv("TZ");
  EXPECT_EQ(text.exit_code, kExitFindings) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("\n  job         night\n"),
                              HasSubstr("\n  first seen  2023-11-14 23:13:00 +01:00\n"),
                              HasSubstr("\n  last seen   2023-11-14 23:13:30 +01:00\n")));
  EXPECT_THAT(brief.out, StartsWith("2023-11-14 23:13:30 +01:00 major "));
  EXPECT_THAT(Findings({"--json"}).out, HasSubstr(R"("first_seen":"2023-11-14T22:13:00.000Z")"));
}

TEST_F(FindingsProgramTest, WidthAndColorAreAsTheTerminalOrTheUserSays) {
  Append(FindingOf("night", Severity::kCritical, 37e6, 3));
  EXPECT_THAT(Findings({}).out, StartsWith("[critical] ")) << "a file is no terminal";
  EXPECT_THAT(Findings({"--color", "always"}).out, StartsWith("\x1b[1;31m[critical]\x1b[0m "));
  EXPECT_THAT(Findings({"--color", "always", "--json"}).out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(Findings({"--color", "sometimes"}).err, HasSubstr("is none of auto, always, never"));
}

TEST_F(FindingsProgramTest, NoNodeNoSuchJobAndHealthyAreToldApart) {
  const ProgramRun no_node = Findings({"--job", "night"});
  EXPECT_EQ(no_node.exit_code, kExitCannotTell);
  EXPECT_THAT(no_node.out, HasSubstr("no node has run over"));
  ASSERT_EQ(RunProgram({"node", "--recording", recording(), "--drain"}).exit_code,
            kExitNothingFound);
  const ProgramRun nothing = Findings({"--job", "night"});
  EXPECT_EQ(nothing.exit_code, kExitCannotTell);
  EXPECT_THAT(nothing.out, HasSubstr("No job 'night' is known"));
  EXPECT_THAT(Findings({"--job", "night", "-q"}).out, IsEmpty());
}

TEST_F(FindingsProgramTest, FollowingShowsABlockThenLines) {
  Finding finding = FindingOf("night", Severity::kMajor, 37e6, 3);
  Append(finding);
  finding.state = FindingState::kUpdated;
  Append(finding);
  Program follow({"findings", "--recording", recording(), "--follow"});
  const auto has = [&](const std::string& words) {
    return Await([&] { return follow.OutSoFar().find(words) != std::string::npos; });
  };
  ASSERT_TRUE(has("\n  id          " + finding.id + " updated\n")) << follow.OutSoFar();
  const std::string block = follow.OutSoFar();
  EXPECT_THAT(block, StartsWith("[major] Rank 3 is slow.\n"));
  EXPECT_THAT(block, Not(HasSubstr("opened"))) << "how it stands, not how it came";
  finding.title = "Rank 3 is slower.";
  Append(finding);
  ASSERT_TRUE(has("job night: Rank 3 is slower.\n")) << follow.OutSoFar();
  finding.state = FindingState::kResolved;
  Append(finding);
  ASSERT_TRUE(has(" resolved job night: Rank 3 is slower.\n")) << follow.OutSoFar();
  Append(FindingOf("night", Severity::kMinor, 1e6, 5));
  ASSERT_TRUE(has("[minor] Rank 5 is slow.\n")) << follow.OutSoFar();
  follow.Signal(SIGINT);
  const ProgramRun run = follow.Wait();
  EXPECT_EQ(run.exit_code, kExitFindings) << run.err;
  const std::string since = run.out.substr(block.size(), run.out.find("[minor]") - block.size());
  EXPECT_EQ(std::ranges::count(since, '\n'), 2) << "an update and a resolution, a line each\n"
                                                << since;
}

TEST_F(FindingsProgramTest, FollowingKeepsTheFilters) {
  Append(FindingOf("night", Severity::kMinor, 1e6, 5));
  Program follow({"findings", "--recording", recording(), "--follow", "--severity", "major"});
  ASSERT_TRUE(Await([&] { return follow.ErrSoFar().find("following") != std::string::npos; }));
  Append(FindingOf("night", Severity::kMinor, 1e6, 6));
  Append(FindingOf("night", Severity::kMajor, 1e6, 7));
  ASSERT_TRUE(Await([&] { return follow.OutSoFar().find("[major] Rank 7") != std::string::npos; }));
  follow.Signal(SIGINT);
  EXPECT_THAT(follow.Wait().out, Not(HasSubstr("[minor]")));
}

TEST_F(FindingsProgramTest, FollowingEndsWhenItsOutputCannotBeWritten) {
  Append(FindingOf("night", Severity::kMinor, 1e6, 5));
  const ProgramRun run =
      Program("/bin/sh", {"-c", "exec \"$0\" findings --follow --recording \"$1\" > /dev/full",
                          EROICA_PROGRAM, recording()})
          .Wait();
  EXPECT_EQ(run.exit_code, kExitError);
  EXPECT_THAT(run.err, HasSubstr("cannot write to standard output"));
}

}  // namespace
}  // namespace eroica
