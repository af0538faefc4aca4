#include "stream_ops/align/align_progress.h"

#include <utility>

#include "state_store/key_encoding.h"

namespace eroica {
namespace {

constexpr uint8_t kProgressTag = 0;
constexpr uint8_t kCarriedTag = 1;
constexpr uint8_t kMembersTag = 2;

KeyWriter BeginKey(uint8_t tag, const AlignKey& key) {
  KeyWriter writer;
  writer.PutByte(tag)
      .PutString(key.job.value)
      .PutUint64(key.communicator.value)
      .PutByte(static_cast<uint8_t>(key.kind));
  return writer;
}

}  // namespace

std::string ProgressPrefix() { return KeyWriter().PutByte(kProgressTag).key(); }
std::string CarriedPrefix() { return KeyWriter().PutByte(kCarriedTag).key(); }
std::string MembersPrefix() { return KeyWriter().PutByte(kMembersTag).key(); }
std::string ProgressKey(const AlignKey& key) { return BeginKey(kProgressTag, key).key(); }
std::string CarriedKey(const AlignKey& key, RankId rank) {
  return BeginKey(kCarriedTag, key).PutUint32(rank.value).key();
}
std::string MembersKey(const AlignKey& key) { return BeginKey(kMembersTag, key).key(); }

std::optional<AlignKey> DecodeAlignKey(std::string_view key) {
  KeyReader reader(key);
  const auto tag = reader.TakeByte();
  auto job = reader.TakeString();
  const auto communicator = reader.TakeUint64();
  const auto kind = reader.TakeByte();
  if (!tag || *tag > kMembersTag || !kind || *kind >= kWindowKindCount) return std::nullopt;
  if (*tag == kCarriedTag && !reader.TakeUint32()) return std::nullopt;
  if (!reader.AtEnd()) return std::nullopt;
  return AlignKey{JobId(*std::move(job)), CommId(*communicator), static_cast<WindowKind>(*kind)};
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
