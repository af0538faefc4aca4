#include "ops/act/command_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/findings/testing/findings_topic.h"

namespace eroica {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Finding Of(const std::string& job, std::vector<Culprit> culprits) {
  Finding finding = FindingOf("f", FindingState::kOpened);
  finding.job = JobId{job};
  finding.culprits = std::move(culprits);
  return finding;
}

std::string Why(const std::string& argument, const Finding& finding) {
  const auto arguments = ArgumentsFor({"/bin/x", argument}, finding);
  EXPECT_TRUE(absl::IsFailedPrecondition(arguments.status())) << arguments.status();
  return std::string(arguments.status().message());
}

TEST(CommandArguments, EachPlaceholderStaysWithinItsArgument) {
  const Finding finding = Of("night/7", {{.rank = 3, .host = "node-1.example", .device = 2}});
  const auto arguments = ArgumentsFor(
      {"/bin/x", "--job={job}", "{rank}@{host}:{device}", "plain", "{kind} {severity}"}, finding);
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_THAT(*arguments, ElementsAre("/bin/x", "--job=night/7", "3@node-1.example:2", "plain",
                                      "imbalance major"));
}

TEST(CommandArguments, HostileNamesReachNoCommand) {
  const std::vector<std::string> hostile = {"",
                                            "-rf",
                                            "a b",
                                            "a;reboot",
                                            "$(reboot)",
                                            "`x`",
                                            "a\nb",
                                            "a|b",
                                            "../../etc",
                                            "/etc/passwd",
                                            "a\x1b[2J",
                                            "caf\xc3\xa9",
                                            "a'b",
                                            "a\"b",
                                            "*",
                                            "a\\b",
                                            std::string("a\0b", 3),
                                            "{rank}"};
  for (const std::string& name : hostile) {
    EXPECT_FALSE(ArgumentsFor({"/bin/x", "{job}"}, Of(name, {})).ok()) << name;
    EXPECT_FALSE(ArgumentsFor({"/bin/x", "{host}"}, Of("j", {{.rank = 1, .host = name}})).ok())
        << name;
  }
  EXPECT_FALSE(ArgumentsFor({"/bin/x", "{job}"}, Of(std::string("a\0b", 3), {})).ok());
  EXPECT_FALSE(ArgumentsFor({"/bin/x", "{job}"}, Of(std::string(300, 'a'), {})).ok());
  EXPECT_THAT(Why("{job}", Of("a\x1b[2J", {})), HasSubstr("\\x1b"));
}

// curl -d @FILE sends the file; so does -F name=@FILE.
TEST(CommandArguments, ANameThatStandsForAFileReachesNoCommand) {
  for (const std::string name : {"@/etc/passwd", "@job", "a=@job"}) {
    for (const char* argument : {"{job}", "--data={job}"})
      EXPECT_THAT(Why(argument, Of(name, {})), HasSubstr("is passed to no command")) << name;
    EXPECT_FALSE(ArgumentsFor({"/bin/x", "{host}"}, Of("j", {{.rank = 1, .host = name}})).ok());
    EXPECT_THAT(EnvironmentFor(Of(name, {})),
                ::testing::Not(Contains(::testing::Key("EROICA_JOB"))));
  }
  EXPECT_TRUE(ArgumentsFor({"/bin/x", "{job}"}, Of("night@cluster", {})).ok());
}

TEST(CommandArguments, WhatThePolicySaysIsPassedOnAsItIs) {
  const auto arguments =
      ArgumentsFor({"/usr/bin/curl", "-d", "@/etc/eroica/ticket.json", "@{kind}"}, Of("night", {}));
  EXPECT_THAT(*arguments,
              ElementsAre("/usr/bin/curl", "-d", "@/etc/eroica/ticket.json", "@imbalance"));
}

TEST(CommandArguments, WhatTheFindingDoesNotNameIsRefused) {
  EXPECT_EQ(Why("{rank}", Of("j", {})), "it names no rank");
  EXPECT_EQ(Why("{rank}", Of("j", {{.rank = 1}, {.rank = 2}})), "it names 2 ranks, not one");
  EXPECT_EQ(Why("{host}", Of("j", {{.rank = 1}})), "it names no host");
  EXPECT_EQ(Why("{device}", Of("j", {{.rank = 1}})), "it names no one device");
}

TEST(CommandArguments, GroupsAreListed) {
  const Finding finding =
      Of("j", {{.rank = 1, .host = "a"}, {.rank = 2, .host = "a"}, {.rank = 5, .host = "b"}});
  EXPECT_THAT(*ArgumentsFor({"/bin/x", "{ranks}", "{hosts}"}, finding),
              ElementsAre("/bin/x", "1,2,5", "a,b"));
}

TEST(CommandArguments, TheEnvironmentHoldsWhatMayBePassed) {
  const auto variables = EnvironmentFor(Of("bad name", {{.rank = 3, .host = "node1"}}));
  EXPECT_THAT(variables, Contains(Pair("EROICA_RANK", "3")));
  EXPECT_THAT(variables, Contains(Pair("EROICA_HOST", "node1")));
  EXPECT_THAT(variables, ::testing::Not(Contains(::testing::Key("EROICA_JOB"))));
}

TEST(CommandArguments, UnknownPlaceholdersAreFound) {
  EXPECT_THAT(UnknownPlaceholders({"/bin/x", "{job}-{jop}", "{", "{}"}), ElementsAre("jop", ""));
}

}  // namespace
}  // namespace eroica
