// What all commands of the program have in common, from outside: help, errors of usage, output that
// cannot be written, names that drive terminals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"
#include "ops/cli/unfinished_mark.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// By a shell, which may set variables before it and redirect behind it.
ProgramRun RunInShell(const std::string& before, std::vector<std::string> arguments,
                      const std::string& behind) {
  std::vector<std::string> all = {"-c", before + " \"$0\" \"$@\" " + behind, EROICA_PROGRAM};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return Program("/bin/sh", std::move(all)).Wait();
}

std::string ErrorOf(std::vector<std::string> arguments) {
  const ProgramRun run = RunProgram(std::move(arguments));
  EXPECT_EQ(run.exit_code, kExitError) << run.out;
  EXPECT_THAT(run.out, IsEmpty());
  return run.err;
}

std::string Trace(const std::string& name) {
  return R"({"distributedInfo":{"rank":0,"world_size":1},"traceEvents":[
      {"ph":"X","cat":"kernel","name":")" +
         name + R"(","pid":0,"tid":7,"ts":100,"dur":5,"args":{"device":0,"stream":7}}]})";
}

TEST(CommandLine, HelpOfACommandInTwoWays) {
  const ProgramRun help = RunProgram({"help", "topics", "create"});
  EXPECT_EQ(help.exit_code, kExitNothingFound) << help.err;
  EXPECT_EQ(help.out, RunProgram({"topics", "create", "--help"}).out);
  EXPECT_THAT(help.out, HasSubstr("Usage: eroica topics create"));
  EXPECT_EQ(RunProgram({"help"}).out, RunProgram({"--help"}).out);
  EXPECT_THAT(ErrorOf({"help", "topics", "craete"}), HasSubstr("did you mean 'create'?"));
}

TEST(CommandLine, HelpIsAsWideAsTheTerminal) {
  for (const char* command : {"findings", "node", "run", "record", "replay"}) {
    for (const size_t width : {60u, 80u}) {
      const ProgramRun run =
          RunInShell("COLUMNS=" + std::to_string(width), {command, "--help"}, "");
      std::istringstream lines(run.out);
      for (std::string line; std::getline(lines, line);)
        EXPECT_LE(line.size(), width) << command << ": " << line;
    }
  }
}

TEST(CommandLine, ErrorsOfUsageAreInOurWords) {
  EXPECT_EQ(ErrorOf({"topics"}), "eroica: which command? `eroica topics` has create, check\n");
  EXPECT_EQ(ErrorOf({"topics", "delete"}),
            "eroica: `eroica topics` has no command 'delete'; it has create, check\n");
  EXPECT_EQ(ErrorOf({"diagnos", "/path"}),
            "eroica: `eroica` has no command 'diagnos'; did you mean 'diagnose'?\n");
  EXPECT_EQ(ErrorOf({"diagnose"}),
            "eroica: `eroica diagnose` needs TRACE; see `eroica diagnose --help`\n");
  EXPECT_EQ(ErrorOf({"diagnose", "x", "--window-steps", "abc"}),
            "eroica: --window-steps: 'abc' is no whole number from 1 to 1000000\n");
  EXPECT_EQ(ErrorOf({"findings", "--job"}),
            "eroica: --job needs a value: --job JOB; see `eroica findings --help`\n");
  EXPECT_EQ(ErrorOf({"findings", "--severity", "majr"}),
            "eroica: --severity: 'majr' is none of info, minor, major, critical; did you mean "
            "'major'?\n");
  EXPECT_EQ(ErrorOf({"findings", "--recording", "a", "--bootstrap", "b"}),
            "eroica: --bootstrap and --recording do not go together: give one of them\n");
  EXPECT_EQ(ErrorOf({"findings", "surplus"}),
            "eroica: `eroica findings` takes no 'surplus'; see `eroica findings --help`\n");
  EXPECT_EQ(ErrorOf({"findings", "--nonsense=3"}),
            "eroica: `eroica findings` has no option --nonsense; see `eroica findings --help`\n");
}

