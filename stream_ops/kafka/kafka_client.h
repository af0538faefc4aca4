// What every librdkafka client of ours has: its configuration from our defaults, the user's
// properties and its role; what it says on its own (log lines, connections lost); and whether the
// cluster answers. Included only by the .cc files of this folder.
//
// librdkafka runs threads of its own; they call the log callback, and the one that looks at a
// broker's certificate. All other callbacks run on the thread that polls the handle.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "schemas/mutex.h"
#include "schemas/thread_boundary.h"
#include "stream_ops/kafka/kafka_handles.h"
#include "stream_ops/kafka/kafka_options.h"
#include "stream_ops/kafka/kafka_statistics.h"

namespace eroica {

enum class KafkaRole : uint8_t { kConsumer, kProducer, kAdmin };
using KafkaProperties = std::map<std::string, std::string>;
// Of a client whose statistics nobody asks for. librdkafka keeps what it has to say (statistics,
// errors) until the handle is polled: whoever owns one polls it for as long as it lives.
inline const KafkaProperties::value_type kNoStatistics{"statistics.interval.ms", "0"};

// What librdkafka tells a client. Outlives its handle.
class KafkaEvents {
 public:
  explicit KafkaEvents(std::string bootstrap_servers)
      : bootstrap_servers_(std::move(bootstrap_servers)) {}
  virtual ~KafkaEvents() = default;

  virtual void OnRebalance(rd_kafka_resp_err_t, rd_kafka_topic_partition_list_t*) {}
  virtual void OnDelivery(const rd_kafka_message_t&) {}

  // Whether the cluster answers, as far as this client has noticed. Thread-safe.
  // text: null where librdkafka has none.
  void NoteError(rd_kafka_resp_err_t error, const char* text);
  // x509_error: OpenSSL's, why it does not believe a broker's certificate.
  void NoteBadCertificate(int x509_error);
  void NoteAnswer() { down_.store(false, std::memory_order_relaxed); }
  bool down() const { return down_.load(std::memory_order_relaxed); }
  // Whether a line about a lost connection may be logged: librdkafka has several a second, of which
  // one in ten seconds says as much. Thread-safe.
  bool TakeLogTurn();
  absl::Status DownStatus() const;
  // What librdkafka counts of this client; empty until it has said it once. Thread-safe.
  void NoteStatistics(std::string_view json);
  // A callback threw, which librdkafka, being C, must not see. What it had to note is lost.
  // Thread-safe.
  void NoteThrown(const Thrown& thrown);
  // kInternal where a callback threw since this was last asked. Thread-safe.
  absl::Status TakeThrown();
  KafkaStatistics statistics() const;

 private:
  const std::string bootstrap_servers_;
  std::atomic<bool> down_{false};
  std::atomic<int64_t> log_turn_ns_{0};  // when the last one was taken, on the steady clock
  mutable Mutex mutex_;
  rd_kafka_resp_err_t last_error_ EROICA_GUARDED_BY(mutex_) = RD_KAFKA_RESP_ERR__TRANSPORT;
  std::string last_reason_ EROICA_GUARDED_BY(mutex_);
  int x509_error_ EROICA_GUARDED_BY(mutex_) = 0;
  std::optional<Thrown> thrown_ EROICA_GUARDED_BY(mutex_);
  KafkaStatistics statistics_ EROICA_GUARDED_BY(mutex_);
};

// kInvalidArgument, naming the property: it is unknown, or its value is refused.
// more: what this one client needs, over everything else.
absl::StatusOr<KafkaConf> MakeKafkaConf(const KafkaOptions& options, KafkaRole role,
                                        const KafkaProperties& more);
// Connects to nothing yet: librdkafka does that by itself. events: told of everything from the
// first moment on.
absl::StatusOr<KafkaHandle> MakeKafkaHandle(const KafkaOptions& options, KafkaRole role,
                                            const KafkaProperties& more, KafkaEvents* events);
// kInvalidArgument: one of them is ours to set.
absl::Status CheckKafkaProperties(const KafkaProperties& properties);
// To which brokers this librdkafka cannot log in by SCRAM; empty: to all it can.
std::string ScramLimit();
// A property whose value is never shown.
bool IsSecretKafkaProperty(std::string_view name);

struct KafkaTopicState {
  int32_t partitions = 0;
  int16_t replication_factor = 0;
  bool has_leaders = false;  // every partition has one
};
// Not for a consumer that has started: it would take its events away.
absl::StatusOr<KafkaTopicState> DescribeKafkaTopic(rd_kafka_t* handle, const std::string& topic,
                                                   std::chrono::milliseconds timeout,
                                                   KafkaEvents& events);
// Whether any broker answers within the timeout.
bool KafkaAnswers(rd_kafka_t* handle, std::chrono::milliseconds timeout, KafkaEvents& events);

// Whether the group hands partitions over one by one. False, too, where librdkafka does not say: of
// a client without a group, and of a consumer that is being closed.
bool IsCooperative(rd_kafka_t* handle);
// What librdkafka took for a property that is a number.
int64_t KafkaNumber(rd_kafka_t* handle, const char* property);

// For librdkafka's calls, which count milliseconds in an int.
int ToKafkaTimeout(std::chrono::milliseconds timeout);

}  // namespace eroica
