// Does what a policy says about findings, each once: decides, writes the intent down, runs the
// command, writes its outcome down. Without `execute` it decides and writes down what it would do.
// One thread. It asks no clock: the caller passes the times.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ops/act/action_journal.h"
#include "ops/act/command_run.h"
#include "ops/act/decision.h"
#include "ops/findings/finding_subscription.h"

namespace eroica {

struct ActorOptions {
  Policy policy;
  bool execute = false;
  std::function<bool(const std::string& id)> is_muted = [](const std::string&) { return false; };
  // Written where all nodes read it, before the action; an error: nothing is done.
  std::function<absl::Status(const JournalEntry&)> publish = [](const JournalEntry&) {
    return absl::OkStatus();
  };
  std::function<absl::StatusOr<CommandResult>(const CommandOptions&)> run = RunCommand;
  std::function<int64_t()> wall_clock_ms;
};

// Counted since the start.
struct ActorProbe {
  uint64_t versions = 0;  // of findings that were news
  uint64_t refused = 0;   // decisions; the same refusal of a finding counts once
  uint64_t dry_run = 0;
  uint64_t done = 0;
  uint64_t failed = 0;
  friend bool operator==(const ActorProbe&, const ActorProbe&) = default;
};
std::string ProbeText(const ActorProbe& probe);

class Actor {
 public:
  // journal must outlive the actor. Says of its interrupted intents that nobody knows how they
  // ended.
  Actor(ActorOptions options, ActionJournal& journal);
  absl::Status Begin();

  // An error: the journal cannot be written, and nothing further may be done.
  absl::Status Take(FindingSubscription::Batch batch);
  // Somebody else, by what all nodes read, has acted on it.
  void ActedElsewhere(const PastAction& action) {
    if (!history_.HasActedOn(action.finding_id)) history_.Add(action);
  }
  const ActorProbe& probe() const { return probe_; }

 private:
  absl::Status Consider(const Finding& finding);
  absl::Status Refuse(const Finding& finding, const Decision& decision);
  absl::Status Act(const Finding& finding, const Decision& decision);
  JournalEntry EntryFor(JournalEntryKind kind, const Finding& finding,
                        const Decision& decision) const;
  static void Fill(const absl::StatusOr<CommandResult>& result, JournalEntry* outcome);

  const ActorOptions options_;
  ActionJournal& journal_;
  Confirmations confirmations_;
  ActionHistory history_;
  // Open when the group's first member began: considered when all of the past is known. By id.
  std::map<std::string, FindingSubscription::Version> present_;
  std::set<std::string> said_;  // refusals: finding, rule and reason
  ActorProbe probe_;
};

}  // namespace eroica
