#include "stream_ops/log/log.h"

#include <fmt/format.h>

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

absl::Status LogProducer::BeginTransaction() {
  return absl::UnimplementedError("this producer has no transactions");
}

absl::Status LogProducer::CommitTransaction(const Consumed&, std::chrono::milliseconds) {
  return absl::UnimplementedError("this producer has no transactions");
}

absl::Status LogAdmin::DeleteTopic(const std::string&) {
  return absl::UnimplementedError("this log deletes no topics");
}

absl::StatusOr<GroupOffsets> LogAdmin::DescribeGroup(const std::string&, const std::string&) {
  return absl::UnimplementedError("this log does not keep how far groups have come");
}

absl::StatusOr<std::map<TopicPartition, int64_t>> LogAdmin::EndOffsets(const std::string&) {
  return absl::UnimplementedError("only a consumer of this log knows where partitions end");
}

std::string CutEndText(const CutEnd& end) {
  return fmt::format(
      "{} of {}/{} ends within an entry, at byte {} ({} bytes of it are there): the last entry is "
      "lost",
      end.file, end.partition.topic, end.partition.partition, end.position, end.bytes);
}

absl::StatusOr<std::vector<CutEnd>> Log::CutEnds(const std::vector<std::string>&) {
  return std::vector<CutEnd>();
}

absl::StatusOr<std::unique_ptr<LogProducer>> Log::NewTransactionalProducer(const std::string&) {
  return absl::UnimplementedError("this log has no transactions");
}

}  // namespace eroica
