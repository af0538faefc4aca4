#include "stream_ops/log/log.h"

namespace eroica {

size_t RecordBytes(const ProducerRecord& record) {
  // Lengths and numbers beside the bytes proper: Kafka's at their longest, which are more than a
  // recording's.
  constexpr size_t kOfRecord = 128;
  constexpr size_t kOfHeader = 20;
  size_t bytes = kOfRecord + record.key.size() + record.value.size();
  for (const auto& [name, value] : record.headers) bytes += kOfHeader + name.size() + value.size();
  return bytes;
}

std::optional<std::string_view> FindHeader(const Headers& headers, std::string_view name) {
  for (const auto& [header_name, value] : headers) {
    if (header_name == name) return std::string_view(value);
  }
  return std::nullopt;
}

}  // namespace eroica
