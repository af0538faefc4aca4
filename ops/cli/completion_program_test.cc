// Completion and the manual from outside: a real shell completes real command lines, and man(1)
// reads the pages. Shells and readers that are not installed are passed over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"

namespace eroica {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool IsInstalled(const std::string& program) {
  return Program("/bin/sh", {"-c", "command -v " + program}).Wait().exit_code == 0;
}

// Every command, such as "topics create", as the fish script has them.
std::vector<std::string> AllCommandNames() {
  std::vector<std::string> names;
  const std::string script = RunProgram({"completion", "fish"}).out;
  const size_t begin = script.find("set -g __eroica_commands");
  std::istringstream words(script.substr(begin, script.find('\n', begin) - begin));
  for (std::string name; std::getline(words, name, '\'');) {
    if (name.starts_with("eroica ")) names.push_back(name.substr(7));
  }
  return names;
}

class BashCompletionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!IsInstalled("bash")) GTEST_SKIP() << "needs bash, which asks the script";
    const ProgramRun run = RunProgram({"completion", "bash"});
    ASSERT_EQ(run.exit_code, kExitNothingFound) << run.err;
    WriteBytes(Script(), run.out);
  }
  std::string Script() const { return folder_.path() + "/eroica.bash"; }
  // What is offered for the last of the words, which may be empty.
  std::vector<std::string> Offered(const std::vector<std::string>& words) const {
    std::string array;
    for (const std::string& word : words) array += " '" + word + "'";
    const std::string script = "source '" + Script() + "'; cd '" + folder_.path() +
                               "'; COMP_WORDS=(eroica" + array +
                               "); COMP_CWORD=" + std::to_string(words.size()) +
                               "; _eroica; printf '%s\\n' \"${COMPREPLY[@]}\"";
    const ProgramRun run = Program("/bin/sh", {"-c", "exec bash -uc \"$0\"", script}).Wait();
    EXPECT_EQ(run.err, "");
    std::vector<std::string> offered = LinesOf(run.out);
    std::erase(offered, "");
    return offered;
  }

  ScratchDirectory folder_;
};

TEST_F(BashCompletionTest, CommandsAndWhatIsBelowThem) {
  EXPECT_THAT(Offered({"fin"}), ElementsAre("findings"));
  EXPECT_THAT(Offered({"topics", "c"}), UnorderedElementsAre("create", "check"));
  EXPECT_THAT(Offered({"config", "ex"}), ElementsAre("explain"));
  EXPECT_THAT(Offered({"completion", ""}), ::testing::IsSupersetOf({"bash", "zsh", "fish"}));
  EXPECT_THAT(Offered({"help", "topics", ""}), UnorderedElementsAre("create", "check"));
  EXPECT_THAT(Offered({""}), Not(Contains("manual"))) << "it is hidden";
}

TEST_F(BashCompletionTest, OptionsOfTheCommandThatIsTyped) {
  EXPECT_THAT(Offered({"findings", "--sev"}), ElementsAre("--severity"));
  EXPECT_THAT(Offered({"topics", "create", "--boot"}), ElementsAre("--bootstrap"));
  EXPECT_THAT(Offered({"export", "--find"}), ElementsAre("--finding"));
  EXPECT_THAT(Offered({"token", "--sev"}), IsEmpty());
}

TEST_F(BashCompletionTest, TheValuesThatAnOptionTakes) {
  EXPECT_THAT(Offered({"findings", "--severity", "m"}), UnorderedElementsAre("minor", "major"));
  EXPECT_THAT(Offered({"findings", "--severity", "=", "cr"}), ElementsAre("critical"));
  EXPECT_THAT(Offered({"findings", "--severity", "="}), Contains("info"));
  EXPECT_THAT(Offered({"findings", "--kind", "slow_rank,ha"}), ElementsAre("slow_rank,hang"));
  EXPECT_THAT(Offered({"findings", "--job", "m"}), IsEmpty()) << "nobody knows the jobs";
}

TEST_F(BashCompletionTest, FilesAndFoldersWhereTheyAreMeant) {
  WriteBytes(folder_.path() + "/a node.toml", "");
  std::filesystem::create_directory(folder_.path() + "/a folder");
  EXPECT_THAT(Offered({"config", "check", "a n"}), ElementsAre("a node.toml"));
  EXPECT_THAT(Offered({"findings", "--recording", "a"}), ElementsAre("a folder"));
  EXPECT_THAT(Offered({"findings", "--config", "a"}),
              UnorderedElementsAre("a folder", "a node.toml"));
  EXPECT_THAT(Offered({"diagnose", "a n"}), ElementsAre("a node.toml"));
}

