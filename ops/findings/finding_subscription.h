// Versions of findings for those that do something about each of them once: a member of a consumer
// group that reads its partitions from their beginning, so that it knows what came before, and
// learns which versions the group has handled. What it has handled is committed for the group, in
// Kafka or beside the recording.
//
// One thread. A partition that comes to this member (again) is read anew: its owner forgets what it
// knew of that partition's findings.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schemas/codec.h"
#include "schemas/finding.h"
#include "stream_ops/log/log.h"

namespace eroica {

class FindingSubscription : private RebalanceListener {
 public:
  enum class Past : uint8_t {
    kNews = 0,     // to be handled
    kHandled = 1,  // by this group, before
    kEarlier = 2,  // it was there before the group's first member began
  };
  struct Version {
    Finding finding;
    int32_t partition = 0;
    int64_t offset = 0;
    Past past = Past::kNews;
  };
  struct Batch {
    // In this order: what is known of these partitions is void; these versions; of these partitions
    // all that is kEarlier has been delivered. News of a partition come in later batches than that.
    std::vector<int32_t> forgotten;
    std::vector<Version> versions;
    std::vector<int32_t> begun;
  };

  // log must outlive the subscription.
  static absl::StatusOr<std::unique_ptr<FindingSubscription>> Open(Log& log,
                                                                   const std::string& topic_prefix,
                                                                   const std::string& group);

  // Waits for up to timeout. Versions in the order of each partition; those of replays are left
  // out. kUnavailable, kDeadlineExceeded: it may be tried again; other errors: open another one.
  absl::Status Poll(std::chrono::milliseconds timeout, Batch* batch);
  // Of a partition everything before the offset is handled; what was committed goes only up.
  absl::Status Commit(const std::map<int32_t, int64_t>& offsets);
  // The offset behind what Poll has delivered of a partition that is ours.
  std::map<int32_t, int64_t> Positions() const;

  uint64_t malformed() const { return malformed_; }

 private:
  struct Owned {
    bool known = false;      // what follows has been asked for
    bool has_begun = false;  // announced in Batch::begun, or the group has been here before
    int64_t handled = 0;     // by the group: everything before
    int64_t earlier = 0;     // end of the partition when the group's first member began
    int64_t next = 0;        // behind what was delivered
    int64_t read_to = 0;     // where Poll stood when the partition was assigned
  };

  FindingSubscription(Log& log, std::string topic, std::string group)
      : log_(log), topic_(std::move(topic)), group_(std::move(group)) {}
  std::optional<int64_t> OnPartitionAssigned(const TopicPartition& partition) override;
  void OnPartitionRevoked(const TopicPartition& partition, bool lost) override;
  absl::Status LearnPast(int32_t partition, Owned* owned);
  bool BeginsFirst(const ConsumerRecord& record) const;
  void Take(const ConsumerRecord& record, Batch* batch);

  Log& log_;
  const std::string topic_;
  const std::string group_;
  Decoder decoder_;
  uint64_t malformed_ = 0;
  std::map<int32_t, Owned> owned_;  // by partition
  std::vector<int32_t> forgotten_;
  std::vector<ConsumerRecord> records_;  // polled, not delivered yet
  std::unique_ptr<LogConsumer> consumer_;  // ends first: it calls the listener
};

}  // namespace eroica
