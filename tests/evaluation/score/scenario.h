// A scenario: a simulated job, and what diagnosis must say of it, or that it must say nothing. Read
// from a TOML file (scenario_file.h) in tests/scenarios.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/finding.h"
#include "tests/evaluation/simulate/simulated_job.h"

namespace eroica {

// One finding that must come. A finding is right where its culprits are the expected ones, its
// function is one of functions (parts of names; none: any), and its kind is one of kinds, of one of
// subkinds (none: any); or where all that holds of an alternative.
struct ExpectedFinding {
  std::vector<FindingKind> kinds;
  std::vector<uint32_t> ranks;         // all culprits; none where nobody is to be blamed ...
  std::vector<std::string> hosts;      // ... or where naming the host is enough
  int32_t peer_rank = -1;              // of a link
  std::vector<std::string> functions;  // what the culprit runs, parts of names
  // number of the fault that it is about; -1: of those that strike one of its ranks, of all where
  // none does
  int32_t fault = -1;
  std::vector<std::string> subkinds;
  // it may come and need not: true, and nothing that a person must hear of
  bool optional = false;
  // What every measurement agrees with as well: the other end of a link, another cause. As right as
  // this one, and about the same faults. They have no alternatives of their own.
  std::vector<ExpectedFinding> alternatives;
};

struct Scenario {
  std::string name;    // of the file, without its ending
  std::string family;  // a line of the score's table: "gpu slow", "nic slow", ..., "healthy"
  std::string about;   // one sentence
  std::vector<uint64_t> seeds;
  // of a real job: files and folders below the folder of all traces. Empty: the job is simulated
  std::vector<std::string> traces;
  simulate::SimulatedJob job;             // its seed is the first one
  std::vector<ExpectedFinding> expected;  // none, or optional ones only: a healthy job
};

}  // namespace eroica
