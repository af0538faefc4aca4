// The log on disk: embedded mode, archived incidents, `eroica record` and `eroica replay`. See
// recording_directory.h and segment.h for the files.
//
// Each topic partition has one writing process (more are refused) and any number of readers, in any
// process, which may read while it is written. Every consumer is given all partitions of its
// topics; a group only keeps committed offsets. Append writes through to the operating system,
// Flush to the disk. Thread-safe; consumers, readers and producers must not outlive it. A timestamp
// of 0 stays 0.
//
// A topic with a retention.ms (not -1) loses whole segments that were last written longer ago, by
// whoever writes the partition, when its writer is opened and whenever it begins a segment. As with
// Kafka, readers that are behind go on with the oldest record that is left, and say so.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "stream_ops/log/all_partitions_consumer.h"
#include "stream_ops/log/log.h"

namespace eroica {

struct RecordingOptions {
  std::string directory;
  int64_t segment_bytes = int64_t{256} << 20;  // a new file is begun beyond this
  bool compress = true;                        // values by lz4, where that makes them smaller
  bool read_only = false;  // nothing is created or appended; committing for a group is still tried
  bool sync = true;        // false: Flush does not wait for the disk
  // How often a waiting consumer looks for what other processes have written.
  std::chrono::milliseconds tail_interval{250};
  // Whether it is woken by that, too, where the system can: a thread more (folder_watch.h).
  bool watch_appends = false;
};

class RecordingLog final : public Log {
 public:
  // Makes the folder unless read_only; kNotFound where there is none then.
  static absl::StatusOr<std::unique_ptr<RecordingLog>> Open(const RecordingOptions& options);
  ~RecordingLog() override;

  absl::StatusOr<std::unique_ptr<LogConsumer>> NewConsumer(const ConsumerOptions& options) override;
  absl::StatusOr<std::unique_ptr<LogProducer>> NewProducer() override;
  LogAdmin& admin() override;
  absl::StatusOr<std::vector<CutEnd>> CutEnds(const std::vector<std::string>& topics) override;

  // One partition, at the reader's own pace; from offset 0 on.
  absl::StatusOr<std::unique_ptr<PartitionReader>> OpenPartition(const TopicPartition& partition);
  // Deletes whole segments that hold nothing at or after the offset.
  absl::Status DeleteRecords(const TopicPartition& partition, int64_t before_offset);
  // The partition ends at this offset again. Before this process appends to it. kDataLoss: it ends
  // before.
  absl::Status Truncate(const TopicPartition& partition, int64_t end_offset);
  // With all its records. Nobody may be reading or writing it. A topic that is not there is ok.
  absl::Status DeleteTopic(const std::string& name);

  // What crashes of earlier writers left half-written and this one has cut off.
  uint64_t torn_bytes() const;

 private:
  class Store;
  class Producer;

  explicit RecordingLog(std::unique_ptr<Store> store);

  std::unique_ptr<Store> store_;
};

}  // namespace eroica
