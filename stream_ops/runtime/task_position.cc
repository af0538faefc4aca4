#include "stream_ops/runtime/task_position.h"

#include <fmt/format.h>

#include "schemas/check.h"

namespace eroica {
namespace {

constexpr char kPositionVersion = 1;
constexpr size_t kPositionBytes = 1 + 2 * sizeof(uint64_t);

void AppendBigEndian(uint64_t value, std::string* out) {
  for (int shift = 56; shift >= 0; shift -= 8)
    out->push_back(static_cast<char>((value >> shift) & 0xff));
}

int64_t ReadBigEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(value); ++i)
    value = (value << 8) | static_cast<unsigned char>(bytes[i]);
  return static_cast<int64_t>(value);
}

}  // namespace

std::string TaskId::ToString() const {
  return fmt::format("{}/{}/{}", stage, partition.topic, partition.partition);
}

std::string EncodePosition(const TaskPosition& position) {
  EROICA_CHECK(position.restart >= 0 && position.processed >= position.restart);
  std::string value(1, kPositionVersion);
  AppendBigEndian(static_cast<uint64_t>(position.restart), &value);
  AppendBigEndian(static_cast<uint64_t>(position.processed), &value);
  return value;
}

std::optional<TaskPosition> DecodePosition(std::string_view value) {
  if (value.size() != kPositionBytes || value[0] != kPositionVersion) return std::nullopt;
  const TaskPosition position{ReadBigEndian(value.substr(1)),
                              ReadBigEndian(value.substr(1 + sizeof(uint64_t)))};
  if (position.restart < 0 || position.processed < position.restart) return std::nullopt;
  return position;
}

}  // namespace eroica
