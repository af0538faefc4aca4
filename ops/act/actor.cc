#include "ops/act/actor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "ops/act/command_arguments.h"
#include "schemas/finding_version.h"
#include "schemas/printable_text.h"
#include "stream_ops/runtime/random_id.h"

namespace eroica {
namespace {

constexpr size_t kSaidMax = 100'000;

void Say(const JournalEntry& entry) {
  const std::string text = fmt::format(
      "act: {} rule=\"{}\" action=\"{}\" job=\"{}\" finding={} {}", ToString(entry.kind),
      entry.rule, entry.action, Printable(entry.job), entry.finding_id,
      entry.reason.empty() ? fmt::format("command=\"{}\"", fmt::join(entry.arguments, " "))
                           : fmt::format("why=\"{}\"", Printable(entry.reason)));
  spdlog::info("{}", text);
}

}  // namespace

std::string ProbeText(const ActorProbe& probe) {
  return fmt::format("versions={} refused={} dry_run={} done={} failed={}", probe.versions,
                     probe.refused, probe.dry_run, probe.done, probe.failed);
}

Actor::Actor(ActorOptions options, ActionJournal& journal)
    : options_(std::move(options)), journal_(journal) {
  for (const JournalEntry& intent : journal_.intents())
    history_.Add({.at_ms = intent.at_ms,
                  .finding_id = intent.finding_id,
                  .job = intent.job,
                  .hosts = intent.hosts});
}

absl::Status Actor::Begin() {
  for (JournalEntry entry : journal_.interrupted()) {
    entry.kind = JournalEntryKind::kInterrupted;
    entry.at_ms = options_.wall_clock_ms();
    entry.reason =
        "this program ended while it was being done: nobody knows how it ended, and it "
        "is not done again";
    spdlog::warn("act: interrupted rule=\"{}\" action=\"{}\" job=\"{}\" finding={} why=\"{}\"",
                 entry.rule, entry.action, Printable(entry.job), entry.finding_id, entry.reason);
    if (absl::Status status = journal_.Append(entry); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Actor::Take(FindingSubscription::Batch batch) {
  using Past = FindingSubscription::Past;
  const auto drop_present = [this](int32_t partition) {
    std::erase_if(present_, [&](const auto& entry) { return entry.second.partition == partition; });
  };
  for (const int32_t partition : batch.forgotten) {
    confirmations_.Forget(partition);
    drop_present(partition);
  }
  for (FindingSubscription::Version& version : batch.versions) {
    confirmations_.Take(version.partition, version.finding);
    if (version.past == Past::kNews) {
      if (absl::Status status = Consider(version.finding); !status.ok()) return status;
    } else if (version.past == Past::kEarlier) {
      std::string id = version.finding.id;
      present_[std::move(id)] = std::move(version);
    }
  }
  for (const int32_t partition : batch.begun) {
    for (const auto& [id, version] : present_) {
      if (version.partition != partition) continue;
      if (absl::Status status = Consider(version.finding); !status.ok()) return status;
    }
    drop_present(partition);
  }
  return absl::OkStatus();
}

absl::Status Actor::Consider(const Finding& finding) {
  ++probe_.versions;
  const Decision decision = Decide(options_.policy, {.finding = finding,
                                                     .confirmations = confirmations_,
                                                     .history = history_,
                                                     .is_muted = options_.is_muted(finding.id),
                                                     .now_ms = options_.wall_clock_ms()});
  switch (decision.verdict) {
    case Decision::Verdict::kNone: return absl::OkStatus();
    case Decision::Verdict::kRefused: return Refuse(finding, decision);
    case Decision::Verdict::kAct: return Act(finding, decision);
  }
  return absl::OkStatus();
}

JournalEntry Actor::EntryFor(JournalEntryKind kind, const Finding& finding,
                             const Decision& decision) const {
  return {.kind = kind,
          .id = fmt::format("{:016x}", RandomId()),
          .at_ms = options_.wall_clock_ms(),
          .finding_id = finding.id,
          .version_id = FindingVersionId(finding),
          .title = finding.title,
          .job = finding.job.value,
          .hosts = CulpritHosts(finding),
          .rule = decision.rule->name,
          .action = decision.action->name,
          .arguments = decision.arguments,
          .reason = decision.reason};
}

// A finding that goes on is refused in every window: what is the same is written down once.
absl::Status Actor::Refuse(const Finding& finding, const Decision& decision) {
  if (said_.size() >= kSaidMax) said_.clear();
  const std::string same =
      fmt::format("{}\n{}\n{}", finding.id, decision.rule->name, decision.reason);
  if (!said_.insert(same).second) return absl::OkStatus();
  ++probe_.refused;
  const JournalEntry entry = EntryFor(JournalEntryKind::kRefused, finding, decision);
  Say(entry);
  return journal_.Append(entry);
}

absl::Status Actor::Act(const Finding& finding, const Decision& decision) {
  JournalEntry entry = EntryFor(
      options_.execute ? JournalEntryKind::kIntent : JournalEntryKind::kDryRun, finding, decision);
  if (options_.execute) {
    if (const absl::Status published = options_.publish(entry); !published.ok()) {
      Decision refused = decision;
      refused.reason = "it cannot be written into the audit topic";
      spdlog::warn("act: {} error=\"{}\"", refused.reason, published.ToString());
      return Refuse(finding, refused);
    }
  }
  Say(entry);
  if (absl::Status status = journal_.Append(entry); !status.ok()) return status;
  history_.Add({.at_ms = entry.at_ms,
                .finding_id = entry.finding_id,
                .job = entry.job,
                .hosts = entry.hosts});
  if (!options_.execute) {
    ++probe_.dry_run;
    return absl::OkStatus();
  }
  const absl::StatusOr<CommandResult> result = options_.run(
      {.arguments = decision.arguments,
       .variables = EnvironmentFor(finding),
       .timeout = std::chrono::duration_cast<std::chrono::milliseconds>(decision.action->timeout)});
  entry.kind = JournalEntryKind::kOutcome;
  entry.at_ms = options_.wall_clock_ms();
  Fill(result, &entry);
  ++(entry.done ? probe_.done : probe_.failed);
  Say(entry);
  return journal_.Append(entry);
}

void Actor::Fill(const absl::StatusOr<CommandResult>& result, JournalEntry* outcome) {
  if (!result.ok()) {
    outcome->reason = std::string(result.status().message());
    return;
  }
  outcome->exit_code = result->exit_code;
  outcome->took_ms = result->took.count();
  outcome->output = result->output;
  outcome->done = result->exit_code == 0 && !result->timed_out;
  outcome->reason = result->timed_out ? "it took too long and was killed"
                    : outcome->done   ? fmt::format("done in {} ms", outcome->took_ms)
                                      : fmt::format("it ended with {}", result->exit_code);
  if (result->bytes_left_out > 0)
    outcome->reason += fmt::format(", {} bytes of its output left out", result->bytes_left_out);
}

}  // namespace eroica
