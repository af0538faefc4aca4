// Reads the changelogs of the tasks that a StreamThread was just given, many at once and in bounded
// steps, so that the thread goes on polling meanwhile. What is done with the records:
// task_restore.h.
//
// Exactly once, a former owner may have a transaction open: all of a commit but its end. The new
// owner waits until it is committed or aborted, by the broker after its time-out at the latest.
//
// A reader that gets no further for half a minute is opened anew, and a log line says what it waits
// for: a client that has stopped fetching a partition would hold its tasks up for ever.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stream_ops/log/log.h"
#include "stream_ops/runtime/task_restore.h"

namespace eroica {

class ChangelogRestorer {
 public:
  // log and store must outlive it. writer_id: random, whom the tasks' new owner writes as.
  ChangelogRestorer(Log& log, StateStore& store, std::string stage, std::string topic,
                    uint64_t writer_id);

  // Begins, at the next Step, with the task of this input partition; anew if it had begun.
  void Start(const TopicPartition& input);
  void Drop(const TopicPartition& input) { restores_.erase(input); }
  void Clear() { restores_.clear(); }
  bool done() const { return restores_.empty(); }
  size_t size() const { return restores_.size(); }
  bool restores(const TopicPartition& input) const { return restores_.contains(input); }

  // now: steady. Waits for records up to the timeout, takes some, and answers with the tasks that
  // are restored now. After an error: again. When done: at once, and nothing is fetched from then
  // on.
  using Restored = std::vector<std::pair<TopicPartition, ChangelogOwner>>;
  using TimePoint = std::chrono::steady_clock::time_point;
  absl::StatusOr<Restored> Step(TimePoint now, std::chrono::milliseconds timeout);

  // What is committed to the changelog of this partition now lies before it.
  absl::StatusOr<int64_t> CommittedEnd(int32_t partition);
  uint64_t records_read() const { return records_read_; }
  // Offsets of changelogs that the log holds and could not give.
  uint64_t records_unreadable() const { return records_unreadable_; }
  bool reading() const { return reading_; }

 private:
  absl::StatusOr<LogConsumer*> Reader();
  absl::StatusOr<LogConsumer*> EndReader();
  absl::Status BeginAll();
  absl::Status Assign();
  absl::Status Take(const std::vector<ConsumerRecord>& records);
  absl::Status FollowPositions();
  absl::Status ReopenStalledReader(TimePoint now);
  absl::StatusOr<Restored> StopReading();
  absl::StatusOr<Restored> FinishComplete();
  TopicPartition ChangelogOf(const TopicPartition& input) const {
    return {topic_, input.partition};
  }

  Log& log_;
  StateStore& store_;
  const std::string stage_;
  const std::string topic_;
  const uint64_t writer_id_;
  std::unique_ptr<LogConsumer> reader_;
  std::unique_ptr<LogConsumer> end_reader_;         // while restoring: sees open transactions
  std::map<TopicPartition, TaskRestore> restores_;  // by input
  std::map<TopicPartition, int64_t> assigned_;      // changelogs that are read, and from where
  bool reading_ = false;  // whatever was assigned last, something may be fetched still
  uint64_t records_read_ = 0;
  uint64_t records_unreadable_ = 0;
  std::map<TopicPartition, int64_t> seen_;  // next() of each when it last moved
  TimePoint moved_at_;
};

}  // namespace eroica
