// What an import did with what it was given: the books, which must close, and what the user should
// know, in sentences.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "schemas/drop_reason.h"
#include "schemas/ids.h"
#include "schemas/window.h"

namespace eroica {

// Events left out, by reason.
class DropCounts {
 public:
  void Add(DropReason reason, uint64_t count = 1) { counts_[static_cast<size_t>(reason)] += count; }
  void Add(const DropCounts& other) {
    for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  }
  uint64_t of(DropReason reason) const { return counts_[static_cast<size_t>(reason)]; }
  uint64_t total() const {
    uint64_t sum = 0;
    for (const uint64_t count : counts_) sum += count;
    return sum;
  }

 private:
  std::array<uint64_t, 64> counts_{};
};

// events = imported + skipped.total(), for every file and in total.
struct ImportCounts {
  // event objects (or CSV rows) in the file; one that the file's end cuts off counts
  uint64_t events = 0;
  uint64_t imported = 0;  // as an interval, a mark or both
  DropCounts skipped;
  uint64_t file_bytes = 0;     // as the file lies on disk
  uint64_t content_bytes = 0;  // after decompression

  bool closed() const { return events == imported + skipped.total(); }
  void Add(const ImportCounts& other);
};

struct FileReport {
  std::filesystem::path path;
  bool refused = false;   // nothing of it was imported: see the warnings
  bool is_trace = false;  // it has the form of one, if it holds nothing that is used
  int64_t rank = -1;      // the first rank that it speaks of, -1 where it is not known
  ImportCounts counts;
  std::vector<std::string> warnings;  // each one sentence
};

struct ImportReport {
  JobId job;
  uint32_t world_size = 0;
  std::vector<uint32_t> ranks;     // imported, ascending
  uint32_t ranks_with_steps = 0;   // of these, whose traces mark their training steps
  uint32_t ranks_with_stacks = 0;  // of these, whose traces hold Python call stacks
  StepWindows windows;             // into which the steps are cut
  bool ends_standing = false;      // the traces end while ranks wait in a collective for good
  bool ends_apart = false;         // or in collectives that only some ranks have launched
  bool stalled_only = false;       // flight-recorder dumps without traces
  // Of those: what they do not say of a standstill, and what would; each full sentences.
  std::vector<std::string> left_open;
  std::vector<FileReport> files;
  ImportCounts total;
  uint64_t intervals = 0;
  uint64_t marks = 0;
  uint64_t connections = 0;  // samples of what ranks sent to each other
  uint64_t collectives = 0;  // executed operations with communicator and sequence number
  // executed operations of which it is not known which of the other ranks' they meet
  uint64_t collectives_unmatched = 0;
  uint64_t batches = 0;
  std::vector<std::string> warnings;  // about the job as a whole, each one sentence

  // For the terminal: lines of totals, then every warning on a line of its own.
  std::string ToText() const;
};

// The file's name; with its folders where several files bear it.
std::string NameAmong(const FileReport& file, std::span<const FileReport> files);

}  // namespace eroica
