#include "stream_ops/recording/recorded_slice.h"

#include <utility>

namespace eroica {

OpenReaders ReadersOf(RecordingLog& log) {
  return
      [&log](const std::map<TopicPartition, int64_t>& starts) -> absl::StatusOr<PartitionReaders> {
        PartitionReaders readers;
        for (const auto& [partition, start] : starts) {
          absl::StatusOr<std::unique_ptr<PartitionReader>> reader = log.OpenPartition(partition);
          if (!reader.ok()) return reader.status();
          (*reader)->Seek(start);
          readers[partition] = *std::move(reader);
        }
        return readers;
      };
}

}  // namespace eroica
