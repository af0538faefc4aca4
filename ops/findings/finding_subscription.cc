#include "ops/findings/finding_subscription.h"

#include <algorithm>
#include <set>
#include <utility>

#include "stream_ops/topics.h"

namespace eroica {

absl::StatusOr<std::unique_ptr<FindingSubscription>> FindingSubscription::Open(
    Log& log, const std::string& topic_prefix, const std::string& group) {
  std::unique_ptr<FindingSubscription> subscription(
      new FindingSubscription(log, TopicName(topic_prefix, Topic::kFindings), group));
  absl::StatusOr<std::unique_ptr<LogConsumer>> consumer = log.NewConsumer({.group_id = group});
  if (!consumer.ok()) return consumer.status();
  subscription->consumer_ = *std::move(consumer);
  if (absl::Status status =
          subscription->consumer_->Subscribe({subscription->topic_}, subscription.get());
      !status.ok())
    return status;
  return subscription;
}

// Asked for by Poll, not in here: the group is being rebalanced.
std::optional<int64_t> FindingSubscription::OnPartitionAssigned(const TopicPartition& partition) {
  Owned owned;
  // A log without a group protocol stands where the group has committed.
  if (const absl::StatusOr<int64_t> position = consumer_->Position(partition); position.ok())
    owned.read_to = *position;
  owned_[partition.partition] = owned;
  forgotten_.push_back(partition.partition);
  return 0;
}

void FindingSubscription::OnPartitionRevoked(const TopicPartition& partition, bool) {
  owned_.erase(partition.partition);
  forgotten_.push_back(partition.partition);
}

absl::Status FindingSubscription::LearnPast(int32_t partition, Owned* owned) {
  const TopicPartition name{topic_, partition};
  const absl::StatusOr<GroupOffsets> committed = log_.admin().DescribeGroup(group_, topic_);
  if (committed.ok()) {
    if (const auto found = committed->find(name); found != committed->end())
      owned->handled = found->second.next;
  } else if (absl::IsUnimplemented(committed.status())) {
    owned->handled = owned->read_to;
  } else {
    return committed.status();
  }
  if (owned->handled == 0) {
    const absl::StatusOr<int64_t> end = consumer_->EndOffset(name);
    if (!end.ok()) return end.status();
    owned->earlier = *end;
  }
  owned->has_begun = owned->handled > 0;
  owned->known = true;
  return absl::OkStatus();
}

absl::Status FindingSubscription::Poll(std::chrono::milliseconds timeout, Batch* batch) {
  constexpr size_t kRecordsMax = 256;
  if (records_.empty()) {
    if (absl::Status status = consumer_->Poll(timeout, kRecordsMax, &records_); !status.ok())
      return status;
  }
  // Where this fails, the records are kept for the next call.
  for (auto& [partition, owned] : owned_) {
    if (owned.known) continue;
    if (absl::Status status = LearnPast(partition, &owned); !status.ok()) return status;
  }
  batch->forgotten = std::exchange(forgotten_, {});
  std::vector<ConsumerRecord> held_back;
  std::set<int32_t> holding;
  for (ConsumerRecord& record : records_) {
    if (BeginsFirst(record)) {
      holding.insert(record.partition);
      held_back.push_back(std::move(record));
    } else {
      Take(record, batch);
    }
  }
  records_ = std::move(held_back);
  for (auto& [partition, owned] : owned_) {
    if (holding.contains(partition)) {
      owned.next = std::max(owned.next, owned.earlier);
    } else if (const auto position = consumer_->Position({topic_, partition}); position.ok()) {
      owned.next = std::max(owned.next, *position);
    }
    if (owned.has_begun || owned.next < owned.earlier) continue;
    owned.has_begun = true;
    batch->begun.push_back(partition);
  }
  return absl::OkStatus();
}

// It is news of a partition whose past has not been announced as whole.
bool FindingSubscription::BeginsFirst(const ConsumerRecord& record) const {
  const auto owned = owned_.find(record.partition);
  return owned != owned_.end() && !owned->second.has_begun &&
         record.offset >= owned->second.earlier;
}

void FindingSubscription::Take(const ConsumerRecord& record, Batch* batch) {
  const auto owned = owned_.find(record.partition);
  if (owned == owned_.end()) return;
  owned->second.next = record.offset + 1;
  Version version{.finding = {}, .partition = record.partition, .offset = record.offset};
  if (decoder_.Decode(record.payload(), &version.finding) != DropReason::kNone) {
    ++malformed_;
    return;
  }
  if (!version.finding.replay_id.empty()) return;
  version.past = record.offset < owned->second.handled   ? Past::kHandled
                 : record.offset < owned->second.earlier ? Past::kEarlier
                                                         : Past::kNews;
  batch->versions.push_back(std::move(version));
}

absl::Status FindingSubscription::Commit(const std::map<int32_t, int64_t>& offsets) {
  GroupOffsets commit;
  for (const auto& [partition, offset] : offsets) {
    const auto owned = owned_.find(partition);
    if (owned == owned_.end() || !owned->second.known || offset <= owned->second.handled) continue;
    commit[{topic_, partition}] = offset;
  }
  if (commit.empty()) return absl::OkStatus();
  if (absl::Status status = consumer_->Commit(commit); !status.ok()) return status;
  for (const auto& [partition, offset] : commit) owned_[partition.partition].handled = offset.next;
  return absl::OkStatus();
}

std::map<int32_t, int64_t> FindingSubscription::Positions() const {
  std::map<int32_t, int64_t> positions;
  for (const auto& [partition, owned] : owned_) positions[partition] = owned.next;
  return positions;
}

}  // namespace eroica
