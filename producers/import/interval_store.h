// The intervals of one rank, in whatever order its trace lists them, given back by start time. In
// memory as long as the import's budget lasts, else as sorted runs in one unnamed temporary file
// that are merged while reading: 32 bytes an interval on disk, 32 KiB of memory a run.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

namespace eroica {

enum class IntervalKind : uint8_t {
  kFunction,    // function: row of the TraceFunctions
  kCollective,  // likewise; a: index into RankTrace::collectives
  kPython,      // function: name; a: the frame's id, b: its caller's id (0: not told)
  kAnnotation,  // function: name; a frame where the trace has no Python frames, else nothing
};

struct IntervalRecord {
  int64_t start_ns = 0;  // relative to the trace's base time
  int64_t duration_ns = 0;
  uint32_t function = 0;
  uint32_t a = 0;
  uint32_t b = 0;
  IntervalKind kind = IntervalKind::kFunction;
  uint8_t lane = 0;
  uint16_t unused = 0;
};
static_assert(sizeof(IntervalRecord) == 32);

// By start; what lasts longer first, so that a caller comes before what it calls; then by id. A
// total order but for equal records.
bool operator<(const IntervalRecord& x, const IntervalRecord& y);

// Shared by all stores of an import.
struct SortBudget {
  size_t limit_bytes = size_t{1} << 30;
  size_t used_bytes = 0;
};

class IntervalStore {
 public:
  explicit IntervalStore(SortBudget& budget) : budget_(budget) {}
  IntervalStore(const IntervalStore&) = delete;
  IntervalStore& operator=(const IntervalStore&) = delete;
  ~IntervalStore();

  // Fails only where the temporary file cannot be written (the disk is full).
  absl::Status Add(const IntervalRecord& record) {
    if (records_.size() == records_.capacity()) {
      if (absl::Status status = Grow(); !status.ok()) return status;
    }
    records_.push_back(record);
    return absl::OkStatus();
  }

  uint64_t size() const { return spilled_ + records_.size(); }
  size_t spilled_runs() const { return runs_.size(); }

  // Reading: Rewind, then Next until it gives false. May be repeated. A file that cannot be read
  // back ends the reading with an error in status().
  absl::Status Rewind();
  bool Next(IntervalRecord* record);
  const absl::Status& status() const { return status_; }

 private:
  static constexpr size_t kRunBufferRecords = 1'024;
  struct Run {
    uint64_t first = 0;  // record number in the file
    uint64_t count = 0;
    uint64_t read = 0;  // of count, moved to the buffer so far
    std::vector<IntervalRecord> buffer;
    size_t position = 0;
  };
  struct FileCloser {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  absl::Status Grow();
  absl::Status Spill();
  bool FillRun(Run& run);
  bool NextMerged(IntervalRecord* record);

  SortBudget& budget_;
  std::vector<IntervalRecord> records_;
  size_t position_ = 0;
  bool sorted_ = false;
  std::unique_ptr<std::FILE, FileCloser> file_;
  std::vector<Run> runs_;
  std::vector<uint32_t> heap_;  // of runs with records left, the one with the smallest on top
  uint64_t spilled_ = 0;
  absl::Status status_;
};

}  // namespace eroica
