#include "ops/findings/finding_reader.h"

#include <unordered_map>
#include <utility>

#include "stream_ops/log/log_end.h"
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

absl::Status FindingReader::Poll(std::chrono::milliseconds timeout, std::vector<Finding>* out) {
  constexpr size_t kRecordsMax = 256;
  records_.clear();
  if (absl::Status status = consumer_->Poll(timeout, kRecordsMax, &records_); !status.ok())
    return status;
  for (const ConsumerRecord& record : records_) {
    Finding finding;
    if (decoder_.Decode(record.payload(), &finding) == DropReason::kNone) {
      out->push_back(std::move(finding));
    } else {
      ++malformed_;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> FindingReader::AtEnd() { return eroica::AtEnd(*consumer_); }

std::optional<int64_t> FindingReader::OnPartitionAssigned(const TopicPartition&) {
  return std::nullopt;
}
void FindingReader::OnPartitionRevoked(const TopicPartition&, bool) {}

absl::StatusOr<std::vector<Finding>> ReadAllFindings(FindingReader& reader,
                                                     std::chrono::milliseconds poll_timeout) {
  std::vector<Finding> findings;
  while (true) {
    if (absl::Status status = reader.Poll(poll_timeout, &findings); !status.ok()) return status;
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
