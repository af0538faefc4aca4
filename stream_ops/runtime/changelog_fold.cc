#include "stream_ops/runtime/changelog_fold.h"

#include <utility>

namespace eroica {

void ChangelogFold::Add(const ConsumerRecord& record) {
  const std::optional<ChangelogEntry> entry = DecodeChangelogRecord(record);
  const bool late = entry && (entry->writer.epoch < writer_.epoch ||
                              (entry->writer.epoch == writer_.epoch && entry->writer != writer_));
  if (!entry || late) {
    ++ignored_;
    return;
  }
  if (entry->writer != writer_) {
    for (const auto& [key, row] : std::exchange(rows_, {})) abandoned_.insert(key);
    writer_ = entry->writer;
  }
  if (!entry->position) return AddRow(*entry);
  position_ = entry->position;
  Commit();
}

void ChangelogFold::AddRow(const ChangelogEntry& entry) {
  Row& row = rows_[std::string(entry.row)];
  if (entry.chunk == 0) {
    row = Row{.chunks = {}, .count = entry.chunks, .has_first = true};
  }
  if (entry.chunks > 0) row.chunks[entry.chunk] = std::string(entry.bytes);
}

// A row of which chunks are missing is one whose record the log has damaged: it is left as it was.
void ChangelogFold::Commit() {
  for (auto& [name, row] : rows_) {
    if (!row.has_first) continue;  // chunks that a shorter value no longer has
    abandoned_.erase(name);
    const auto [table, key] = *ParseRowName(name);
    if (row.count == 0) {
      committed_.Delete(table, std::string(key));
      continue;
    }
    std::string value;
    uint16_t next = 0;
    for (auto chunk = row.chunks.begin(); next < row.count && chunk != row.chunks.end(); ++chunk) {
      if (chunk->first != next) break;
      value.append(chunk->second);
      ++next;
    }
    if (next == row.count) {
      committed_.Put(table, std::string(key), std::move(value));
    } else {
      ++ignored_;
    }
  }
  rows_.clear();
}

std::set<std::string> ChangelogFold::Uncommitted() const {
  std::set<std::string> keys = abandoned_;
  for (const auto& [key, row] : rows_) keys.insert(key);
  return keys;
}

}  // namespace eroica
