// eroica act: does what a policy says about findings; without --execute it says what it would do.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ops/act/actor.h"
#include "ops/act/policy_file.h"
#include "ops/cli/commands.h"
#include "ops/cli/config_flags.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/finding_text.h"
#include "ops/cli/logging.h"
#include "ops/cli/open_log.h"
#include "ops/cli/stop_signal.h"
#include "ops/cli/subscriber_rest.h"
#include "ops/cli/terminal.h"
#include "ops/cli/time_text.h"
#include "ops/findings/audit_log.h"
#include "ops/findings/finding_reader.h"
#include "schemas/mutex.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct ActFlags {
  ConfigFlags config;
  std::string policy;
  std::string check;
  std::string journal = "eroica-act.jsonl";
  bool execute = false;
  bool explain = false;
};

absl::Status Check(const std::string& path) {
  const absl::StatusOr<Policy> policy = ReadPolicyFile(path);
  if (!policy.ok()) return policy.status();
  std::cout << fmt::format("{}: {} rule{}, {} action{}\n", Printable(path), policy->rules.size(),
                           policy->rules.size() == 1 ? "" : "s", policy->actions.size(),
                           policy->actions.size() == 1 ? "" : "s");
  for (const PolicyRule& rule : policy->rules) {
    const PolicyAction& action = *policy->FindAction(rule.action);
    std::cout << fmt::format("  {}: {} ({}): {}\n", Printable(rule.name), Printable(action.name),
                             ToString(action.kind),
                             Printable(fmt::format("{}", fmt::join(action.command, " "))));
  }
  return absl::OkStatus();
}

void ExplainFinding(const Policy& policy, const Finding& finding,
                    const Confirmations& confirmations) {
  std::cout << FindingLine(finding, ColorsOutput());
  const ActionHistory none;
  const DecisionInput input{.finding = finding,
                            .confirmations = confirmations,
                            .history = none,
                            .is_muted = false,
                            .now_ms = NowMs()};
  for (const PolicyRule& rule : policy.rules) {
    const RuleOpinion opinion = OpinionOf(rule, input);
    std::cout << fmt::format("  {}: {}\n", Printable(rule.name),
                             opinion.kind == RuleOpinion::Kind::kHolds
                                 ? "holds: " + Printable(rule.action)
                                 : "no: " + opinion.why);
  }
  const Decision decision = Decide(policy, input);
  switch (decision.verdict) {
    case Decision::Verdict::kNone: std::cout << "  -> nothing\n"; break;
    case Decision::Verdict::kRefused:
      std::cout << fmt::format("  -> nothing: {}\n", decision.reason);
      break;
    case Decision::Verdict::kAct:
      std::cout << fmt::format("  -> {}: {}\n", Printable(decision.action->name),
                               Printable(fmt::format("{}", fmt::join(decision.arguments, " "))));
      break;
  }
}

// Which rule would fire for the findings as they are; what was done before is left aside.
absl::Status Explain(const NodeConfig& config, const Policy& policy) {
  const absl::StatusOr<std::unique_ptr<Log>> log = OpenLog(config, LogAccess::kRead);
  if (!log.ok()) return log.status();
  const absl::StatusOr<std::unique_ptr<FindingReader>> reader =
      FindingReader::Open(**log, config.node.topic_prefix);
  if (!reader.ok()) return reader.status();
  absl::StatusOr<std::vector<Finding>> findings = ReadAllFindings(**reader);
  if (!findings.ok()) return findings.status();
  Confirmations confirmations;
  for (const Finding& finding : *findings) confirmations.Take(0, finding);
  int open = 0;
  for (const Finding& finding : LatestVersions(*std::move(findings))) {
    if (finding.state == FindingState::kResolved || !finding.replay_id.empty()) continue;
    ++open;
    ExplainFinding(policy, finding, confirmations);
  }
  if (open == 0 && !IsQuiet()) std::cerr << "eroica: there is no open finding\n";
  return absl::OkStatus();
}

