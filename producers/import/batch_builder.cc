#include "producers/import/batch_builder.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace eroica {

BatchBuilder::BatchBuilder(const TraceFunctions& functions, ProducerIdentity identity,
                           uint32_t time_unit_ns, std::vector<Lane> lanes,
                           std::vector<Communicator> communicators, BatchSink& sink)
    : functions_(functions),
      lanes_(std::move(lanes)),
      communicators_(std::move(communicators)),
      sink_(sink) {
  lanes_.resize(local_lane_.size());  // any index has one
  batch_.identity = std::move(identity);
  batch_.time_unit_ns = time_unit_ns;
  local_lane_.fill(kAbsent);
  local_communicator_.assign(communicators_.size(), kAbsent);
  for (size_t i = 0; i < communicators_.size(); ++i) LocalCommunicator(static_cast<uint16_t>(i));
}

absl::Status BatchBuilder::AddInterval(int64_t start_ns, int64_t duration_ns, uint32_t function,
                                       uint8_t lane, std::span<const Collective> operations) {
  const bool full = batch_.intervals.size() >= kMaxIntervals ||
                    batch_.collectives.size() + operations.size() > kMaxIntervals ||
                    name_bytes_ > kMaxNameBytes ||
                    batch_.functions.size() + functions_.row(function).depth > kMaxFunctions;
  if (full) {
    if (absl::Status status = Flush(false); !status.ok()) return status;
  }
  for (Collective row : operations) {
    row.interval = static_cast<uint32_t>(batch_.intervals.size());
    row.communicator = LocalCommunicator(row.communicator);
    batch_.collectives.push_back(row);
  }
  batch_.intervals.push_back(start_ns, duration_ns, LocalFunction(function), LocalLane(lane));
  return absl::OkStatus();
}

absl::Status BatchBuilder::AddMark(const Mark& mark) {
  if (batch_.marks.size() >= kMaxMarks) {
    if (absl::Status status = Flush(false); !status.ok()) return status;
  }
  batch_.marks.push_back(mark);
  return absl::OkStatus();
}

absl::Status BatchBuilder::AddConnection(const ConnectionSample& sample) {
  if (batch_.connections.size() >= kMaxConnections) {
    if (absl::Status status = Flush(false); !status.ok()) return status;
  }
  batch_.connections.push_back(sample);
  return absl::OkStatus();
}

void BatchBuilder::Report(ProgressReport report, uint32_t function) {
  if (function != TraceFunctions::kNone) report.function = LocalFunction(function);
  for (InFlightCollective& row : report.in_flight)
    row.communicator = LocalCommunicator(row.communicator);
  for (OperationCount& row : report.operations)
    row.communicator = LocalCommunicator(row.communicator);
  const auto key = [](const auto& row) {
    return std::tuple(row.communicator, row.operation, row.peer);
  };
  std::ranges::stable_sort(report.in_flight, {}, key);
  std::ranges::stable_sort(report.operations, {}, key);
  batch_.progress = {std::move(report)};
}

absl::Status BatchBuilder::Finish(std::vector<LossEntry> losses) {
  for (size_t i = 0; i < communicators_.size(); ++i) LocalCommunicator(static_cast<uint16_t>(i));
  batch_.losses = std::move(losses);
  return Flush(true);
}

absl::Status BatchBuilder::Flush(bool final) {
  batch_.final = final;
  if (absl::Status status = sink_.Write(batch_); !status.ok()) return status;
  ++batch_.sequence;
  batch_.functions.clear();
  batch_.lanes.clear();
  batch_.communicators.clear();
  batch_.intervals.clear();
  batch_.collectives.clear();
  batch_.marks.clear();
  batch_.connections.clear();
  batch_.losses.clear();
  for (const uint32_t function : interned_) local_function_[function] = kAbsent;
  interned_.clear();
  name_bytes_ = 0;
  local_lane_.fill(kAbsent);
  std::fill(local_communicator_.begin(), local_communicator_.end(), kAbsent);
  return absl::OkStatus();
}

// Callers get their row before what they call.
uint32_t BatchBuilder::LocalFunction(uint32_t function) {
  if (local_function_.size() < functions_.size())
    local_function_.resize(functions_.size(), kAbsent);
  if (local_function_[function] != kAbsent) return local_function_[function];
  chain_.clear();
  for (uint32_t at = function; at != TraceFunctions::kNone && local_function_[at] == kAbsent;
       at = functions_.row(at).parent) {
    chain_.push_back(at);
  }
  for (auto at = chain_.rbegin(); at != chain_.rend(); ++at) {
    const TraceFunctions::Row& row = functions_.row(*at);
    local_function_[*at] = static_cast<uint32_t>(batch_.functions.size());
    interned_.push_back(*at);
    name_bytes_ += functions_.name(row.name).size();
    const uint32_t parent =
        row.parent == TraceFunctions::kNone ? kNoParent : local_function_[row.parent];
    batch_.functions.push_back({functions_.name(row.name), row.function_class, row.wait, parent});
  }
  return local_function_[function];
}

uint8_t BatchBuilder::LocalLane(uint8_t lane) {
  if (local_lane_[lane] == kAbsent) {
    local_lane_[lane] = static_cast<uint32_t>(batch_.lanes.size());
    batch_.lanes.push_back(lanes_[lane]);
  }
  return static_cast<uint8_t>(local_lane_[lane]);
}

uint16_t BatchBuilder::LocalCommunicator(uint16_t communicator) {
  if (local_communicator_[communicator] == kAbsent) {
    local_communicator_[communicator] = static_cast<uint32_t>(batch_.communicators.size());
    batch_.communicators.push_back(communicators_[communicator]);
  }
  return static_cast<uint16_t>(local_communicator_[communicator]);
}

}  // namespace eroica