TEST_F(BashCompletionTest, BehindTwoDashesAJobIsTyped) {
  WriteBytes(folder_.path() + "/train_this.py", "");
  EXPECT_THAT(Offered({"run", "--", "python3", "train_th"}), ElementsAre("train_this.py"));
}

TEST(Completion, ZshAndFishReadTheirScripts) {
  const ScratchDirectory folder;
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const ProgramRun run = RunProgram({"completion", shell});
    ASSERT_EQ(run.exit_code, kExitNothingFound) << run.err;
    EXPECT_THAT(run.out, HasSubstr("slow_rank"));
    if (!IsInstalled(shell)) continue;
    const std::string path = folder.path() + "/script";
    WriteBytes(path, run.out);
    const ProgramRun parsed = Program("/bin/sh", {"-c", shell + " -n " + path}).Wait();
    EXPECT_EQ(parsed.exit_code, 0) << shell << parsed.err;
  }
  EXPECT_EQ(RunProgram({"completion", "csh"}).exit_code, kExitError);
}

TEST(Completion, FishOffersWhatTheScriptSays) {
  if (!IsInstalled("fish")) GTEST_SKIP() << "needs fish: ops/install_dependencies.sh --tests";
  const ScratchDirectory folder;
  const std::string path = folder.path() + "/eroica.fish";
  WriteBytes(path, RunProgram({"completion", "fish"}).out);
  const auto offered = [&path](const std::string& line) {
    return Program("/bin/sh",
                   {"-c", "fish -N -c \"source " + path + "; complete -C '" + line + "'\""})
        .Wait()
        .out;
  };
  EXPECT_THAT(offered("eroica topics cr"), HasSubstr("create"));
  EXPECT_THAT(offered("eroica findings --severity ma"), HasSubstr("major"));
  EXPECT_THAT(offered("eroica findings --sev"), HasSubstr("--severity"));
  EXPECT_THAT(offered("eroica token --sev"), Not(HasSubstr("--severity")));
}

TEST(Help, EveryCommandHasExamplesAndExitCodes) {
  const std::vector<std::string> names = AllCommandNames();
  EXPECT_THAT(names, ::testing::IsSupersetOf({"jobs", "top", "export", "config check"}));
  for (const std::string& name : names) {
    std::vector<std::string> arguments = {"help"};
    std::istringstream words(name);
    for (std::string word; words >> word;) arguments.push_back(word);
    const ProgramRun run = RunProgram(arguments);
    EXPECT_EQ(run.exit_code, kExitNothingFound) << name;
    EXPECT_THAT(run.out, HasSubstr("Examples:")) << name;
    std::string unwrapped = run.out;
    std::ranges::replace(unwrapped, '\n', ' ');
    EXPECT_THAT(unwrapped, HasSubstr("Exit codes: ")) << name;
  }
}

TEST(Manual, ManReadsEveryPageWithoutAWarning) {
  if (!IsInstalled("man")) GTEST_SKIP() << "needs man-db: ops/install_dependencies.sh --tests";
  const ScratchDirectory folder;
  const ProgramRun written = RunProgram({"manual", "-o", folder.path()});
  ASSERT_EQ(written.exit_code, kExitNothingFound) << written.err;
  size_t pages = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ++pages;
    const ProgramRun read =
        Program("/bin/sh", {"-c", "LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l \"$0\"",
                            entry.path().string()})
            .Wait();
    EXPECT_EQ(read.exit_code, 0) << entry;
    EXPECT_EQ(read.err, "") << entry;
    EXPECT_THAT(read.out, HasSubstr("EXIT STATUS")) << entry;
  }
  EXPECT_EQ(pages, AllCommandNames().size() + 1);
}

TEST(Manual, PrintsOnePage) {
  const ProgramRun run = RunProgram({"manual", "topics", "create"});
  EXPECT_EQ(run.exit_code, kExitNothingFound) << run.err;
  EXPECT_THAT(run.out, HasSubstr(".TH EROICA\\-TOPICS\\-CREATE 1"));
  EXPECT_EQ(RunProgram({"manual", "none"}).exit_code, kExitError);
  EXPECT_EQ(RunProgram({"manual", "-o", "no/such/folder"}).exit_code, kExitError);
}

}  // namespace
}  // namespace eroica