TEST(CommandLine, AnOptionThatWouldBeIgnoredIsRefused) {
  EXPECT_THAT(ErrorOf({"import", "x", "-o", "y", "--bootstrap", "b:1"}),
              HasSubstr("--output and --bootstrap do not go together"));
  EXPECT_THAT(ErrorOf({"import", "x", "-o", "y", "--recording", "z"}), HasSubstr("--output"));
  EXPECT_THAT(ErrorOf({"import", "x"}), HasSubstr("Give -o DIR for a recording"));
}

TEST(CommandLine, VersionNamesCommitAndLibraries) {
  const ProgramRun run = RunProgram({"-V"});
  EXPECT_EQ(run.exit_code, kExitNothingFound);
  EXPECT_EQ(run.out, RunProgram({"--version"}).out);
  for (const char* part :
       {"eroica 0.", "commit ", "build ", "librdkafka ", "RocksDB ", "FlatBuffers ", "Boost "})
    EXPECT_THAT(run.out, HasSubstr(part));
}

TEST(CommandLine, OutputThatCannotBeWrittenIsAnError) {
  const ScratchDirectory folder;
  const std::string trace = folder.path() + "/rank0.json";
  WriteBytes(trace, Trace("gemm"));
  const std::string recording = folder.path() + "/recording";
  ASSERT_EQ(RunProgram({"topics", "create", "--recording", recording}).exit_code,
            kExitNothingFound);
  const std::vector<std::vector<std::string>> commands = {
      {"--help"},
      {"--version"},
      {"check"},
      {"diagnose", trace},
      {"diagnose", trace, "--json"},
      {"import", trace, "-o", folder.path() + "/imported"},
      {"topics", "check", "--recording", recording},
      {"completion", "bash"},
      {"config", "print"},
      {"config", "explain", "rest"},
      {"findings", "--recording", recording},
      {"deadletter", "list", "--recording", recording},
      {"node", "--print-config"}};
  for (const std::vector<std::string>& command : commands) {
    const ProgramRun full = RunInShell("", command, "> /dev/full");
    EXPECT_EQ(full.exit_code, kExitError) << command[0];
    EXPECT_THAT(full.err,
                HasSubstr("eroica: cannot write to standard output: No space left on device\n"))
        << command[0];
    std::filesystem::remove_all(folder.path() + "/imported");
    const ProgramRun closed = RunInShell("", command, ">&-");
    EXPECT_EQ(closed.exit_code, kExitError) << command[0];
    EXPECT_THAT(closed.err, HasSubstr("cannot write to standard output: it is closed\n"))
        << command[0];
    std::filesystem::remove_all(folder.path() + "/imported");
  }
}

TEST(CommandLine, WhoeverReadsNoMoreEndsItQuietly) {
  for (const char* before : {"", "trap '' PIPE; "}) {
    const ProgramRun run =
        RunInShell(std::string(before) + "{", {"node", "--print-config-reference"},
                   "; echo \"ended with $?\" >&2; } | true");
    EXPECT_EQ(run.err, "ended with 141\n") << "by SIGPIPE, and without a word";
  }
}

