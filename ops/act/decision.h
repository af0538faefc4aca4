// Which rule of a policy holds for a finding, and whether anything stands against doing what it
// says. Pure: the same finding, past and time, the same decision.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ops/act/action_history.h"
#include "ops/act/confirmations.h"
#include "ops/act/policy.h"
#include "schemas/finding.h"

namespace eroica {

// How one rule takes a finding.
struct RuleOpinion {
  enum class Kind : uint8_t {
    kOther = 0,  // the rule is about other kinds or jobs
    kNotYet,     // it is about findings like this one, and a condition does not hold
    kHolds,
  };
  const PolicyRule* rule = nullptr;
  Kind kind = Kind::kOther;
  std::string why;  // a sentence; empty where it holds
};

// What is known beside the finding.
struct DecisionInput {
  const Finding& finding;
  const Confirmations& confirmations;
  const ActionHistory& history;
  bool is_muted = false;
  int64_t now_ms = 0;
};

struct Decision {
  enum class Verdict : uint8_t { kNone = 0, kRefused = 1, kAct = 2 };
  Verdict verdict = Verdict::kNone;  // kNone: no rule is about it
  const PolicyRule* rule = nullptr;
  const PolicyAction* action = nullptr;
  std::string reason;                  // why it is refused: without numbers that change
  std::vector<std::string> arguments;  // of the command, where they can be made
};

RuleOpinion OpinionOf(const PolicyRule& rule, const DecisionInput& input);
// The first rule that holds, then the limits.
Decision Decide(const Policy& policy, const DecisionInput& input);

// The share of the job's work that it costs; 0 where nobody knows the job's size.
double LostShare(const Finding& finding);
// Whether the finding itself says that it cannot tell who or what is to blame.
bool IsUndecided(const Finding& finding);

}  // namespace eroica
