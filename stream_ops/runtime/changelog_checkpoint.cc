#include "stream_ops/runtime/changelog_checkpoint.h"

#include <fmt/format.h>

#include <charconv>

namespace eroica {

// "OFFSET EPOCH.ID"
std::string EncodeCheckpoint(const ChangelogCheckpoint& checkpoint) {
  return fmt::format("{} {}", checkpoint.offset, EncodeWriter(checkpoint.writer));
}

absl::StatusOr<std::optional<ChangelogCheckpoint>> ReadCheckpoint(const StateStore& store) {
  const absl::StatusOr<std::optional<std::string>> value =
      store.Get(Table::kPositions, kCheckpointKey);
  if (!value.ok()) return value.status();
  if (!value->has_value()) return std::optional<ChangelogCheckpoint>();
  const std::string& text = **value;
  ChangelogCheckpoint checkpoint;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, checkpoint.offset);
  const std::optional<ChangelogWriter> writer =
      error == std::errc{} && end != last && *end == ' '
          ? DecodeWriter(std::string_view(end + 1, static_cast<size_t>(last - end - 1)))
          : std::nullopt;
  if (!writer || checkpoint.offset < 0)
    return absl::DataLossError("the store's changelog checkpoint of a task is not one of ours");
  checkpoint.writer = *writer;
  return std::optional(checkpoint);
}

}  // namespace eroica
