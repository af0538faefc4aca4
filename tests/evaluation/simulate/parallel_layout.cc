#include "tests/evaluation/simulate/parallel_layout.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "tests/evaluation/simulate/noise.h"

namespace eroica::simulate {
namespace {

constexpr uint32_t kMaxWorldSize = uint32_t{1} << 20;
constexpr uint32_t kMaxRanksPerHost = 256;
constexpr uint32_t kMaxVirtualStages = 64;

// What Megatron-LM calls the groups when it makes them.
std::string_view DescriptionOf(GroupKind kind) {
  switch (kind) {
    case GroupKind::kTensor: return "TENSOR_MODEL_PARALLEL_GROUP";
    case GroupKind::kContext: return "CONTEXT_PARALLEL_GROUP";
    case GroupKind::kExpert: return "EXPERT_MODEL_PARALLEL_GROUP";
    case GroupKind::kData: return "DATA_PARALLEL_GROUP_WITH_CP";
    case GroupKind::kPipeline: return "PIPELINE_MODEL_PARALLEL_GROUP";
    case GroupKind::kEmbedding: return "EMBEDDING_GROUP";
    case GroupKind::kWorld: return "default_pg";
  }
  return "";
}

// The same on every member and in every run, different for every group of every job.
CommId IdOf(GroupKind kind, std::string_view job, const std::vector<uint32_t>& ranks) {
  uint64_t hash = Mix(static_cast<uint64_t>(kind));
  for (const char c : job) hash = Mix(hash ^ static_cast<unsigned char>(c));
  hash = Mix(hash ^ job.size());
  for (const uint32_t rank : ranks) hash = Mix(hash ^ rank);
  return CommId(hash);
}

}  // namespace

absl::Status Check(const ParallelLayout& layout) {
  const std::array<std::pair<std::string_view, uint32_t>, 5> degrees = {
      {{"tensor", layout.tensor},
       {"context", layout.context},
       {"data", layout.data},
       {"pipeline", layout.pipeline},
       {"expert", layout.expert}}};
  uint64_t world_size = 1;
  for (const auto& [name, degree] : degrees) {
    if (degree == 0)
      return absl::InvalidArgumentError(fmt::format("layout.{} is 0; it must be at least 1", name));
    if (name != "expert") world_size *= degree;
    if (world_size > kMaxWorldSize) {
      return absl::InvalidArgumentError(
          fmt::format("layout.tensor x context x data x pipeline is {} x {} x {} x {}; there may "
                      "be at most {} ranks",
                      layout.tensor, layout.context, layout.data, layout.pipeline, kMaxWorldSize));
    }
  }
  if (layout.data % layout.expert != 0) {
    return absl::InvalidArgumentError(fmt::format(
        "layout.expert is {}; it must divide layout.data, {}", layout.expert, layout.data));
  }
  if (layout.virtual_stages == 0 || layout.virtual_stages > kMaxVirtualStages) {
    return absl::InvalidArgumentError(
        fmt::format("layout.virtual_stages is {}; it must be between 1 and {}",
                    layout.virtual_stages, kMaxVirtualStages));
  }
  if (layout.virtual_stages > 1 && layout.pipeline == 1) {
    return absl::InvalidArgumentError(
        fmt::format("layout.virtual_stages is {}; more than 1 needs layout.pipeline > 1",
                    layout.virtual_stages));
  }
  if (layout.ranks_per_host == 0 || layout.ranks_per_host > kMaxRanksPerHost) {
    return absl::InvalidArgumentError(
        fmt::format("layout.ranks_per_host is {}; it must be between 1 and {}",
                    layout.ranks_per_host, kMaxRanksPerHost));
  }
  return absl::OkStatus();
}

Coordinates CoordinatesOf(const ParallelLayout& layout, uint32_t rank) {
  Coordinates at;
  at.tensor = rank % layout.tensor;
  rank /= layout.tensor;
  at.context = rank % layout.context;
  rank /= layout.context;
  at.data = rank % layout.data;
  at.pipeline = rank / layout.data;
  return at;
}

uint32_t RankAt(const ParallelLayout& layout, const Coordinates& at) {
  return at.tensor +
         layout.tensor * (at.context + layout.context * (at.data + layout.data * at.pipeline));
}

std::string_view ToString(GroupKind kind) {
  switch (kind) {
    case GroupKind::kTensor: return "tensor";
    case GroupKind::kContext: return "context";
    case GroupKind::kExpert: return "expert";
    case GroupKind::kData: return "data";
    case GroupKind::kPipeline: return "pipeline";
    case GroupKind::kEmbedding: return "embedding";
    case GroupKind::kWorld: return "world";
  }
  return "";
}

uint32_t GroupSize(const ParallelLayout& layout, GroupKind kind) {
  switch (kind) {
    case GroupKind::kTensor: return layout.tensor;
    case GroupKind::kContext: return layout.context;
    case GroupKind::kExpert: return layout.expert;
    case GroupKind::kData: return layout.data * layout.context;
    case GroupKind::kPipeline: return layout.pipeline;
    case GroupKind::kEmbedding: return layout.pipeline > 1 ? 2 : 1;
    case GroupKind::kWorld: return layout.world_size();
  }
  return 1;
}

GroupTable::GroupTable(const ParallelLayout& layout, std::string_view job)
    : of_rank_(size_t{layout.world_size()} * kGroupKindCount, kNone) {
  const uint32_t world = layout.world_size();
  const uint32_t model = layout.tensor * layout.context;  // from one data index to the next
  const uint32_t stage = model * layout.data;             // from one pipeline stage to the next
  // The members of a group are evenly spaced. Each kind partitions the ranks below `end` and those
  // that are reached from there.
  struct Spacing {
    GroupKind kind;
    uint32_t stride;
    uint32_t end;
  };
  // In the order in which Megatron-LM makes the groups, which numbers them; torch.distributed has
  // made the world before.
  const std::array<Spacing, kGroupKindCount> spacings = {
      {{GroupKind::kWorld, 1, world},
       {GroupKind::kData, layout.tensor, world},
       {GroupKind::kContext, layout.tensor, world},
       {GroupKind::kTensor, 1, world},
       {GroupKind::kPipeline, stage, world},
       {GroupKind::kEmbedding, stage * (layout.pipeline - 1), stage},
       {GroupKind::kExpert, model, world}}};
  for (const Spacing& spacing : spacings) {
    const uint32_t size = GroupSize(layout, spacing.kind);
    if (size == 1) continue;
    for (uint32_t first = 0; first < spacing.end; ++first) {
      if (Find(first, spacing.kind) != kNone) continue;  // in the group of a lower rank
      std::vector<uint32_t> ranks(size);
      for (uint32_t i = 0; i < size; ++i) ranks[i] = first + i * spacing.stride;
      Add(spacing.kind, job, std::move(ranks));
    }
  }
}

// groups_ grows in the order of the names: torch.distributed numbers process groups through the
// job.
void GroupTable::Add(GroupKind kind, std::string_view job, std::vector<uint32_t> ranks) {
  const auto index = static_cast<uint32_t>(groups_.size());
  for (const uint32_t rank : ranks)
    of_rank_[size_t{rank} * kGroupKindCount + static_cast<uint32_t>(kind)] = index;
  Communicator communicator;
  communicator.id = IdOf(kind, job, ranks);
  communicator.name = std::to_string(index);
  communicator.description = DescriptionOf(kind);
  communicator.size = static_cast<uint32_t>(ranks.size());
  communicator.ranks = std::move(ranks);
  groups_.push_back({.kind = kind, .communicator = std::move(communicator)});
}

}  // namespace eroica::simulate
