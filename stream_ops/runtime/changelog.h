// The changelog of a stage, as Kafka Streams keeps one: a compacted topic with the partitions of
// the stage's input, to which every commit of a task writes the rows that it changed and then, as
// its last record, the position that they belong to. A node that is given a partition rebuilds the
// task from it and goes on as if it had owned it all along: nothing has to be computed again but
// the windows that are open.
//
//   key     'r' chunk(u16) table(u8) key    value  chunks(u16, of the row) bytes; none: deleted
//   key     'p'                             value  EncodePosition: all rows before it are committed
//   header  writer = EPOCH.ID of the owner that wrote it, on every record
//
// A row that is larger than a record is cut into chunks. Epochs grow from owner to owner: what an
// owner writes after its successor has begun is ignored, and what it wrote without its position
// is void; the successor writes those rows again as they were. Reading: changelog_fold.h.
//
// Broken by: a compaction that removes the last committed value of a row for one that is
// void, or that a former owner wrote late. Compaction leaves the last hour alone
// (min.compaction.lag.ms), and with transactions neither can happen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "state_store/state_store.h"
#include "stream_ops/log/log.h"
#include "stream_ops/runtime/task_position.h"

namespace eroica {

// "eroica.summarize-changelog".
std::string ChangelogTopic(std::string_view prefix, std::string_view stage);

// The tables whose rows are in a changelog; kPositions is each node's own.
inline constexpr Table kChangelogTables[] = {Table::kFindings, Table::kJobs, Table::kProgress};
// A row's table and its key without the task.
std::string RowName(Table table, std::string_view key);
std::optional<std::pair<Table, std::string_view>> ParseRowName(std::string_view row);

inline constexpr std::string_view kHeaderWriter = "writer";

// Which owner of a task writes. Of two with one epoch (which a pause of one of them at the wrong
// moment can make) the one that the topic had first counts.
struct ChangelogWriter {
  int64_t epoch = 0;  // 0: nobody yet
  uint64_t id = 0;    // random, of a node's thread
  friend bool operator==(const ChangelogWriter&, const ChangelogWriter&) = default;
};

// "3.9f86d081884c7d65".
std::string EncodeWriter(const ChangelogWriter& writer);
std::optional<ChangelogWriter> DecodeWriter(std::string_view text);

// A record of the changelog, taken apart. Views into the record.
struct ChangelogEntry {
  ChangelogWriter writer;
  std::optional<TaskPosition> position;  // of a commit; else a chunk of a row
  std::string_view row;                  // its name (RowName)
  uint16_t chunk = 0;
  uint16_t chunks = 0;  // of the row; 0: the chunk is deleted, with chunk 0 the row
  std::string_view bytes;
};

// Nothing where it is none of ours.
std::optional<ChangelogEntry> DecodeChangelogRecord(const ConsumerRecord& record);

// Makes the records of one task.
class ChangelogRecords {
 public:
  // partition: of the changelog and of the input. record_bytes_max: the log's, at least 1,000.
  ChangelogRecords(std::string topic, int32_t partition, ChangelogWriter writer,
                   size_t record_bytes_max);

  // The row's new value; former_bytes: the size of its value before, 0 if it had none.
  void Put(std::string_view row, std::string_view value, size_t former_bytes,
           std::vector<ProducerRecord>* out) const;
  void Delete(std::string_view row, size_t former_bytes, std::vector<ProducerRecord>* out) const;
  ProducerRecord Committed(const TaskPosition& position) const;

 private:
  ProducerRecord Record(std::string key, std::string value) const;
  void DeleteChunks(std::string_view row, size_t first, size_t former_bytes,
                    std::vector<ProducerRecord>* out) const;
  size_t ChunkBytes(std::string_view row) const;
  size_t ChunksOf(std::string_view row, size_t bytes) const;

  const std::string topic_;
  const int32_t partition_;
  const std::string writer_;
  const size_t record_bytes_max_;
};

}  // namespace eroica
