#include "producers/core/place_note.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <span>
#include <string_view>

#include "schemas/file_access.h"

namespace eroica {
namespace {

// A note is its length and so many bytes of payload, in one write. The file keeps its size: what
// follows the payload is of longer notes before.
constexpr size_t kMostBytes = 64 << 10;

// A file system of this machine: closing a file of another one may wait for its server.
bool IsLocal(const std::string& folder) {
  struct statfs system {};
  if (::statfs(folder.c_str(), &system) != 0) return false;
  switch (system.f_type) {
    case TMPFS_MAGIC:
    case RAMFS_MAGIC:
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case OVERLAYFS_SUPER_MAGIC: return true;
    default: return false;
  }
}

std::string NotePath(const std::string& folder, uint32_t rank) {
  return fmt::format("{}/rank-{}.place", folder, rank);
}

}  // namespace

PlaceNote::PlaceNote(const std::string& folder, uint32_t rank) {
  if (IsLocal(folder))
    file_ = OpenFile(NotePath(folder, rank), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
}

PlaceNote::~PlaceNote() {
  if (file_ >= 0) ::close(file_);
}

void PlaceNote::Write(const RankStanding& standing, int64_t now_ns) {
  written_ns_ = now_ns;
  Bytes payload;
  if (encoder_.TryEncode(standing, &payload) != DropReason::kNone) return;
  const auto size = static_cast<uint32_t>(payload.size());
  std::string note(sizeof(size) + size, '\0');
  if (note.size() > kMostBytes) return;
  std::memcpy(note.data(), &size, sizeof(size));
  std::memcpy(note.data() + sizeof(size), payload.data(), size);
  [[maybe_unused]] const ssize_t written = ::pwrite(file_, note.data(), note.size(), 0);
}

std::optional<RankStanding> ReadPlaceNote(const std::string& folder, uint32_t rank) {
  const std::optional<std::string> note = ReadFile(NotePath(folder, rank), kMostBytes);
  uint32_t size = 0;
  if (!note || note->size() < sizeof(size)) return std::nullopt;
  std::memcpy(&size, note->data(), sizeof(size));
  const std::string_view rest = std::string_view(*note).substr(sizeof(size));
  if (size > rest.size()) return std::nullopt;
  RankStanding standing;
  const Bytes payload = std::as_bytes(std::span(rest.substr(0, size)));
  if (Decoder().Decode(payload, &standing) != DropReason::kNone || standing.rank.value != rank)
    return std::nullopt;
  return standing;
}

}  // namespace eroica
