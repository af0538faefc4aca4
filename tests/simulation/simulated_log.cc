#include "tests/simulation/simulated_log.h"

#include <fmt/format.h>

#include <charconv>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "schemas/check.h"
#include "stream_ops/log/partitioner.h"
#include "stream_ops/runtime/testing/fault_count.h"
#include "stream_ops/runtime/testing/forwarding_consumer.h"

namespace eroica::testing {
namespace {

using std::chrono::milliseconds;
using MemberState = GroupCoordinator::MemberState;

// Which member of which generation of a group commits.
struct GroupMember {
  std::string group;
  uint64_t member = 0;
  uint64_t generation = 0;

  std::string Encode() const { return fmt::format("{} {} {}", member, generation, group); }
  static GroupMember Decode(const std::string& text) {
    GroupMember decoded;
    const char* const end = text.data() + text.size();
    const char* next = std::from_chars(text.data(), end, decoded.member).ptr;
    next = std::from_chars(next + 1, end, decoded.generation).ptr;
    decoded.group = std::string(next + 1, end);
    return decoded;
  }
};

}  // namespace

// Assigns to itself the partitions that the group gives it; without a group, its owner does.
class SimulatedLog::Consumer final : public ForwardingConsumer {
 public:
  Consumer(SimulatedLog& log, ConsumerOptions options, std::unique_ptr<LogConsumer> inner)
      : ForwardingConsumer(std::move(inner)), log_(log), options_(std::move(options)) {
    me_.group = options_.group_id;
  }
  ~Consumer() override {
    if (me_.member != 0 && !log_.crashed) log_.groups_.Leave(me_.group, me_.member);
  }

  absl::Status Subscribe(std::vector<std::string> topics, RebalanceListener* listener) override {
    EROICA_CHECK(topics.size() == 1 && listener != nullptr && !me_.group.empty());
    topic_ = topics.front();
    listener_ = listener;
    return absl::OkStatus();
  }

  absl::Status Poll(milliseconds, size_t max_records, std::vector<ConsumerRecord>* out) override {
    log_.Called();
    if (TakeOne(&log_.polls_unavailable)) return absl::UnavailableError("broker away");
    if (listener_ == nullptr) return inner().Poll(milliseconds(0), max_records, out);
    if (me_.member == 0) Join();
    switch (log_.groups_.Hear(me_.group, me_.member)) {
      case MemberState::kFenced: return absl::AbortedError("another member has our name");
      case MemberState::kGivenUp:
        GiveBack(/*lost=*/true);
        Join();
        return absl::OkStatus();
      case MemberState::kComeAgain:
        GiveBack(/*lost=*/false);
        log_.groups_.Rejoin(me_.group, me_.member);
        return absl::OkStatus();
      case MemberState::kWaits: return absl::OkStatus();
      case MemberState::kOwns: break;
    }
    if (absl::Status status = Take(); !status.ok()) return status;
    if (absl::Status status = PauseSome(); !status.ok()) return status;
    return inner().Poll(milliseconds(0), max_records, out);
  }

  absl::Status Seek(const TopicPartition& partition, int64_t offset) override {
    if (TakeOne(&log_.seeks_unavailable)) return absl::UnavailableError("it is not fetched yet");
    return inner().Seek(partition, offset);
  }
  absl::Status Pause(const TopicPartition& partition) override {
    paused_.insert(partition);
    return inner().Pause(partition);
  }
  absl::Status Resume(const TopicPartition& partition) override {
    paused_.erase(partition);
    return inner().Resume(partition);
  }
  absl::Status CheckMembership() override {
    return log_.groups_.Silent(me_.group, me_.member)
               ? absl::UnavailableError("not polled for longer than a session")
               : absl::OkStatus();
  }
  absl::StatusOr<std::string> GroupMetadata() override { return me_.Encode(); }
  absl::Status Commit(const GroupOffsets& offsets) override {
    if (!log_.groups_.MayCommit(me_.group, me_.member, me_.generation))
      return absl::UnavailableError("of a former generation");
    return inner().Commit(offsets);
  }

