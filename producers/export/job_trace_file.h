// A stretch of a job as one Chrome trace, for Perfetto and other viewers: one process a rank, one
// track a thread or stream, findings as intervals on a track of their own. Times are those of each
// rank's own clock. Where it holds one rank alone, the importer reads it back
// (producers/import/trace_import.h), but for the number of the process, which is the rank's. What
// else the format does not carry: chrome_trace_writer.h. Collectives on threads of the host are
// called gloo:NAME, by which importers know them.
//
// One thread. Memory: some 20 KiB a rank, and what one batch becomes.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "producers/export/batch_cut.h"
#include "producers/export/rank_trace_text.h"
#include "producers/export/trace_output.h"
#include "schemas/event_batch.h"

namespace eroica {

struct JobTraceOptions {
  std::map<uint32_t, TimeRange> ranks;  // which, and from when to when; not empty
  // Of all ranks together; each gets an equal share. Beyond, intervals are left out and counted.
  uint64_t intervals_max = 1'000'000;
  // Of the trace before compression. Beyond, likewise: viewers in a browser take no more.
  uint64_t bytes_max = uint64_t{1} << 30;
};

class JobTraceFile {
 public:
  // As TraceOutput::Create.
  static absl::StatusOr<std::unique_ptr<JobTraceFile>> Create(const std::string& path,
                                                              JobTraceOptions options);

  // Of any rank, in the order of each rank's batches. Ranks that are not wanted are passed over.
  absl::Status Add(const EventBatch& batch);
  // Over the whole range of the rank, of which a batch was added before.
  absl::Status AddFinding(uint32_t rank, const std::string& title,
                          std::vector<std::pair<std::string, std::string>> args);
  // Closes what is open. No Add after it. Without it nothing is left of the file.
  absl::Status Finish();

  uint64_t intervals() const { return intervals_; }
  uint64_t intervals_left_out() const { return left_out_; }
  uint64_t bytes() const { return output_->bytes(); }
  // That something was added of; ascending.
  std::vector<uint32_t> ranks() const;

 private:
  struct OneRank {
    explicit OneRank() : text(TraceProcesses::kRank) {}
    RankTraceText text;
    uint64_t intervals = 0;
  };

  JobTraceFile(JobTraceOptions options, std::unique_ptr<TraceOutput> output);
  OneRank& RankOf(const ProducerIdentity& identity);
  absl::Status Begin(const std::string& host);
  absl::Status Take(RankTraceText& text);

  const JobTraceOptions options_;
  const std::unique_ptr<TraceOutput> output_;
  int64_t base_ns_ = 0;
  std::map<uint32_t, OneRank> ranks_;
  uint64_t intervals_ = 0;
  uint64_t left_out_ = 0;
};

}  // namespace eroica
