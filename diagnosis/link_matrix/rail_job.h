// Jobs of several hosts whose ranks exchange data along rails, made of a few lines, for the tests
// of the link matrix: rank r of each host sends to rank r of the next.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "diagnosis/link_matrix/link_matrix_operator.h"
#include "diagnosis/measurements/training_view.h"

namespace eroica {

class RailJob {
 public:
  static constexpr double kNic = 45;               // GB/s
  static constexpr double kNvlink = 225;           // GB/s
  static constexpr uint64_t kBytes = 800'000'000;  // of eight steps

  RailJob(uint32_t hosts, uint32_t ranks_per_host)
      : hosts_(hosts), per_host_(ranks_per_host), job_(hosts * ranks_per_host) {
    job_.RunOnAll("gemm", 50, "", FunctionClass::kGpuCompute);
    for (uint32_t rank = 0; rank < ranks(); ++rank) {
      job_.batches()[rank].host = "host" + std::to_string(rank / per_host_);
      job_.batches()[rank].device = static_cast<int32_t>(rank % per_host_);
      if (hosts_ > 1) Connect(rank, (rank + per_host_) % ranks(), kNic);
      if (per_host_ > 1) Connect(rank, Neighbor(rank), kNvlink, Resource::kNvlink);
    }
    job_.Finish();
  }
  uint32_t ranks() const { return hosts_ * per_host_; }
  // The next rank of the host, around.
  uint32_t Neighbor(uint32_t rank) const {
    return rank / per_host_ * per_host_ + (rank + 1) % per_host_;
  }
  uint32_t HostOf(uint32_t rank) const { return rank / per_host_; }

  RailJob& Connect(uint32_t source, uint32_t destination, double speed,
                   Resource resource = Resource::kNic, uint64_t bytes = kBytes) {
    cells_[{source, destination, resource}] = {
        .peer = destination,
        .resource = resource,
        .bytes = bytes,
        .busy_ns = static_cast<int64_t>(static_cast<double>(bytes) / speed)};
    return *this;
  }
  RailJob& Disconnect(uint32_t source, uint32_t destination, Resource resource) {
    cells_.erase({source, destination, resource});
    return *this;
  }
  // Network connections that the filter picks by source and destination run at the speed.
  template <typename Filter>
  RailJob& Slow(double speed, Filter filter) {
    for (auto& [key, cell] : cells_) {
      const auto [source, destination, resource] = key;
      if (resource == Resource::kNic && filter(source, destination))
        cell.busy_ns = static_cast<int64_t>(static_cast<double>(cell.bytes) / speed);
    }
    return *this;
  }
  // What the rank's NIC sends and receives.
  RailJob& SlowNic(uint32_t rank, double speed) {
    return Slow(speed, [rank](uint32_t source, uint32_t destination) {
      return source == rank || destination == rank;
    });
  }
  TrainingView& job() { return job_; }

  // numbers: the rank that each rank becomes; empty: itself.
  std::vector<Finding> Evaluate(const std::vector<uint32_t>& numbers = {}) const {
    TrainingView job = job_;
    const auto number = [&numbers](uint32_t rank) {
      return numbers.empty() ? rank : numbers[rank];
    };
    for (uint32_t rank = 0; rank < ranks(); ++rank) job.batches()[rank].rank = RankId{number(rank)};
    for (const auto& [key, cell] : cells_) {
      ConnectionPattern connection = cell;
      connection.peer = number(connection.peer);
      job.batches()[std::get<0>(key)].connections.push_back(connection);
    }
    return ClaimsOf<LinkMatrixOperator>(job);
  }

 private:
  uint32_t hosts_;
  uint32_t per_host_;
  TrainingView job_;
  std::map<std::tuple<uint32_t, uint32_t, Resource>, ConnectionPattern> cells_;
};

}  // namespace eroica
