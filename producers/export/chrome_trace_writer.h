// Batches as Chrome traces of the PyTorch profiler (Kineto): one file a rank, rankN.json, for trace
// viewers and for every tool that reads such traces, our own importer
// (producers/import/trace_import.h) among them.
//
// What the format carries: kernels, copies, CPU operators and Python frames with their callers;
// NCCL kernels with operation, group, members, sequence number, peer and size; steps
// (ProfilerStep#N), the beginnings of data loading and of optimizer steps; rank, world size, host,
// device.
// What it does not: samples, progress reports, losses, roles, marks of checkpoints, evaluations,
// suspended capture and of a step's stages; what waits for what (readers tell by names); the
// callers of kernels; the names of lanes beyond their trailing spaces. A Python caller without an
// interval of its own is written as a frame of the same span, since that is what a profiler would
// have seen. A step without an end ends where the next begins.
//
// One thread. Memory: some 20 KiB a rank.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "producers/core/batch_sink.h"
#include "producers/export/rank_trace_file.h"

namespace eroica {

class ChromeTraceWriter final : public BatchSink {
 public:
  // Makes the folder where there is none. kAlreadyExists where traces are in it: two runs must not
  // mix.
  static absl::StatusOr<std::unique_ptr<ChromeTraceWriter>> Open(const std::string& folder);

  // A producer's final batch closes the rank's file.
  absl::Status Write(const EventBatch& batch) override;
  // Closes the files that are open. Last.
  absl::Status Finish();

 private:
  explicit ChromeTraceWriter(std::string folder) : folder_(std::move(folder)) {}

  const std::string folder_;
  std::map<RankId, std::unique_ptr<RankTraceFile>> files_;  // of a finished rank: nullptr
};

}  // namespace eroica
