// Reads a slice in the order of its records' timestamps, as they came: a partition that holds more
// than the others runs ahead of them no further than its records do in time. Within a partition the
// order stays that of the offsets; a record that is stamped before the one in front of it counts as
// of that one's time.
//
// Holds a few records of every partition, kBufferBytes together as far as their sizes are known.
// One thread.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <vector>

#include "stream_ops/log/all_partitions_consumer.h"
#include "stream_ops/log/log_slice.h"

namespace eroica {

using PartitionReaders = std::map<TopicPartition, std::unique_ptr<PartitionReader>>;
// A reader of each of these partitions, at that offset.
using OpenReaders = std::function<absl::StatusOr<PartitionReaders>(
    const std::map<TopicPartition, int64_t>& starts)>;

class SliceReader {
 public:
  // So long nothing may come of a partition that is not at its end.
  static constexpr std::chrono::seconds kPatience{60};
  static constexpr size_t kBufferBytes = size_t{128} << 20;

  // positions: where to go on, per partition; one that is not named begins at its start.
  static absl::StatusOr<std::unique_ptr<SliceReader>> Open(
      const LogSlice& slice, const std::map<TopicPartition, int64_t>& positions,
      const OpenReaders& open);

  // The next record; nullptr: the slice is read to its end. Lives until Pop.
  // kUnavailable: nothing came in time; it may be tried again.
  absl::StatusOr<const ConsumerRecord*> Next();
  // Its time in the order of the slice; there is one.
  int64_t next_time_ms() const;
  // Hands it over.
  ConsumerRecord Pop();

  // Per partition, the offset of the next record that is not handed over yet.
  std::map<TopicPartition, int64_t> positions() const;
  // Offsets of the slice that are behind the positions, for progress.
  int64_t done() const { return done_; }
  // That the log no longer had: retention was faster.
  int64_t missing_records() const;
  uint64_t corrupt_bytes() const;
  // Offsets of the slice that the log holds and could not give.
  int64_t damaged_records() const { return damaged_records_; }

 private:
  struct Source {
    TopicPartition partition;
    OffsetRange range;
    std::unique_ptr<PartitionReader> reader;
    std::vector<ConsumerRecord> buffer;  // from `next` on
    size_t next = 0;
    int64_t position = 0;
    int64_t time_ms = 0;  // of the latest record that was at the front
    uint64_t bytes = 0;   // of all records that were read, and how many
    uint64_t records = 0;
    bool at_front = false;  // its first record is in fronts_
  };
  struct Front {
    int64_t time_ms;
    size_t source;
    // The earliest is on top; of equal ones the first partition.
    bool operator<(const Front& other) const {
      return time_ms != other.time_ms ? time_ms > other.time_ms : source > other.source;
    }
  };

  SliceReader() = default;
  absl::Status Fill(size_t index);
  absl::Status Read(Source& source);
  size_t RecordsAtOnce(const Source& source) const;
  void Advance(Source& source, int64_t offset);

  std::vector<Source> sources_;
  std::vector<size_t> unfilled_;  // of which a record must be had before the earliest is known
  std::priority_queue<Front> fronts_;
  std::map<TopicPartition, int64_t> finished_;  // partitions of which nothing was left to read
  int64_t done_ = 0;
  int64_t damaged_records_ = 0;
};

}  // namespace eroica
