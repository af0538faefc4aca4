#include "ops/cli/lost_entries.h"

#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "ops/archive/manifest.h"
#include "stream_ops/replay/replay_run.h"

namespace eroica {
namespace {

using Counts = std::function<absl::StatusOr<bool>(const TopicPartition&)>;

absl::StatusOr<LostEntries> Find(Log& log, const NodeConfig& config,
                                 const std::vector<std::string>& topics, const Counts& counts) {
  LostEntries lost;
  if (config.node.recording.empty()) return lost;
  const absl::StatusOr<std::optional<Manifest>> manifest = ReadManifest(config.node.recording);
  if (!manifest.ok()) return manifest.status();
  if (manifest->has_value()) lost.sentences = (*manifest)->lost;
  const absl::StatusOr<std::vector<CutEnd>> ends = log.CutEnds(topics);
  if (!ends.ok()) return ends.status();
  for (const CutEnd& end : *ends) {
    const absl::StatusOr<bool> counted = counts(end.partition);
    if (!counted.ok()) return counted.status();
    if (!*counted) continue;
    lost.sentences.push_back(CutEndText(end));
    lost.bytes += static_cast<uint64_t>(end.bytes);
  }
  return lost;
}

}  // namespace

// What a node has written itself, it writes once more: it had not committed that yet.
absl::StatusOr<LostEntries> FindLostEntries(Log& log, const NodeConfig& config) {
  return Find(log, config, ReplayTopics(config.node.topic_prefix),
              [](const TopicPartition&) { return true; });
}

absl::StatusOr<LostEntries> FindLostEntries(Log& log, const NodeConfig& config,
                                            const LogSlice& slice) {
  std::set<std::string> topics;
  for (const auto& [partition, range] : slice.ranges) topics.insert(partition.topic);
  const absl::StatusOr<std::unique_ptr<LogConsumer>> consumer = log.NewConsumer(ConsumerOptions());
  if (!consumer.ok()) return consumer.status();
  return Find(log, config, {topics.begin(), topics.end()},
              [&](const TopicPartition& partition) -> absl::StatusOr<bool> {
                const auto range = slice.ranges.find(partition);
                if (range == slice.ranges.end()) return false;
                const absl::StatusOr<int64_t> end = (*consumer)->EndOffset(partition);
                if (!end.ok()) return end.status();
                return range->second.end >= *end;
              });
}

}  // namespace eroica
