// What is done about findings, and about which: the policy of `eroica act`. Read from a file by
// policy_file.h; docs/ACTING.md is its reference. Plain data.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "schemas/finding.h"

namespace eroica {

// What an action does decides which findings it can be done about.
enum class ActionKind : uint8_t {
  kIsolateHost = 0,         // needs a finding that names one host
  kRestartRankOnSpare = 1,  // needs one that names one rank
  kOpenTicket = 2,
  kRunCommand = 3,
};
inline constexpr int kActionKindCount = 4;
std::string_view ToString(ActionKind kind);

struct PolicyAction {
  std::string name;
  ActionKind kind = ActionKind::kRunCommand;
  std::vector<std::string> command;  // argv, with placeholders; never through a shell
  std::chrono::seconds timeout{60};
};

// All that is given must hold.
struct PolicyRule {
  std::string name;
  std::string action;              // of PolicyAction::name
  std::vector<FindingKind> kinds;  // empty: any
  std::string subkind;             // empty: any
  std::string job = "*";           // a pattern: * and ?
  Severity severity = Severity::kMajor;
  double confidence = 0.9;
  double lost_share = 0;  // of the job's work
  double lost_ms_per_step = 0;
  int64_t lasting = 1;         // windows in a row, up to the newest, that say it
  int64_t quorum_windows = 2;  // of the newest quorum_of windows, this many say it
  int64_t quorum_of = 3;
  bool undecided = false;  // findings that cannot tell, too
  bool groups = false;     // findings that name several ranks or hosts, too
};

// Beyond them nothing is done, whatever a rule says. 0 of a number an hour: never.
struct PolicyLimits {
  int64_t per_hour = 4;
  int64_t per_job_hour = 2;
  int64_t per_host_hour = 1;
  std::chrono::seconds cool_down{600};   // of a job, after an action
  std::chrono::seconds age{900};         // of a version of a finding: an older one is history
  std::vector<std::string> executables;  // absolute paths that a command may begin with
};

struct Policy {
  PolicyLimits limits;
  std::vector<PolicyAction> actions;
  std::vector<PolicyRule> rules;  // the first one that holds decides

  // nullptr: none of that name.
  const PolicyAction* FindAction(std::string_view name) const;
};

}  // namespace eroica
