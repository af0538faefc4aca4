// Cuts the intervals and marks of one rank, given in order of time, into EventBatches that decode
// alone. One builder a rank, one thread.
#pragma once

#include <absl/status/status.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "producers/core/batch_sink.h"
#include "producers/import/function_table.h"
#include "schemas/event_batch.h"

namespace eroica {

class BatchBuilder {
 public:
  static constexpr size_t kMaxIntervals = 8'192;
  // with their callers; a batch closes early where it would get more
  static constexpr size_t kMaxFunctions = 16'384;
  static constexpr size_t kMaxNameBytes = size_t{4} << 20;  // of functions; likewise
  static constexpr size_t kMaxMarks = 8'192;
  static constexpr size_t kMaxConnections = 16'384;

  // lanes and communicators are all that the rank has; a batch gets those that it refers to, the
  // first and the last batch all communicators.
  BatchBuilder(const TraceFunctions& functions, ProducerIdentity identity, uint32_t time_unit_ns,
               std::vector<Lane> lanes, std::vector<Communicator> communicators, BatchSink& sink);

  // Times must not decrease from call to call, intervals and marks together. operations: what the
  // interval is as a collective, each with communicator as an index into the constructor's list;
  // its interval is filled in here.
  absl::Status AddInterval(int64_t start_ns, int64_t duration_ns, uint32_t function, uint8_t lane,
                           std::span<const Collective> operations);
  absl::Status AddMark(const Mark& mark);
  // By time, too; no later than the next mark.
  absl::Status AddConnection(const ConnectionSample& sample);
  // For the last batch. Communicators as those of operations. function: that the training thread is
  // in, TraceFunctions::kNone where it is not known.
  void Report(ProgressReport report, uint32_t function);
  // Writes the last batch, even if it is empty.
  absl::Status Finish(std::vector<LossEntry> losses);

  uint64_t batches() const { return batch_.sequence; }

 private:
  static constexpr uint32_t kAbsent = 0xFFFFFFFF;

  absl::Status Flush(bool final);
  uint32_t LocalFunction(uint32_t function);
  uint8_t LocalLane(uint8_t lane);
  uint16_t LocalCommunicator(uint16_t communicator);

  const TraceFunctions& functions_;
  std::vector<Lane> lanes_;
  std::vector<Communicator> communicators_;
  BatchSink& sink_;
  EventBatch batch_;
  // Position in the batch of each function, lane and communicator of the rank.
  std::vector<uint32_t> local_function_;
  std::vector<uint32_t> interned_;  // to be reset in local_function_
  std::vector<uint32_t> chain_;
  size_t name_bytes_ = 0;
  std::array<uint32_t, 256> local_lane_;
  std::vector<uint32_t> local_communicator_;
};

}  // namespace eroica
