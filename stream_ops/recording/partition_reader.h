// Reads a recorded partition over all its segments, and goes on as it is being written.
//
// Damaged bytes are skipped up to the next intact entry, counted once and reported in a log line
// each. Bytes at the very end that are no whole entry are waited for while a writer lives, and
// counted as torn when there is none. One thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stream_ops/log/all_partitions_consumer.h"
#include "stream_ops/recording/segment.h"
#include "stream_ops/recording/topic_folder.h"

namespace eroica {

class RecordedPartitionReader final : public PartitionReader {
 public:
  // topic: the folder that `directory` is in, shared by the readers of its partitions; null: one of
  // the reader's own. at_end: called when Read has come to the end of what is there, once.
  RecordedPartitionReader(std::string directory, TopicPartition partition,
                          std::shared_ptr<TopicFolder> topic = nullptr,
                          std::function<void()> at_end = {});

  absl::Status Read(size_t max_records, std::vector<ConsumerRecord>* out) override;
  void Seek(int64_t offset) override;
  int64_t position() const override { return position_; }
  absl::StatusOr<int64_t> EndOffset() override;
  absl::StatusOr<int64_t> OffsetForTime(int64_t timestamp_ms) override;
  uint64_t corrupt_bytes() const override { return corrupt_bytes_; }
  std::vector<DamagedRange> TakeDamaged() override { return std::exchange(damaged_, {}); }
  int64_t missing_records() const override { return missing_records_; }

 private:
  bool IsStillMissing();
  absl::StatusOr<bool> OpenSegment();
  void GoOnFrom(int64_t base_offset);
  absl::Status TakeEntry(std::vector<ConsumerRecord>* out);
  absl::StatusOr<bool> Advance(SegmentReader::Step step);
  absl::StatusOr<std::optional<int64_t>> FindSuccessor(SegmentReader::Step step);
  void CountTornTail(const SegmentReader& segment);
  void CountDamage(int64_t from, int64_t to, std::string_view what);
  void NoteDamaged(int64_t end, std::string_view what);

  const std::string directory_;
  const TopicPartition partition_;
  int64_t position_ = 0;
  std::optional<SegmentReader> segment_;
  // The segment behind this one. Found once this one seemed at its end, which must be looked at
  // once more: it may have grown in between.
  std::optional<int64_t> successor_;
  std::chrono::steady_clock::time_point listed_at_;
  const std::shared_ptr<TopicFolder> topic_;
  // last change of the topic's folder when the partition was not in it
  std::optional<std::chrono::nanoseconds> missing_since_;
  // last change of the partition's folder when it was listed and held no segment
  std::optional<std::chrono::nanoseconds> empty_since_;
  int64_t counted_to_ = 0;  // in this segment: damage before it has been counted
  // The segment whose torn tail was counted last, and up to where.
  int64_t torn_base_ = -1;
  int64_t torn_to_ = 0;
  uint64_t corrupt_bytes_ = 0;
  std::vector<DamagedRange> damaged_;  // not asked for yet
  int64_t missing_records_ = 0;
  std::function<void()> at_end_;      // empty once it was called
  std::optional<SegmentReader> end_;  // walks the newest segment for EndOffset
};

}  // namespace eroica
