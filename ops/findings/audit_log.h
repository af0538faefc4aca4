// The audit topic as this node knows it: what people asked for on any node, newest first, and what
// follows for findings. A thread of its own follows the topic; what is appended here counts at
// once.
//
// Start and the destructor are for the owner; the rest is thread-safe.
#pragma once

#include <absl/status/status.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ops/findings/audit_entry.h"
#include "ops/findings/finding_index.h"
#include "ops/findings/topic_follower.h"
#include "schemas/mutex.h"
#include "stream_ops/log/log.h"

namespace eroica {

class AuditLog {
 public:
  // The newest are held; the topic has them all.
  static constexpr size_t kEntriesMax = 10'000;

  // log and index must outlive this.
  AuditLog(Log& log, std::string_view topic_prefix, FindingIndex& index);
  // Begins to follow; once.
  void Start();

  // Durable when this returns; fills in the entry's id. An error: nothing is done, or, where the
  // topic answered too late, perhaps all of it.
  absl::Status Append(AuditEntry* entry);

  // Newest first.
  std::vector<AuditEntry> Entries() const;
  // Goes up with every entry.
  uint64_t version() const;
  // The topic has been read to its end, as it was when this began to follow.
  bool caught_up() const { return caught_up_; }
  // There was no such topic when it was last looked for: nobody has asked for anything.
  bool is_missing() const { return is_missing_; }

 private:
  void Take(const AuditEntry& entry);

  Log& log_;
  const std::string topic_;
  FindingIndex& index_;
  mutable Mutex mutex_;
  std::deque<AuditEntry> entries_ EROICA_GUARDED_BY(mutex_);                 // newest first
  std::set<std::string> known_ EROICA_GUARDED_BY(mutex_);                    // ids of entries_
  std::map<std::string, Annotation> annotations_ EROICA_GUARDED_BY(mutex_);  // by finding
  uint64_t version_ EROICA_GUARDED_BY(mutex_) = 0;
  std::atomic<bool> caught_up_ = false;
  std::atomic<bool> is_missing_ = false;
  TopicFollower follower_;  // ends before what it fills
};

}  // namespace eroica
