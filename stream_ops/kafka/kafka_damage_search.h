// Where a record set that librdkafka cannot read ends. librdkafka says where such a set begins, not
// where it ends, and stays in front of it for ever: the first offset behind it that can be read is
// searched for, by steps that double and then by halves, with a client of its own, so that the
// consumer's other partitions go on meanwhile. Included only by the .cc files of this folder. One
// thread.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stream_ops/kafka/kafka_client.h"
#include "stream_ops/log/log.h"

namespace eroica {

class KafkaDamageSearch {
 public:
  // more: the properties of the consumer whose partitions are searched, beyond the options.
  KafkaDamageSearch(KafkaOptions options, KafkaProperties more);
  ~KafkaDamageSearch();

  // The record at this offset cannot be read, and why. Nothing where the partition is searched
  // already. silent: there was no error, only nothing came. Then the range counts as damaged only
  // where something behind it can be read, and nothing comes of it at a last, patient look.
  void Begin(const TopicPartition& partition, int64_t offset, std::string reason,
             bool silent = false);
  void Forget(const TopicPartition& partition);
  void Clear();
  bool empty() const { return searches_.empty(); }
  // Where the search of the partition began.
  std::optional<int64_t> BeginOf(const TopicPartition& partition) const;
  // A record has come of the partition: a silent search was for nothing.
  void Hear(const TopicPartition& partition);

  // Goes on with every search, without waiting, and answers with those that have come to their
  // end. A range that is empty: its first record can be read after all; of a silent search that is
  // no news, and left out.
  std::vector<DamagedRange> Step();

 private:
  using Clock = std::chrono::steady_clock;
  class Client;
  struct Search {
    int64_t begin = 0;
    std::string reason;
    bool silent = false;
    std::optional<int64_t> end;  // of a silent one, while its begin is looked at for the last time
    int64_t damaged = -1;        // the largest offset that is known to be damaged
    std::optional<int64_t> readable;  // the smallest one that can be read
    int64_t stride = 1;
    int64_t at = 0;  // what is looked at
    KafkaTopicHandle topic;
    bool started = false;
    Clock::time_point since;
  };

  absl::Status Connect();
  std::optional<DamagedRange> StepOne(const TopicPartition& partition, Search* search);
  std::optional<bool> Look(const TopicPartition& partition, Search* search);
  std::optional<int64_t> HighWatermark(const TopicPartition& partition);
  void Stop(const TopicPartition& partition, Search* search);
  std::optional<int64_t> Verified(Search* search, int64_t end, bool seen) const;
  std::optional<int64_t> EndOf(const TopicPartition& partition, Search* search, bool readable);

  const KafkaOptions options_;
  const KafkaProperties more_;
  std::unique_ptr<Client> client_;  // from the first search on
  std::map<TopicPartition, Search> searches_;
};

}  // namespace eroica