 private:
  void Join() {
    me_.member =
        log_.groups_.Join(me_.group, options_.group_instance_id, log_.PartitionCount(topic_));
    me_.generation = 0;
  }

  void GiveBack(bool lost) {
    const std::vector<TopicPartition> mine = inner().Assignment();
    for (const TopicPartition& partition : mine) listener_->OnPartitionRevoked(partition, lost);
    EROICA_CHECK(inner().Assign({}).ok());
    paused_.clear();
    me_.generation = 0;
  }

  absl::Status Take() {
    const uint64_t generation = log_.groups_.generation(me_.group);
    if (me_.generation == generation) return absl::OkStatus();
    me_.generation = generation;
    const absl::StatusOr<GroupOffsets> committed = log_.admin().DescribeGroup(me_.group, topic_);
    if (!committed.ok()) return committed.status();
    std::map<TopicPartition, int64_t> starts;
    for (const int32_t number : log_.groups_.Partitions(me_.group, me_.member)) {
      const TopicPartition partition{topic_, number};
      const std::optional<int64_t> start = listener_->OnPartitionAssigned(partition);
      const auto group = committed->find(partition);
      starts[partition] = start ? *start : group != committed->end() ? group->second.next : 0;
    }
    return inner().Assign(starts);
  }

  // Records of some partitions come later than those of others.
  absl::Status PauseSome() {
    const bool delayed = TakeOne(&log_.polls_delayed);
    for (const TopicPartition& partition : inner().Assignment()) {
      const bool waits = paused_.contains(partition) || (delayed && log_.Choose(2) == 0);
      absl::Status status = waits ? inner().Pause(partition) : inner().Resume(partition);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  SimulatedLog& log_;
  const ConsumerOptions options_;
  GroupMember me_;
  std::string topic_;
  RebalanceListener* listener_ = nullptr;
  std::set<TopicPartition> paused_;  // by our owner
};

// Holds what was appended back until the flush, as a client's queue does.
class SimulatedLog::Producer final : public LogProducer {
 public:
  Producer(SimulatedLog& log, std::unique_ptr<LogProducer> inner)
      : log_(log), inner_(std::move(inner)) {}
  ~Producer() override { LoseQueue(); }

  absl::Status Append(ProducerRecord record) override {
    log_.Called();
    if (TakeOne(&log_.appends_refused)) return absl::ResourceExhaustedError("queue full");
    if (TakeOne(&log_.appends_lost)) {
      LoseQueue();
      return absl::UnavailableError("records are lost");
    }
    ++log_.ledger_.topics[record.topic].handed_over;
    queue_.push_back(std::move(record));
    return absl::OkStatus();
  }

  absl::Status Flush(milliseconds) override {
    log_.Called();
    if (TakeOne(&log_.flushes_timed_out)) return absl::DeadlineExceededError("still on its way");
    if (TakeOne(&log_.flushes_lost)) {
      LoseQueue();
      return absl::UnavailableError("messages timed out");
    }
    for (ProducerRecord& record : queue_) Write(std::move(record));
    queue_.clear();
    return absl::OkStatus();
  }

 private:
  void Write(ProducerRecord record) {
    ++log_.ledger_.topics[record.topic].written;
    EROICA_CHECK(inner_->Append(std::move(record)).ok());
  }

  void LoseQueue() {
    std::set<TopicPartition> cut;
    for (ProducerRecord& record : queue_) {
      const TopicPartition partition{
          record.topic, record.partition.value_or(
                            PartitionForKey(record.key, log_.PartitionCount(record.topic)))};
      if (log_.Choose(3) == 0) cut.insert(partition);
      if (cut.contains(partition)) {
        ++log_.ledger_.topics[record.topic].lost;
      } else {
        Write(std::move(record));
      }
    }
    queue_.clear();
  }

  SimulatedLog& log_;
  std::unique_ptr<LogProducer> inner_;
  std::deque<ProducerRecord> queue_;
};

class SimulatedLog::TransactionalProducer final : public LogProducer {
 public:
  TransactionalProducer(SimulatedLog& log, std::unique_ptr<LogProducer> inner)
      : log_(log), inner_(std::move(inner)) {}
  ~TransactionalProducer() override { End(&Ledger::Account::lost); }

  absl::Status BeginTransaction() override {
    if (void_) return absl::AbortedError("the transaction is void");
    return inner_->BeginTransaction();
  }
  absl::Status Append(ProducerRecord record) override {
    if (void_) return absl::AbortedError("the transaction is void");
    if (TakeOne(&log_.appends_refused)) return absl::ResourceExhaustedError("queue full");
    log_.Called();
    const std::string topic = record.topic;
    if (absl::Status status = inner_->Append(std::move(record)); !status.ok()) return status;
    ++log_.ledger_.topics[topic].handed_over;
    ++open_[topic];
    return absl::OkStatus();
  }
  absl::Status Flush(milliseconds timeout) override { return inner_->Flush(timeout); }

  absl::Status CommitTransaction(const Consumed& consumed, milliseconds timeout) override {
    log_.Called();
    if (std::exchange(unheard_, false)) return absl::OkStatus();
    if (TakeOne(&log_.commits_timed_out)) return absl::DeadlineExceededError("no answer yet");
    const GroupMember member = GroupMember::Decode(consumed.group_metadata);
    void_ = void_ || TakeOne(&log_.commits_void) ||
            !log_.groups_.MayCommit(member.group, member.member, member.generation);
    if (void_) return absl::AbortedError("the transaction is void");
    absl::Status status = inner_->CommitTransaction({member.group, consumed.offsets}, timeout);
    void_ = !status.ok();
    if (!status.ok()) return status;
    End(&Ledger::Account::written);
    unheard_ = TakeOne(&log_.commits_unheard);
    return unheard_ ? absl::DeadlineExceededError("no answer") : absl::OkStatus();
  }

 private:
  void End(uint64_t Ledger::Account::*what) {
    for (const auto& [topic, count] : open_) log_.ledger_.topics[topic].*what += count;
    open_.clear();
  }

  SimulatedLog& log_;
  std::unique_ptr<LogProducer> inner_;
  std::map<std::string, uint64_t> open_;  // records of the open transaction, by topic
  bool void_ = false;
  bool unheard_ = false;
};

SimulatedLog::SimulatedLog(MemoryLog& log, GroupCoordinator& groups, Ledger& ledger, uint64_t seed)
    : log_(log), groups_(groups), ledger_(ledger), random_(seed) {}

void SimulatedLog::Called() {
  if (calls_to_pause > 0 && --calls_to_pause == 0 && on_pause) on_pause();
}

int32_t SimulatedLog::PartitionCount(const std::string& topic) {
  return log_.admin().DescribeTopic(topic)->partitions;
}

absl::StatusOr<std::unique_ptr<LogConsumer>> SimulatedLog::NewConsumer(
    const ConsumerOptions& options) {
  absl::StatusOr<std::unique_ptr<LogConsumer>> inner = log_.NewConsumer(options);
  if (!inner.ok()) return inner.status();
  return std::make_unique<Consumer>(*this, options, *std::move(inner));
}

absl::StatusOr<std::unique_ptr<LogProducer>> SimulatedLog::NewProducer() {
  absl::StatusOr<std::unique_ptr<LogProducer>> inner = log_.NewProducer();
  if (!inner.ok()) return inner.status();
  return std::make_unique<Producer>(*this, *std::move(inner));
}

absl::StatusOr<std::unique_ptr<LogProducer>> SimulatedLog::NewTransactionalProducer(
    const std::string& transactional_id) {
  absl::StatusOr<std::unique_ptr<LogProducer>> inner =
      log_.NewTransactionalProducer(transactional_id);
  if (!inner.ok()) return inner.status();
  return std::make_unique<TransactionalProducer>(*this, *std::move(inner));
}

}  // namespace eroica::testing
