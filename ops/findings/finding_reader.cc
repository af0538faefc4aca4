#include "ops/findings/finding_reader.h"

#include <unordered_map>
#include <utility>

#include "stream_ops/topics.h"

namespace eroica {

absl::StatusOr<std::unique_ptr<FindingReader>> FindingReader::Open(
    Log& log, const std::string& topic_prefix) {
  return OpenTopic(log, TopicName(topic_prefix, Topic::kFindings));
}

absl::StatusOr<std::unique_ptr<FindingReader>> FindingReader::OpenTopic(Log& log,
                                                                        const std::string& topic) {
  absl::StatusOr<std::unique_ptr<LogConsumer>> consumer = log.NewConsumer(ConsumerOptions());
  if (!consumer.ok()) return consumer.status();
  std::unique_ptr<FindingReader> reader(new FindingReader(*std::move(consumer)));
  if (absl::Status status = reader->consumer_->Subscribe({topic}, reader.get()); !status.ok())
    return status;
  return reader;
}

absl::Status FindingReader::Poll(std::chrono::milliseconds timeout,
                                 std::vector<PublishedFinding>* out) {
  constexpr size_t kRecordsMax = 256;
  records_.clear();
  if (absl::Status status = consumer_->Poll(timeout, kRecordsMax, &records_); !status.ok())
    return status;
  for (const ConsumerRecord& record : records_) {
    PublishedFinding published{.finding = {},
                               .partition = record.partition,
                               .offset = record.offset,
                               .timestamp_ms = record.timestamp_ms};
    if (decoder_.Decode(record.payload(), &published.finding) == DropReason::kNone) {
      out->push_back(std::move(published));
    } else {
      ++malformed_;
    }
  }
  return absl::OkStatus();
}

absl::Status FindingReader::Poll(std::chrono::milliseconds timeout, std::vector<Finding>* out) {
  std::vector<PublishedFinding> published;
  if (absl::Status status = Poll(timeout, &published); !status.ok()) return status;
  for (PublishedFinding& one : published) out->push_back(std::move(one.finding));
  return absl::OkStatus();
}

absl::StatusOr<bool> FindingReader::AtEnd() {
  const std::vector<TopicPartition> partitions = consumer_->Assignment();
  if (partitions.empty()) return false;  // not polled yet
  for (const TopicPartition& partition : partitions) {
    const absl::StatusOr<int64_t> position = consumer_->Position(partition);
    if (!position.ok()) return position.status();
    const absl::StatusOr<int64_t> end = consumer_->EndOffset(partition);
    if (!end.ok()) return end.status();
    if (*position < *end) return false;
  }
  return true;
}

std::optional<int64_t> FindingReader::OnPartitionAssigned(const TopicPartition&) {
  return std::nullopt;
}
void FindingReader::OnPartitionRevoked(const TopicPartition&, bool) {}

absl::StatusOr<std::vector<Finding>> ReadAllFindings(FindingReader& reader) {
  constexpr std::chrono::milliseconds kTimeout{100};
  std::vector<Finding> findings;
  while (true) {
    if (absl::Status status = reader.Poll(kTimeout, &findings); !status.ok()) return status;
    const absl::StatusOr<bool> at_end = reader.AtEnd();
    if (!at_end.ok()) return at_end.status();
    if (*at_end) return findings;
  }
}

std::vector<Finding> LatestVersions(std::vector<Finding> findings) {
  std::vector<Finding> latest;
  std::unordered_map<std::string, size_t> index;
  for (Finding& finding : findings) {
    const auto [it, is_new] = index.try_emplace(finding.id, latest.size());
    if (is_new) {
      latest.push_back(std::move(finding));
    } else {
      latest[it->second] = std::move(finding);
    }
  }
  return latest;
}

}  // namespace eroica
