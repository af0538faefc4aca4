// How far the windows of a rank are closed: what survives a restart, as one value in
// Table::kProgress. Everything else is read again from the input.
#pragma once

#include <absl/status/statusor.h>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "schemas/event_batch.h"
#include "schemas/window.h"
#include "stream_ops/summarize/rank_advance.h"
#include "stream_ops/summarize/sequence_ranges.h"

namespace eroica {

// A producer in one process of the rank.
struct ProducerKey {
  uint32_t pid = 0;
  int64_t started_ns = 0;
  std::string producer;
  friend auto operator<=>(const ProducerKey&, const ProducerKey&) = default;
};
inline ProducerKey KeyOf(const ProducerIdentity& identity) {
  return {identity.pid, identity.started_ns, identity.producer};
}
inline bool IsOfProcess(const ProducerKey& key, const ProducerIdentity& identity) {
  return key.pid == identity.pid && key.started_ns == identity.started_ns;
}

struct ProducerProgress {
  uint64_t next_sequence = 0;    // smaller ones belong to closed windows
  SequenceRanges declared_lost;  // those of them that had not come
  std::optional<uint64_t> final_sequence;
};

// What the process says; else `of_job`, the largest that any rank of its job ever said.
inline uint32_t WorldSizeOf(const ProducerIdentity& identity, uint32_t of_job) {
  return identity.world_size > 1 ? identity.world_size : of_job;
}

// identity.window_steps > 0.
inline StepWindows StepWindowsOf(const ProducerIdentity& identity) {
  return {.size = identity.window_steps, .offset = identity.window_offset};
}

struct RankProgress {
  ProducerIdentity identity;
  WindowKind kind = WindowKind::kTime;
  int64_t last_index = -1;      // of the newest closed window; of this run, for windows of steps
  uint64_t runs = 0;            // that the rank has behind it: its steps began again
  int64_t closed_until_ns = 0;  // events that start earlier are late
  int64_t max_event_ns = 0;
  // the record at which the newest window was closed; what comes again up to it is no late news
  int64_t closed_at_offset = -1;
  bool finished = false;
  std::map<CommId, int64_t> communicators;  // and when the rank first spoke of them
  std::map<ProducerKey, ProducerProgress> producers;
  RankAdvance advance;  // up to the newest closed window, and to the newest report of progress
};

std::string Encode(const RankProgress& progress);
absl::StatusOr<RankProgress> DecodeRankProgress(std::string_view bytes);

// A communicator of a job; Table::kProgress too, since batches name only those that they use.
std::string Encode(const JobId& job, const Communicator& communicator);
absl::StatusOr<std::pair<JobId, Communicator>> DecodeCommunicator(std::string_view bytes);

// When the newest report of progress was that went on to diagnose. A value of its own: it changes
// between windows, and what a rank's progress says of its watermark must be as it was when the
// newest window closed.
struct ReportedUntil {
  JobId job;
  RankId rank;
  int64_t time_ns = 0;
};
std::string Encode(const ReportedUntil& reported);
absl::StatusOr<ReportedUntil> DecodeReportedUntil(std::string_view bytes);

// Keys in Table::kProgress, within the task's own part of it.
std::string RankProgressKey(const JobId& job, RankId rank);
std::string CommunicatorProgressKey(const JobId& job, CommId communicator);
std::string ReportedKey(const JobId& job, RankId rank);

}  // namespace eroica