TEST(CommandLine, NamesOfATraceDriveNoTerminal) {
  const ScratchDirectory folder;
  const std::string hostile = "x\x1b[31m\x07y";
  const std::string name = R"(throttled\u001b[31m_layer\u0007\n[critical] forged)";
  WriteBytes(folder.path() + "/rank0" + hostile + ".json", Trace(name));
  WriteBytes(folder.path() + "/rank1" + hostile + ".json", "no trace");
  WriteBytes(folder.path() + "/rank" + hostile + ".json", Trace(name));
  const std::string recording = folder.path() + "/rec" + hostile;
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"diagnose", folder.path(), "--job", hostile},
           {"diagnose", folder.path(), "--job", hostile, "--json"},
           {"import", folder.path(), "-o", recording, "--job", hostile},
           {"import", folder.path(), "-o", recording, "--job", hostile},
           {"node", "--recording", recording, "--drain"},
           {"findings", "--recording", recording, "--job", hostile},
           {"findings", "--recording", recording, "--job", hostile, "--brief"},
           {"findings", "--recording", recording + "none"},
           {"jobs", "--recording", recording},
           {"jobs", "--recording", recording, "--json"},
           {"export", "--recording", recording, "--job", hostile, "-o", folder.path() + "/t.json"},
           {"export", "--recording", recording, "--finding", hostile, "-o", hostile},
           {"top", "--node", hostile},
           {"config", "check", hostile},
           {"config", "check", hostile, "--json"},
           {"config", "explain", hostile},
           {"diagnose", folder.path() + "/none" + hostile},
           {"topics", "check", "--recording", recording, "--topic-prefix", hostile},
           {"deadletter", "list", "--recording", recording, "--job", hostile},
           {"findings", "--" + hostile},
           {hostile}}) {
    const ProgramRun run = RunProgram(command);
    std::istringstream lines(run.out + "\n" + run.err);
    for (std::string line; std::getline(lines, line);)
      EXPECT_EQ(line, Printable(line)) << command[0];
    EXPECT_THAT(run.out, Not(HasSubstr("\n[critical] forged"))) << command[0];
  }
}

TEST(CommandLine, QuietSaysOnlyWhatWasFound) {
  const ScratchDirectory folder;
  const std::string trace = folder.path() + "/rank0.json";
  WriteBytes(trace, Trace("gemm"));
  const ProgramRun run =
      RunProgram({"import", trace, "-o", folder.path() + "/recording", "--quiet"});
  EXPECT_EQ(run.exit_code, kExitNothingFound) << run.err;
  EXPECT_THAT(run.out + run.err, IsEmpty());
  EXPECT_THAT(ErrorOf({"import", trace, "-o", folder.path() + "/recording", "-q"}),
              HasSubstr("--append"));
  EXPECT_THAT(ErrorOf({"findings", "-q", "-v"}), HasSubstr("do not go together"));
}

TEST(CommandLine, TheBrokersOfTheEnvironmentAreAskedWhereNoneAreNamed) {
  const ProgramRun run =
      RunInShell("EROICA_BOOTSTRAP=127.0.0.1:9",
                 {"findings", "--set", "kafka.properties.security.protocol=no"}, "");
  EXPECT_EQ(run.exit_code, kExitError);
  EXPECT_THAT(run.err, HasSubstr("security.protocol"));
  const ScratchDirectory folder;
  const ProgramRun recording = RunInShell("EROICA_BOOTSTRAP=127.0.0.1:9",
                                          {"topics", "create", "--recording", folder.path()}, "");
  EXPECT_EQ(recording.exit_code, kExitNothingFound) << recording.err;
}

TEST(CommandLine, ARecordingThatWasInterruptedIsNotTakenForWhole) {
  const ScratchDirectory folder;
  const std::string trace = folder.path() + "/rank0.json";
  WriteBytes(trace, Trace("gemm"));
  const std::string recording = folder.path() + "/recording";
  ASSERT_EQ(RunProgram({"import", trace, "-o", recording}).exit_code, kExitNothingFound);
  const ProgramRun whole = RunProgram({"node", "--recording", recording, "--drain"});
  EXPECT_THAT(whole.err, Not(HasSubstr("not whole")));
  { ASSERT_TRUE(UnfinishedMark::Set(recording, "eroica import").ok()); }
  const std::string words = "is not whole: `eroica import` that wrote it was interrupted";
  EXPECT_THAT(RunProgram({"node", "--recording", recording, "--drain"}).err, HasSubstr(words));
  EXPECT_THAT(RunProgram({"findings", "--recording", recording}).err, HasSubstr(words));
  EXPECT_THAT(ErrorOf({"import", trace, "-o", recording}), HasSubstr(words));
  EXPECT_THAT(ErrorOf({"replay", "--recording", recording, "-o", folder.path() + "/again"}),
              HasSubstr(words));
}

}  // namespace
}  // namespace eroica
