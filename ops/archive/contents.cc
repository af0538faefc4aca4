#include "ops/archive/contents.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "stream_ops/topics.h"

namespace eroica {
namespace {

uint64_t BytesOf(const ConsumerRecord& record) {
  uint64_t bytes = record.key.size() + record.value.size();
  for (const auto& [name, value] : record.headers) bytes += name.size() + value.size();
  return bytes;
}

std::optional<uint32_t> RankHeader(const ConsumerRecord& record) {
  const std::optional<std::string_view> text = FindHeader(record.headers, kHeaderRank);
  uint32_t rank = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), rank);
  return error == std::errc() && end == text->data() + text->size() ? std::optional(rank)
                                                                    : std::nullopt;
}

}  // namespace

void Contents::Add(const ConsumerRecord& record) {
  Partition& partition = partitions_[{record.topic, record.partition}];
  if (partition.manifest.records == 0) partition.manifest.first_offset = record.offset;
  partition.manifest.last_offset = record.offset;
  ++partition.manifest.records;
  partition.manifest.bytes += BytesOf(record);
  partition.digest.Add(record);
  ++records_;
  bytes_ += BytesOf(record);
  if (const auto job = FindHeader(record.headers, kHeaderJob)) AddToJob(record, std::string(*job));
}

// Patterns that a producer has made itself bear no rank in their headers.
void Contents::AddToJob(const ConsumerRecord& record, const std::string& name) {
  Job& job = jobs_[name];
  JobManifest& manifest = job.manifest;
  manifest.first_ms = manifest.records == 0 ? record.timestamp_ms
                                            : std::min(manifest.first_ms, record.timestamp_ms);
  manifest.last_ms =
      manifest.records == 0 ? record.timestamp_ms : std::max(manifest.last_ms, record.timestamp_ms);
  ++manifest.records;
  if (const std::optional<uint32_t> rank = RankHeader(record)) {
    job.ranks.insert(*rank);
  } else if (TypeOf(record.payload()) == PayloadType::kPatternBatch &&
             decoder_.Decode(record.payload(), &patterns_) == DropReason::kNone) {
    job.ranks.insert(patterns_.rank.value);
  }
}

void Contents::Finish(Manifest* manifest) {
  for (auto& [name, partition] : partitions_) {
    partition.manifest.sha256 = partition.digest.Finish();
    manifest->topics[name.topic].by_partition[name.partition] = partition.manifest;
  }
  for (auto& [name, job] : jobs_) {
    job.manifest.ranks = job.ranks.size();
    manifest->jobs[name] = job.manifest;
  }
}

}  // namespace eroica