// The audit topic of a Kafka: who else has acted, who has muted what, and where intents go.
class SharedAudit {
 public:
  SharedAudit(const NodeConfig& config, Log& log)
      : index_(0), audit_(log, config.node.topic_prefix, index_) {
    audit_.Start();
  }

  absl::Status Publish(const JournalEntry& entry) {
    AuditEntry shared{.id = "",
                      .at_ms = entry.at_ms,
                      .by = "eroica-act",
                      .action = AuditAction::kAct,
                      .target = entry.finding_id,
                      .detail = fmt::format("{}: {}", entry.rule, fmt::join(entry.arguments, " "))};
    return audit_.Append(&shared);
  }
  // Before that nobody knows what was done and muted.
  bool caught_up() const { return audit_.caught_up(); }
  bool IsMuted(const std::string& finding_id) const {
    Annotation annotation;
    const std::vector<AuditEntry> entries = audit_.Entries();
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
      if (entry->target == finding_id) Fold(*entry, &annotation);
    }
    return annotation.IsMuted(NowMs());
  }
  void TakeOthersActions(Actor* actor) {
    if (audit_.version() == taken_) return;
    taken_ = audit_.version();
    for (const AuditEntry& entry : audit_.Entries()) {
      if (entry.action == AuditAction::kAct)
        actor->ActedElsewhere({.at_ms = entry.at_ms, .finding_id = entry.target});
    }
  }

 private:
  FindingIndex index_;  // of no finding: the audit log keeps in it what is muted
  AuditLog audit_;
  uint64_t taken_ = 0;  // version of the audit
};

// What the actor has counted, for those who ask on other threads.
class SharedProbe {
 public:
  void Set(const ActorProbe& probe) {
    const MutexLock lock(mutex_);
    probe_ = probe;
  }
  ActorProbe Get() const {
    const MutexLock lock(mutex_);
    return probe_;
  }

 private:
  mutable Mutex mutex_;
  ActorProbe probe_;
};

bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

// Until somebody says stop.
absl::Status Follow(FindingSubscription& subscription, SharedAudit* audit, Actor* actor,
                    SharedProbe* shown) {
  constexpr milliseconds kLook{50};
  constexpr milliseconds kPoll{250};
  constexpr std::chrono::seconds kSayEvery{60};
  ActorProbe said;
  auto due = steady_clock::now() + kSayEvery;
  while (audit != nullptr && !audit->caught_up() && !StopRequested())
    std::this_thread::sleep_for(kLook);
  while (!StopRequested()) {
    FindingSubscription::Batch batch;
    const absl::Status polled = subscription.Poll(kPoll, &batch);
    if (!polled.ok() && !MayPass(polled)) return polled;
    if (audit != nullptr) audit->TakeOthersActions(actor);
    if (absl::Status status = actor->Take(std::move(batch)); !status.ok()) return status;
    shown->Set(actor->probe());
    const absl::Status committed = subscription.Commit(subscription.Positions());
    if (!committed.ok() && !MayPass(committed)) return committed;
    if (steady_clock::now() < due) continue;
    due += kSayEvery;
    if (actor->probe() != said) spdlog::info("act: {}", ProbeText(actor->probe()));
    said = actor->probe();
  }
  return absl::OkStatus();
}

