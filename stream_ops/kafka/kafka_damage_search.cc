#include "stream_ops/kafka/kafka_damage_search.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "stream_ops/kafka/kafka_error.h"

namespace eroica {
namespace {

constexpr std::chrono::milliseconds kAnswerTimeout{500};

}  // namespace

class KafkaDamageSearch::Client final : public KafkaEvents {
 public:
  explicit Client(const KafkaOptions& options) : KafkaEvents(options.bootstrap_servers) {}
  absl::Status Open(const KafkaOptions& options, const KafkaProperties& more) {
    absl::StatusOr<KafkaHandle> handle = MakeKafkaHandle(options, KafkaRole::kConsumer, more, this);
    if (!handle.ok()) return handle.status();
    handle_ = *std::move(handle);
    return absl::OkStatus();
  }
  rd_kafka_t* handle() const { return handle_.get(); }

 private:
  KafkaHandle handle_;
};

KafkaDamageSearch::KafkaDamageSearch(KafkaOptions options, KafkaProperties more)
    : options_(std::move(options)), more_(std::move(more)) {}

KafkaDamageSearch::~KafkaDamageSearch() { Clear(); }

void KafkaDamageSearch::Begin(const TopicPartition& partition, int64_t offset, std::string reason,
                              bool silent) {
  if (searches_.contains(partition)) return;
  Search& search = searches_[partition];
  search.silent = silent;
  search.begin = search.at = offset;
  search.reason = std::move(reason);
}

void KafkaDamageSearch::Forget(const TopicPartition& partition) {
  const auto search = searches_.find(partition);
  if (search == searches_.end()) return;
  Stop(partition, &search->second);
  searches_.erase(search);
}

void KafkaDamageSearch::Hear(const TopicPartition& partition) {
  const auto search = searches_.find(partition);
  if (search != searches_.end() && search->second.silent) Forget(partition);
}

void KafkaDamageSearch::Clear() {
  for (auto& [partition, search] : searches_) Stop(partition, &search);
  searches_.clear();
}

std::optional<int64_t> KafkaDamageSearch::BeginOf(const TopicPartition& partition) const {
  const auto search = searches_.find(partition);
  return search == searches_.end() ? std::nullopt : std::optional(search->second.begin);
}

std::vector<DamagedRange> KafkaDamageSearch::Step() {
  std::vector<DamagedRange> ended;
  if (searches_.empty()) return ended;
  if (const absl::Status status = Connect(); !status.ok()) {
    spdlog::warn("kafka: cannot look at damaged records error=\"{}\"",
                 std::string(status.message()));
    return ended;
  }
  rd_kafka_poll(client_->handle(), 0);
  for (auto search = searches_.begin(); search != searches_.end();) {
    std::optional<DamagedRange> range = StepOne(search->first, &search->second);
    if (!range) {
      ++search;
      continue;
    }
    if (range->begin < range->end || !search->second.silent) ended.push_back(*std::move(range));
    search = searches_.erase(search);
  }
  return ended;
}

absl::Status KafkaDamageSearch::Connect() {
  if (client_ != nullptr) return absl::OkStatus();
  KafkaProperties properties = more_;
  properties.insert_or_assign(kNoStatistics.first, kNoStatistics.second);
  properties["group.id"] = "eroica-reader";  // it is asked for, and never joined
  properties.erase("group.instance.id");
  // Records of open and aborted transactions are as good an answer as others.
  properties["isolation.level"] = "read_uncommitted";
  properties["fetch.error.backoff.ms"] = "10";  // errors are what it looks for
  auto client = std::make_unique<Client>(options_);
  if (absl::Status status = client->Open(options_, properties); !status.ok()) return status;
  client_ = std::move(client);
  return absl::OkStatus();
}

std::optional<DamagedRange> KafkaDamageSearch::StepOne(const TopicPartition& partition,
                                                       Search* search) {
  const std::optional<bool> readable = Look(partition, search);
  if (!readable) return std::nullopt;
  Stop(partition, search);
  const std::optional<int64_t> end = EndOf(partition, search, *readable);
  if (!end) return std::nullopt;
  return DamagedRange{partition, search->begin, *end, search->reason};
}

// Whether the record at the offset can be read; nothing: not known yet.
std::optional<bool> KafkaDamageSearch::Look(const TopicPartition& partition, Search* search) {
  if (search->topic == nullptr)
    search->topic.reset(rd_kafka_topic_new(client_->handle(), partition.topic.c_str(), nullptr));
  if (search->topic == nullptr) return std::nullopt;
  if (!search->started) {
    if (rd_kafka_consume_start(search->topic.get(), partition.partition, search->at) != 0)
      return std::nullopt;
    search->started = true;
    search->since = Clock::now();
  }
  const KafkaMessage message(rd_kafka_consume(search->topic.get(), partition.partition, 0));
  if (message == nullptr) {
    const auto patience = search->end ? options_.patience.last_look : options_.patience.look;
    if (Clock::now() - search->since < patience) return std::nullopt;
    search->since = Clock::now();
    if (!KafkaAnswers(client_->handle(), kAnswerTimeout, *client_)) return std::nullopt;
    return false;
  }
  switch (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF ? KafkaErrorKind::kNone
                                                           : KindOfKafkaError(message->err)) {
    case KafkaErrorKind::kNone:
    case KafkaErrorKind::kPosition: return true;  // retention has removed it: it is in no one's way
    case KafkaErrorKind::kData: break;
    default: return std::nullopt;
  }
  // librdkafka names the first offset of a set, a broker the one that was asked for. A set that
  // begins further on is another one, which is met in its turn.
  const bool is_of_set = message->err < 0;
  if (!is_of_set || message->offset <= search->begin) return false;
  search->at = std::min(search->at, message->offset);
  return true;
}

void KafkaDamageSearch::Stop(const TopicPartition& partition, Search* search) {
  if (std::exchange(search->started, false))
    rd_kafka_consume_stop(search->topic.get(), partition.partition);
}

// As of the latest fetch, else asked for.
std::optional<int64_t> KafkaDamageSearch::HighWatermark(const TopicPartition& partition) {
  int64_t low = 0;
  int64_t high = -1;
  rd_kafka_get_watermark_offsets(client_->handle(), partition.topic.c_str(), partition.partition,
                                 &low, &high);
  if (high >= 0) return high;
  const rd_kafka_resp_err_t error = rd_kafka_query_watermark_offsets(
      client_->handle(), partition.topic.c_str(), partition.partition, &low, &high,
      ToKafkaTimeout(kAnswerTimeout));
  return error == RD_KAFKA_RESP_ERR_NO_ERROR ? std::optional(high) : std::nullopt;
}

// seen: something was read at the end, or there is nothing behind it.
std::optional<int64_t> KafkaDamageSearch::Verified(Search* search, int64_t end, bool seen) const {
  if (!search->silent) return end;
  if (!seen) return search->begin;
  search->end = end;
  search->at = search->begin;
  return std::nullopt;
}

// What was looked at is readable or not: where the damage ends; nothing: what to look at next.
std::optional<int64_t> KafkaDamageSearch::EndOf(const TopicPartition& partition, Search* search,
                                                bool readable) {
  if (readable && search->at == search->begin) return search->begin;
  if (search->end) return search->end;
  if (readable) {
    search->readable = std::max(search->at, search->damaged + 1);
  } else {
    search->damaged = search->at;
  }
  if (!search->readable) {
    const std::optional<int64_t> high = HighWatermark(partition);
    if (!high) return std::nullopt;  // looks at the same offset again
    if (*high <= search->damaged) return Verified(search, search->damaged + 1, false);
    search->at = search->damaged + search->stride;
    search->stride *= 2;
    if (search->at < *high) return std::nullopt;
    if (search->silent) return search->begin;  // nothing can be read: the broker is slow
    search->readable = *high;
  }
  if (*search->readable == search->damaged + 1) return Verified(search, *search->readable, true);
  search->at = search->damaged + (*search->readable - search->damaged) / 2;
  return std::nullopt;
}

}  // namespace eroica
