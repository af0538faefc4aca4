// The keys of the tables. Decodable, ordered, and no key is a prefix of another of its table.
//
//   kPatterns    window, rank
//   kSummaries   window, communicator
//   kFindings    job, finding id
//   kJobs        job
//   kProgress    task, the task's own key
//   kPositions   task, the runtime's own key
//
// A window is laid out so that what expires together lies together, and all ranks (communicators)
// of a job's window are one contiguous scan:
//   windows of time    00, window index, job
//       Two jobs share a window index. All windows before a moment, of every job, are one range:
//       expiry is one range tombstone and whole files dropped. Writes come in key order, so
//       compaction only moves files.
//   windows of steps   01, job, window index
//       Step numbers of two jobs have nothing in common; a job's windows before a step are one
//       range.
// The patterns of a rank and window are ONE value: 5 times faster to scan than a record a function,
// and 10,000 ranks x 200 functions cost 4 % of a core.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/ids.h"
#include "schemas/window.h"

namespace eroica {

// Raised whenever the layout of keys or values changes so that other code would misread it; a store
// of another version is not opened.
inline constexpr int kKeySchemaVersion = 1;

struct WindowKey {
  JobId job;
  WindowKind kind = WindowKind::kTime;
  int64_t index = 0;
  friend bool operator==(const WindowKey&, const WindowKey&) = default;
};

struct PatternKey {
  WindowKey window;
  RankId rank;
  friend bool operator==(const PatternKey&, const PatternKey&) = default;
};

struct SummaryKey {
  WindowKey window;
  CommId communicator;
  friend bool operator==(const SummaryKey&, const SummaryKey&) = default;
};

struct FindingKey {
  JobId job;
  std::string finding;
  friend bool operator==(const FindingKey&, const FindingKey&) = default;
};

std::string EncodeKey(const PatternKey& key);
std::string EncodeKey(const SummaryKey& key);
std::string EncodeKey(const FindingKey& key);
// kJobs; as a prefix of kFindings: all findings of the job
std::string EncodeKey(const JobId& job);
// Prefix of all keys of the window, in kPatterns and in kSummaries.
std::string EncodeKey(const WindowKey& key);

// Nothing where the bytes are no such key.
std::optional<PatternKey> DecodePatternKey(std::string_view key);
std::optional<SummaryKey> DecodeSummaryKey(std::string_view key);
std::optional<FindingKey> DecodeFindingKey(std::string_view key);
std::optional<JobId> DecodeJobKey(std::string_view key);

// Prefix of what belongs to a task in kProgress and kPositions. See TaskStore.
std::string EncodeTaskPrefix(std::string_view task);

// [begin, end) in kPatterns and in kSummaries.
struct KeyRange {
  std::string begin;
  std::string end;
};
// Windows of time with a smaller index, of all jobs. Indices of jobs compare because a node has one
// window size.
KeyRange TimeWindowsBefore(int64_t index);
// Windows of steps of one job with a smaller index.
KeyRange StepWindowsBefore(const JobId& job, int64_t index);

}  // namespace eroica
