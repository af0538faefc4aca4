// How a training job spreads over its ranks: tensor, context, expert, data and pipeline
// parallelism, and the communicators that follow from it. Ranks are numbered as Megatron-LM numbers
// them, the fastest first: tensor, context, data, pipeline. Experts divide the data dimension.
#pragma once

#include <absl/status/status.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/event_batch.h"

namespace eroica::simulate {

struct ParallelLayout {
  uint32_t tensor = 1;
  uint32_t context = 1;
  uint32_t data = 1;
  uint32_t pipeline = 1;
  uint32_t expert = 1;          // divides data
  uint32_t virtual_stages = 1;  // > 1: the interleaved schedule, so many model chunks a rank
  // FSDP over the data dimension: parameters gathered layer by layer, gradients scattered
  bool sharded = false;
  uint32_t ranks_per_host = 8;

  uint32_t world_size() const { return tensor * context * data * pipeline; }
  uint32_t hosts() const { return (world_size() + ranks_per_host - 1) / ranks_per_host; }
  uint32_t HostOf(uint32_t rank) const { return rank / ranks_per_host; }
  uint32_t DeviceOf(uint32_t rank) const { return rank % ranks_per_host; }
};

// Says which number is wrong and what would be right.
absl::Status Check(const ParallelLayout& layout);

struct Coordinates {
  uint32_t tensor = 0;
  uint32_t context = 0;
  uint32_t data = 0;
  uint32_t pipeline = 0;
  friend bool operator==(const Coordinates&, const Coordinates&) = default;
};
Coordinates CoordinatesOf(const ParallelLayout& layout, uint32_t rank);
uint32_t RankAt(const ParallelLayout& layout, const Coordinates& at);

enum class GroupKind : uint8_t {
  kTensor = 0,
  kContext = 1,
  kExpert = 2,
  kData = 3,       // data and context together, as gradients are reduced
  kPipeline = 4,   // point to point only
  kEmbedding = 5,  // first and last stage share the embedding's gradients
  kWorld = 6,
};
inline constexpr int kGroupKindCount = 7;
std::string_view ToString(GroupKind kind);
// Members of each group of the kind. kEmbedding: only the first and the last stage are in one.
uint32_t GroupSize(const ParallelLayout& layout, GroupKind kind);

struct Group {
  GroupKind kind = GroupKind::kWorld;
  Communicator communicator;  // id, name, size and ranks, as a producer reports them
};

// All communicators of a job. Groups of one member do not exist: nobody communicates in them.
// Requires Check(layout).ok().
class GroupTable {
 public:
  static constexpr uint32_t kNone = 0xFFFFFFFF;

  GroupTable(const ParallelLayout& layout, std::string_view job);

  const std::vector<Group>& groups() const { return groups_; }
  // Index into groups() of the rank's group of the kind, or kNone.
  uint32_t Find(uint32_t rank, GroupKind kind) const {
    return of_rank_[size_t{rank} * kGroupKindCount + static_cast<uint32_t>(kind)];
  }

 private:
  void Add(GroupKind kind, std::string_view job, std::vector<uint32_t> ranks);

  std::vector<Group> groups_;
  std::vector<uint32_t> of_rank_;
};

}  // namespace eroica::simulate
