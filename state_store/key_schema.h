// The keys of the tables. Decodable, ordered, and no key is a prefix of another of its table.
//
//   kFindings    task, job, finding id
//   kJobs        task, job
//   kProgress    task, job, family, and what the family says below
//   kPositions   task, the runtime's own key
//
// All that a task keeps lies together, so that it goes to another node and is forgotten as a whole;
// within a table all of a job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/ids.h"
#include "state_store/key_encoding.h"

namespace eroica {

// Raised whenever the layout of keys or values changes so that other code would misread it. Stores
// of the version before are upgraded (upgrade.h); those of any other are not opened.
inline constexpr int kKeySchemaVersion = 3;

// Of a task's rows in kProgress. Numbers are on disk: they never change, and none is used again.
enum class ProgressFamily : uint8_t {
  // summarize
  kRank = 0,          // rank: how far its windows are closed (rank_progress.h)
  kCommunicator = 1,  // communicator: who its members are
  kReported = 2,      // rank: the newest report of progress that went on to diagnose
  // align
  kAligned = 3,  // communicator, window kind: how far windows are closed (align_progress.h)
  kCarried = 4,  // communicator, window kind, rank: rows that the next window settles
  kMembers = 5,  // communicator, window kind: who its members are
  // diagnose; a slot is a window's index modulo how many are kept (job_history.h)
  kClosedWindow = 6,  // window kind: index of the newest closed window
  kStalledStep = 7,   // step: how often the ranks that are stalled in it were looked at
  kProfile = 8,       // window kind, slot: what the job's functions took in a window
  kBusyTimes = 9,     // window kind, slot: what each rank took in a window,
  kWorkTimes = 10,    // what work it had,
  kBytesTimes = 11,   // and what it exchanged
  kLedger = 12,       // what is remembered of claims and findings (finding_lifecycle.h)
  kTelemetryGaps = 13,
  // the runs of a job (run_numbering.h)
  kRuns = 14,              // diagnose
  kCommunicatorRuns = 15,  // align; communicator: as its ranks have begun them
  kAge = 16,               // every stage: whether the job has ended, how long it has been silent
  kFailure = 17,           // diagnose: that the job failed, and nobody knows why (failure_row.h)
};
inline constexpr int kProgressFamilyCount = 18;

struct FindingKey {
  JobId job;
  std::string finding;
  friend bool operator==(const FindingKey&, const FindingKey&) = default;
};

std::string EncodeKey(const FindingKey& key);
// kJobs; and as a prefix: all findings of the job, and within a task all that it keeps of the job.
std::string EncodeKey(const JobId& job);
// The begin of a key of the family: what the family says of its row follows.
KeyWriter BeginProgressKey(const JobId& job, ProgressFamily family);

// Nothing where the bytes are no such key.
std::optional<FindingKey> DecodeFindingKey(std::string_view key);
std::optional<JobId> DecodeJobKey(std::string_view key);
// Takes the begin of a key of kProgress; `rest` reads what the family says.
struct ProgressKey {
  JobId job;
  ProgressFamily family = ProgressFamily::kRank;
  KeyReader rest;
};
std::optional<ProgressKey> DecodeProgressKey(std::string_view key);

// Prefix of what belongs to a task. See TaskStore; it hides the prefix of the keys above.
std::string EncodeTaskPrefix(std::string_view task);
// What stands behind the prefix of whatever task. Nothing where there is no prefix.
std::optional<std::string_view> WithoutTask(std::string_view key);

}  // namespace eroica
