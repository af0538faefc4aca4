#include "stream_ops/align/align_progress.h"

#include <utility>

namespace eroica {
namespace {

std::string RowKey(ProgressFamily family, const AlignKey& key) {
  return BeginProgressKey(key.job, family)
      .PutUint64(key.communicator.value)
      .PutByte(static_cast<uint8_t>(key.kind))
      .key();
}

bool IsOfAlign(ProgressFamily family) {
  return (family >= ProgressFamily::kAligned && family <= ProgressFamily::kMembers) ||
         family == ProgressFamily::kCommunicatorRuns;
}

}  // namespace

std::string AlignedKey(const AlignKey& key) { return RowKey(ProgressFamily::kAligned, key); }
std::string MembersKey(const AlignKey& key) { return RowKey(ProgressFamily::kMembers, key); }
std::string RunsKey(const AlignKey& key) { return RowKey(ProgressFamily::kCommunicatorRuns, key); }
std::string CarriedKey(const AlignKey& key, RankId rank) {
  return RowKey(ProgressFamily::kCarried, key) + KeyWriter().PutUint32(rank.value).key();
}

std::optional<AlignRow> DecodeAlignKey(std::string_view key) {
  std::optional<ProgressKey> row = DecodeProgressKey(key);
  if (!row || !IsOfAlign(row->family)) return std::nullopt;
  const auto communicator = row->rest.TakeUint64();
  const auto kind = row->rest.TakeByte();
  if (!communicator || !kind || *kind >= kWindowKindCount) return std::nullopt;
  if (row->family == ProgressFamily::kCarried && !row->rest.TakeUint32()) return std::nullopt;
  if (!row->rest.AtEnd()) return std::nullopt;
  return AlignRow{row->family, AlignKey{std::move(row->job), CommId(*communicator),
                                        static_cast<WindowKind>(*kind)}};
}

std::string EncodeProgress(const AlignProgress& progress) {
  KeyWriter writer;
  writer.PutInt64(progress.closed_through);
  for (const RankId rank : progress.finished) writer.PutUint32(rank.value);
  return std::move(writer).key();
}

std::optional<AlignProgress> DecodeProgress(std::string_view value) {
  KeyReader reader(value);
  const auto closed_through = reader.TakeInt64();
  if (!closed_through) return std::nullopt;
  AlignProgress progress{.closed_through = *closed_through, .finished = {}};
  while (!reader.AtEnd()) {
    const auto rank = reader.TakeUint32();
    if (!rank) return std::nullopt;
    progress.finished.emplace_back(*rank);
  }
  return progress;
}

std::string EncodeMembers(std::span<const uint32_t> members) {
  KeyWriter writer;
  for (const uint32_t rank : members) writer.PutUint32(rank);
  return std::move(writer).key();
}

std::optional<std::vector<uint32_t>> DecodeMembers(std::string_view value) {
  KeyReader reader(value);
  std::vector<uint32_t> members;
  while (!reader.AtEnd()) {
    const auto rank = reader.TakeUint32();
    if (!rank) return std::nullopt;
    members.push_back(*rank);
  }
  return members;
}

}  // namespace eroica
