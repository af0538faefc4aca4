// The audit of `eroica act`, a JSON object a line: every decision, refusals and why among them, and
// of each action its intent before it is done and its outcome after. From its intents a later run
// knows what was done: an intent without an outcome is said, and never done again. One process at a
// time holds the file; one thread.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ops/act/action_history.h"

namespace eroica {

enum class JournalEntryKind : uint8_t {
  kRefused = 0,
  kDryRun = 1,       // it would have been done
  kIntent = 2,       // it is about to be done
  kOutcome = 3,      // it was done, or failed
  kInterrupted = 4,  // an intent of an earlier run, whose outcome nobody knows
};
inline constexpr int kJournalEntryKindCount = 5;
std::string_view ToString(JournalEntryKind kind);

struct JournalEntry {
  JournalEntryKind kind = JournalEntryKind::kRefused;
  std::string id;  // of an action: intent and outcome have the same
  int64_t at_ms = 0;
  std::string finding_id;
  std::string version_id;
  std::string title;
  std::string job;
  std::vector<std::string> hosts;
  std::string rule;
  std::string action;
  std::vector<std::string> arguments;
  std::string reason;  // of a refusal; how an action ended
  bool done = false;   // of an outcome: the command said that it did it
  int exit_code = -1;  // of an outcome
  std::string output;  // of the command, its beginning
  int64_t took_ms = 0;
  friend bool operator==(const JournalEntry&, const JournalEntry&) = default;
};

std::string EncodeJournalEntry(const JournalEntry& entry);
// kInvalidArgument where it is none.
absl::StatusOr<JournalEntry> DecodeJournalEntry(std::string_view line);

class ActionJournal {
 public:
  // Made where it is not there. kFailedPrecondition: another process holds it; kDataLoss: a line is
  // no entry (the last one may be cut off: it is removed, and said).
  static absl::StatusOr<std::unique_ptr<ActionJournal>> Open(const std::string& path);
  ~ActionJournal();
  ActionJournal(const ActionJournal&) = delete;
  ActionJournal& operator=(const ActionJournal&) = delete;

  // On the disk when this returns.
  absl::Status Append(const JournalEntry& entry);
  // Of what was there when it was opened: all intents in order, and those without an outcome.
  const std::vector<JournalEntry>& intents() const { return intents_; }
  const std::vector<JournalEntry>& interrupted() const { return interrupted_; }

 private:
  explicit ActionJournal(int file) : file_(file) {}
  absl::Status Read(const std::string& path);

  const int file_;
  std::vector<JournalEntry> intents_;
  std::vector<JournalEntry> interrupted_;
};

}  // namespace eroica
