#include "ops/act/decision.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "ops/act/command_arguments.h"

namespace eroica {
namespace {

using Why = std::optional<std::string>;

constexpr int64_t kHourMs = 3'600'000;

int64_t Ms(std::chrono::seconds time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

bool IsAbout(const PolicyRule& rule, const Finding& finding) {
  const bool kind =
      rule.kinds.empty() || std::ranges::find(rule.kinds, finding.kind) != rule.kinds.end();
  const bool subkind = rule.subkind.empty() || rule.subkind == finding.subkind;
  // A NUL ends the name for fnmatch.
  return kind && subkind && finding.job.value.find('\0') == std::string::npos &&
         ::fnmatch(rule.job.c_str(), finding.job.value.c_str(), 0) == 0;
}

Why WeightAgainst(const PolicyRule& rule, const Finding& finding) {
  if (finding.severity < rule.severity)
    return fmt::format("its severity is below {}", ToString(rule.severity));
  if (finding.confidence < rule.confidence)
    return fmt::format("its confidence is below {}", rule.confidence);
  if (LostShare(finding) < rule.lost_share)
    return fmt::format("it costs less than {} of the job's work", rule.lost_share);
  if (finding.lost_ns_per_step < rule.lost_ms_per_step * 1e6)
    return fmt::format("it costs less than {} ms a step", rule.lost_ms_per_step);
  return std::nullopt;
}

Why BlameAgainst(const PolicyRule& rule, const Finding& finding) {
  if (!rule.undecided && IsUndecided(finding)) return "it cannot tell who or what is to blame";
  const size_t places = std::max(CulpritRanks(finding).size(), CulpritHosts(finding).size());
  if (!rule.groups && places > 1) return "it names several ranks or hosts";
  return std::nullopt;
}

// A hang is no window's: it is confirmed by being there.
Why WindowsAgainst(const PolicyRule& rule, const DecisionInput& input) {
  if (input.finding.kind == FindingKind::kHang) return std::nullopt;
  const std::string& id = input.finding.id;
  if (input.confirmations.InARow(id) < rule.lasting)
    return fmt::format("it has not lasted for {} windows in a row", rule.lasting);
  if (input.confirmations.Within(id, rule.quorum_of) < rule.quorum_windows)
    return fmt::format("it was not seen in {} of the last {} windows", rule.quorum_windows,
                       rule.quorum_of);
  return std::nullopt;
}

Why TargetAgainst(const PolicyAction& action, const Finding& finding) {
  if (action.kind == ActionKind::kIsolateHost && CulpritHosts(finding).size() != 1)
    return "it names no single host to isolate";
  if (action.kind == ActionKind::kRestartRankOnSpare && CulpritRanks(finding).size() != 1)
    return "it names no single rank to restart";
  return std::nullopt;
}

Why PaceAgainst(const PolicyLimits& limits, const DecisionInput& input) {
  const std::string& job = input.finding.job.value;
  const ActionHistory& history = input.history;
  if (history.CountSince(input.now_ms - Ms(limits.cool_down), job, "") > 0)
    return "the job cools down after an action";
  const int64_t hour_ago = input.now_ms - kHourMs;
  if (history.CountSince(hour_ago, "", "") >= limits.per_hour)
    return "there were as many actions in this hour as there may be";
  if (history.CountSince(hour_ago, job, "") >= limits.per_job_hour)
    return "there were as many actions for this job in this hour as there may be";
  for (const std::string& host : CulpritHosts(input.finding)) {
    if (history.CountSince(hour_ago, "", host) >= limits.per_host_hour)
      return "there were as many actions for this host in this hour as there may be";
  }
  return std::nullopt;
}

Why LimitsAgainst(const PolicyLimits& limits, const DecisionInput& input) {
  if (input.history.HasActedOn(input.finding.id)) return "something has been done about it before";
  if (input.is_muted) return "somebody has muted it";
  if (input.finding.emitted_at_ns / 1'000'000 < input.now_ms - Ms(limits.age))
    return "it is too old";
  return PaceAgainst(limits, input);
}

}  // namespace

double LostShare(const Finding& finding) {
  constexpr double kSecondsOfHour = 3'600;
  if (finding.world_size == 0) return 0;
  return finding.lost_gpu_seconds_per_hour / kSecondsOfHour / finding.world_size;
}

bool IsUndecided(const Finding& finding) {
  const auto says_so = [](const std::string& caveat) { return caveat.starts_with("Undecided"); };
  return finding.kind == FindingKind::kMonitoringGap || finding.culprits.empty() ||
         finding.subkind == "undecided" || finding.subkind == "unrecorded_ranks" ||
         std::ranges::any_of(finding.caveats, says_so);
}

RuleOpinion OpinionOf(const PolicyRule& rule, const DecisionInput& input) {
  RuleOpinion opinion{.rule = &rule, .kind = RuleOpinion::Kind::kOther, .why = {}};
  if (!IsAbout(rule, input.finding)) {
    opinion.why = "it is about other findings";
    return opinion;
  }
  opinion.kind = RuleOpinion::Kind::kNotYet;
  Why why = WeightAgainst(rule, input.finding);
  if (!why) why = BlameAgainst(rule, input.finding);
  if (!why) why = WindowsAgainst(rule, input);
  if (why) {
    opinion.why = *std::move(why);
  } else {
    opinion.kind = RuleOpinion::Kind::kHolds;
  }
  return opinion;
}

Decision Decide(const Policy& policy, const DecisionInput& input) {
  Decision decision;
  if (input.finding.state == FindingState::kResolved) return decision;
  for (const PolicyRule& rule : policy.rules) {
    RuleOpinion opinion = OpinionOf(rule, input);
    if (opinion.kind == RuleOpinion::Kind::kOther) continue;
    const bool holds = opinion.kind == RuleOpinion::Kind::kHolds;
    // Of rules that do not hold, the first says why.
    if (!holds && decision.rule != nullptr) continue;
    decision = {.verdict = Decision::Verdict::kRefused,
                .rule = &rule,
                .action = policy.FindAction(rule.action),
                .reason = std::move(opinion.why)};
    if (holds) break;
  }
  if (decision.rule == nullptr || !decision.reason.empty()) return decision;
  Why why = TargetAgainst(*decision.action, input.finding);
  if (!why) {
    absl::StatusOr<std::vector<std::string>> arguments =
        ArgumentsFor(decision.action->command, input.finding);
    if (arguments.ok()) {
      decision.arguments = *std::move(arguments);
    } else {
      why = std::string(arguments.status().message());
    }
  }
  if (!why) why = LimitsAgainst(policy.limits, input);
  if (why) {
    decision.reason = *std::move(why);
  } else {
    decision.verdict = Decision::Verdict::kAct;
  }
  return decision;
}

}  // namespace eroica