absl::Status Act(const NodeConfig& config, const ActFlags& flags, Policy policy) {
  SetLogLevel(config.node.log_level);
  const absl::StatusOr<std::unique_ptr<Log>> log = OpenLog(config, LogAccess::kRead);
  if (!log.ok()) return log.status();
  const absl::StatusOr<std::unique_ptr<ActionJournal>> journal = ActionJournal::Open(flags.journal);
  if (!journal.ok()) return journal.status();
  const std::string group = config.kafka.group_prefix + (flags.execute ? "-act" : "-act-dry-run");
  const absl::StatusOr<std::unique_ptr<FindingSubscription>> subscription =
      FindingSubscription::Open(**log, config.node.topic_prefix, group);
  if (!subscription.ok()) return subscription.status();
  // The audit topic of a recording belongs to its node, which alone may write it.
  std::unique_ptr<SharedAudit> audit;
  if (!config.kafka.bootstrap.empty()) audit = std::make_unique<SharedAudit>(config, **log);
  ActorOptions options{
      .policy = std::move(policy), .execute = flags.execute, .wall_clock_ms = NowMs};
  if (audit != nullptr) {
    options.publish = [&audit](const JournalEntry& entry) { return audit->Publish(entry); };
    options.is_muted = [&audit](const std::string& id) { return audit->IsMuted(id); };
  }
  Actor actor(std::move(options), **journal);
  if (absl::Status status = actor.Begin(); !status.ok()) return status;
  SharedProbe shown;
  const absl::StatusOr<std::unique_ptr<SubscriberRest>> rest =
      SubscriberRest::Start(config, {.option = "act.listen",
                                     .listen = config.act.listen,
                                     .reasons = [] { return std::vector<std::string>(); },
                                     .metrics =
                                         [&shown](const SubscriberProgram& program) {
                                           return ActMetrics(shown.Get(), program);
                                         }});
  if (!rest.ok()) return rest.status();
  CatchStopSignals();
  spdlog::info("act: running {} policy={} journal={}",
               flags.execute ? "and doing what the policy says" : "dry: nothing is done",
               flags.policy, flags.journal);
  const absl::Status status = Follow(**subscription, audit.get(), &actor, &shown);
  std::cerr << "act: " << ProbeText(actor.probe()) << "\n";
  return status;
}

absl::Status Run(const ActFlags& flags) {
  if (!flags.check.empty()) return Check(flags.check);
  if (flags.policy.empty())
    return absl::InvalidArgumentError("which policy? eroica act --policy FILE");
  absl::StatusOr<Policy> policy = ReadPolicyFile(flags.policy);
  if (!policy.ok()) return policy.status();
  const absl::StatusOr<NodeConfig> config = flags.config.Load();
  if (!config.ok()) return config.status();
  return flags.explain ? Explain(*config, *policy) : Act(*config, flags, *std::move(policy));
}

}  // namespace

void AddActCommand(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<ActFlags>();
  CLI::App* command =
      app.add_subcommand("act", "Do what a policy says about findings; dry unless --execute");
  flags->config.AddTo(*command);
  command->add_option("--policy", flags->policy, "TOML file: which finding leads to what")
      ->type_name("FILE");
  auto* check =
      command->add_option("--check", flags->check, "Say whether a policy is valid, and stop")
          ->type_name("POLICY");
  command
      ->add_option("--journal", flags->journal,
                   "What was decided and done, a JSON object a line; nothing in it is done again")
      ->type_name("FILE")
      ->capture_default_str();
  auto* execute = command->add_flag("--execute", flags->execute,
                                    "Do it; without this it is only said what would be done");
  command
      ->add_flag("--explain", flags->explain,
                 "Which rule would fire for the findings that are open now, and stop")
      ->excludes(execute)
      ->excludes(check);
  command->footer(
      "Examples:\n"
      "  eroica act --check act.toml\n"
      "  eroica act --recording recording/ --policy act.toml --explain\n"
      "  eroica act --bootstrap localhost:9092 --policy act.toml             dry\n"
      "  eroica act --bootstrap localhost:9092 --policy act.toml --execute --journal "
      "/var/lib/eroica/act.jsonl\n"
      "  eroica act --config node.toml --policy act.toml --set act.listen=127.0.0.1:8472    with "
      "/metrics\n\n"
      "Stops on Ctrl-C or SIGTERM. docs/ACTING.md is the reference of the policy. Exit codes: 0 "
      "stopped or valid, 2 error.");
  command->callback([flags, exit_code] {
    const absl::Status status = Run(*flags);
    *exit_code = status.ok() ? kExitNothingFound : ExitWithError(status);
  });
}

}  // namespace eroica
