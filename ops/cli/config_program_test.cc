// `eroica config` from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"

namespace eroica {
namespace {

using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ConfigProgramTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& text) const {
    const std::string file = folder_.path() + "/node.toml";
    WriteBytes(file, text);
    return file;
  }
  ScratchDirectory folder_;
};

TEST_F(ConfigProgramTest, CheckSaysThatAFileIsRight) {
  const std::string file = Write("[runtime]\nidle_timeout_ms = 777\n");
  const ProgramRun run = RunProgram({"config", "check", file});
  EXPECT_EQ(run.exit_code, kExitNothingFound) << run.err;
  EXPECT_EQ(run.out, file + ": OK\n");
}

TEST_F(ConfigProgramTest, CheckNamesFileLineAndTheKeyThatWasMeant) {
  const std::string file = Write("[runtime]\nidle_timeot_ms = 777\npoll_records_max = \"many\"\n");
  const ProgramRun run = RunProgram({"config", "check", file});
  EXPECT_EQ(run.exit_code, kExitError);
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_THAT(run.err, HasSubstr(file + ":2: unknown key 'runtime.idle_timeot_ms'; did you mean "
                                        "'runtime.idle_timeout_ms'?\n"));
  EXPECT_THAT(run.err, HasSubstr(file + ":3: "));
  const ProgramRun for_programs = RunProgram({"config", "check", file, "--json"});
  EXPECT_EQ(for_programs.exit_code, kExitError);
  const Json said = Json::parse(for_programs.out);
  EXPECT_FALSE(said.at("ok"));
  EXPECT_EQ(said.at("problems").size(), 2u);
}

TEST_F(ConfigProgramTest, CheckSeesWhatNoSingleKeyTells) {
  const ProgramRun secret = RunProgram(
      {"config", "check", Write("[kafka.properties]\n\"sasl.password\" = \"hunter2\"\n")});
  EXPECT_EQ(secret.exit_code, kExitError);
  EXPECT_THAT(secret.err, AllOf(HasSubstr("sasl.password_file"), Not(HasSubstr("hunter2"))));
  const ProgramRun both = RunProgram(
      {"config", "check", Write("[kafka]\nbootstrap = \"b:1\"\n[node]\nrecording = \"r\"\n")});
  EXPECT_THAT(both.err, HasSubstr("name one of them"));
  const ProgramRun open =
      RunProgram({"config", "check", Write("[rest]\nlisten = \"0.0.0.0:8470\"\n")});
  EXPECT_THAT(open.err, HasSubstr("rest.token_file"));
  const ProgramRun metrics =
      RunProgram({"config", "check", Write("[act]\nlisten = \"0.0.0.0:8472\"\n")});
  EXPECT_THAT(metrics.err, AllOf(HasSubstr("act.listen"), HasSubstr("rest.token_file")));
  EXPECT_EQ(RunProgram({"config", "check", folder_.path() + "/none.toml"}).exit_code, kExitError);
}

TEST_F(ConfigProgramTest, PrintGivesWhatHoldsAndCanBeReadBack) {
  const std::string file = Write(
      "[runtime]\nidle_timeout_ms = 777\n[kafka.properties]\n\"sasl.password\" = \"hunter2\"\n");
  const ProgramRun run =
      RunProgram({"config", "print", "--config", file, "--set", "runtime.poll_records_max=7"});
  EXPECT_EQ(run.exit_code, kExitNothingFound) << run.err;
  EXPECT_THAT(run.out, HasSubstr("idle_timeout_ms = 777"));
  EXPECT_THAT(run.out, HasSubstr("poll_records_max = 7"));
  EXPECT_THAT(run.out, Not(HasSubstr("hunter2")));
  WriteBytes(folder_.path() + "/printed.toml", run.out);
  EXPECT_EQ(RunProgram({"config", "check", folder_.path() + "/printed.toml"}).exit_code,
            kExitNothingFound);
  const ProgramRun for_programs = RunProgram({"config", "print", "--config", file, "--json"});
  EXPECT_THAT(for_programs.out, Not(HasSubstr("hunter2")));
  EXPECT_EQ(Json::parse(for_programs.out).at("runtime.idle_timeout_ms"), 777);
}

TEST_F(ConfigProgramTest, ExplainTellsAKeyOrASection) {
  const ProgramRun key = RunProgram({"config", "explain", "runtime.idle_timeout_ms"});
  EXPECT_EQ(key.exit_code, kExitNothingFound) << key.err;
  EXPECT_THAT(key.out, AllOf(HasSubstr("counts as idle."), HasSubstr("100 to 3600000")));
  const ProgramRun section = RunProgram({"config", "explain", "health", "--json"});
  EXPECT_THAT(section.out, HasSubstr(R"("key":"health.period_seconds")"));
  const ProgramRun none = RunProgram({"config", "explain", "runtime.idle\x1b[2J"});
  EXPECT_EQ(none.exit_code, kExitError);
  EXPECT_THAT(none.err, HasSubstr("unknown key 'runtime.idle\\x1b[2J'"));
}

}  // namespace
}  // namespace eroica
