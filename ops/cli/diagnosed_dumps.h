// For tests: folders of flight-recorder dumps, and what the program says of one, in JSON and to
// people.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ops/cli/diagnosed_lines.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"
#include "producers/import/made_dumps.h"

namespace eroica {

struct SaidOfDumps {
  int exit_code = -1;
  std::vector<nlohmann::json> findings;
  std::string text;  // for people
  std::vector<int> culprits;

  std::string subkind() const {
    return findings.empty() ? "" : findings[0].at("subkind").get<std::string>();
  }
  std::string title() const {
    return findings.empty() ? "" : findings[0].at("title").get<std::string>();
  }
  double confidence() const {
    return findings.empty() ? 0 : findings[0].at("confidence").get<double>();
  }
};

inline SaidOfDumps DiagnoseDumps(const std::string& folder) {
  SaidOfDumps said;
  const ProgramRun lines = RunProgram({"diagnose", folder, "--json"});
  said.exit_code = lines.exit_code;
  if (lines.exit_code != kExitError) {
    const nlohmann::json found = DiagnosedLines(lines.out).at("findings");
    said.findings.assign(found.begin(), found.end());
  }
  if (!said.findings.empty()) {
    for (const nlohmann::json& culprit : said.findings[0].at("culprits"))
      said.culprits.push_back(culprit.at("rank"));
  }
  const ProgramRun text = RunProgram({"diagnose", folder});
  EXPECT_EQ(text.exit_code, lines.exit_code);
  for (const char c : text.out + text.err) {  // as one line
    if (c != '\n' && (c != ' ' || said.text.empty() || said.text.back() != ' ')) said.text += c;
    if (c == '\n' && !said.text.empty() && said.text.back() != ' ') said.text += ' ';
  }
  return said;
}

// A folder of made dumps, which goes with the object.
class DumpFolder {
 public:
  void Write(const std::string& name, const MadeDump& dump) const {
    dump.Write(path() + "/" + name);
  }
  void Write(int rank, const MadeDump& dump, const std::string& name = "nccl_trace_rank_") const {
    Write(name + std::to_string(rank), dump);
  }
  std::string path() const { return folder_.path(); }
  SaidOfDumps Diagnosed() const { return DiagnoseDumps(path()); }

 private:
  ScratchDirectory folder_;
};

}  // namespace eroica
