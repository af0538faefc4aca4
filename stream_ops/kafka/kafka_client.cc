#include "stream_ops/kafka/kafka_client.h"

#include <fmt/format.h>
#include <openssl/x509_vfy.h>
#include <spdlog/spdlog.h>
#include <syslog.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <utility>

#include "schemas/check.h"
#include "stream_ops/kafka/kafka_error.h"

namespace eroica {

namespace {

// How the log's contract is kept; to change one of these would break it.
constexpr std::array kReservedProperties{
    "bootstrap.servers", "metadata.broker.list", "group.id", "group.instance.id",
    "enable.auto.commit", "enable.auto.offset.store", "enable.partition.eof", "auto.offset.reset",
    "partitioner", "transactional.id", "isolation.level",
    // After a checksum that is wrong librdkafka reads on in the middle of the set, and may end the
    // process (2.0.2, and open in 2026).
    "check.crcs"};

KafkaProperties DefaultProperties(KafkaRole role) {
  KafkaProperties properties{
      {"client.id", "eroica"},
      {"socket.nagle.disable", "true"},
      {"socket.keepalive.enable", "true"},
      {"socket.connection.setup.timeout.ms", "5000"},
      {"reconnect.backoff.ms", "50"},
      {"reconnect.backoff.max.ms", "2000"},
      {"log.connection.close", "false"},
  };
  if (role == KafkaRole::kConsumer) {
    properties.insert(
        {{"enable.auto.commit", "false"},
         {"enable.auto.offset.store", "false"},
         {"enable.partition.eof",
          "true"},  // tells the end of a topic that ends in transaction markers
         {"auto.offset.reset",
          "error"},  // we say where to start; what is out of range is told, not skipped in silence
         {"isolation.level", "read_committed"},
         {"fetch.wait.max.ms", "50"},
         // A node that dies is missed for so long. Not cooperative-sticky: after a session that
         // timed out librdkafka 2.0.2 ends the process in it (an assertion of its sticky assignor).
         {"session.timeout.ms", "10000"},
         // A topic that was made anew is seen after so long.
         {"topic.metadata.refresh.interval.ms", "10000"},
         // A partition whose queue is full waits a whole second before the next fetch: let only the
         // bytes fill it.
         {"queued.min.messages", "1000000"},
         {"queued.max.messages.kbytes", "131072"}});
  }
  if (role == KafkaRole::kProducer) {
    properties.insert({{"partitioner", "murmur2"},
                       {"compression.codec", "lz4"},
                       {"linger.ms", "5"},
                       {"batch.size", "1000000"},
                       {"acks", "all"},
                       {"enable.idempotence", "true"},
                       {"queue.buffering.max.messages", "1000000"},
                       {"queue.buffering.max.kbytes", "262144"},
                       {"topic.metadata.propagation.max.ms",
                        "3000"}});  // a topic that does not exist is told after this
  }
  return properties;
}

absl::Status SetProperty(rd_kafka_conf_t* conf, const std::string& name, const std::string& value) {
  char reason[512] = "";
  const rd_kafka_conf_res_t result =
      rd_kafka_conf_set(conf, name.c_str(), value.c_str(), reason, sizeof(reason));
  if (result == RD_KAFKA_CONF_OK) return absl::OkStatus();
  if (result == RD_KAFKA_CONF_UNKNOWN) {
    return absl::InvalidArgumentError(
        fmt::format("librdkafka {} knows no property '{}': see its CONFIGURATION.md for the names",
                    rd_kafka_version_str(), name));
  }
  if (IsSecretKafkaProperty(name))
    return absl::InvalidArgumentError(
        fmt::format("the value of Kafka property '{}' is refused (it is not shown)", name));
  return absl::InvalidArgumentError(
      fmt::format("Kafka property '{}' = '{}' is refused: {}", name, value, reason));
}

int64_t NumberOf(const KafkaProperties& properties, const std::string& name, int64_t otherwise) {
  const auto property = properties.find(name);
  if (property == properties.end()) return otherwise;
  int64_t number = otherwise;
  const char* const end = property->second.data() + property->second.size();
  std::from_chars(property->second.data(), end, number);  // librdkafka refuses what is no number
  return number;
}

// librdkafka refuses a consumer whose three sizes do not grow in this order, and the smallest says
// nothing to a consumer: it is how large a producer's requests may be.
void FitFetchSizes(KafkaProperties* properties) {
  constexpr int64_t kFetchDefault = 52'428'800;
  constexpr int64_t kReceiveDefault = 100'000'000;
  constexpr int64_t kMessageDefault = 1'000'000;
  constexpr int64_t kMessageMin = 1'000;
  constexpr int64_t kFraming = 512;
  const int64_t fetch =
      std::max(kMessageMin, NumberOf(*properties, "fetch.max.bytes", kFetchDefault));
  (*properties)["message.max.bytes"] = std::to_string(std::min(fetch, kMessageDefault));
  if (!properties->contains("fetch.max.bytes")) return;
  (*properties)["fetch.max.bytes"] = std::to_string(fetch);
  const int64_t receive = NumberOf(*properties, "receive.message.max.bytes", kReceiveDefault);
  (*properties)["receive.message.max.bytes"] = std::to_string(std::max(receive, fetch + kFraming));
}

constexpr std::chrono::milliseconds kFirstStep{1'000};

KafkaEvents& EventsOf(void* opaque) { return *static_cast<KafkaEvents*>(opaque); }

// A callback of librdkafka, which is C: nothing that ours throws may reach it.
template <typename Work>
void InCallback(void* opaque, Work work) {
  RunAtBoundary(work, [opaque](const Thrown& thrown) { EventsOf(opaque).NoteThrown(thrown); });
}

// librdkafka counts in syslog's levels.
void LogLine(const rd_kafka_t* handle, int level, const char* facility, const char* text) {
  const std::string_view about = facility;
  if (about == "CONFWARN")
    return;  // one set of properties serves consumers and producers; each ignores the other's
  const bool is_connection = about == "FAIL" || about == "ERROR";
  const bool is_held_back = is_connection && handle != nullptr &&
                            rd_kafka_opaque(handle) != nullptr &&
                            !EventsOf(rd_kafka_opaque(handle)).TakeLogTurn();
  const auto severity = is_held_back           ? spdlog::level::debug
                        : level <= LOG_ERR     ? spdlog::level::warn
                        : level <= LOG_WARNING ? spdlog::level::info
                                               : spdlog::level::debug;
  // On librdkafka's threads. A line for which there is no memory is lost.
  RunAtBoundary([&] { spdlog::log(severity, "kafka: {} {}", facility, text); },
                [](const Thrown&) {});
}

// What OpenSSL says of a broker's certificate, for people. Empty: nothing to add.
std::string_view CertificateProblem(int x509_error) {
  switch (x509_error) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: return "the certificate is for another host";
    case X509_V_ERR_CERT_HAS_EXPIRED: return "the certificate has expired";
    case X509_V_ERR_CERT_NOT_YET_VALID: return "the certificate is not valid yet";
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return "no certificate authority that is known here has signed the certificate";
    default: return "";
  }
}

}  // namespace

bool IsSecretKafkaProperty(std::string_view name) {
  constexpr std::array kMarks{"password", "secret",      "key.pem", "ssl.key",
                              "token",    "oauthbearer", "jaas",    "keystore"};
  return std::any_of(kMarks.begin(), kMarks.end(), [&](std::string_view mark) {
    return name.find(mark) != std::string_view::npos;
  });
}

// Before 2.6.1 librdkafka makes a nonce that Kafka 4 refuses, and the broker then speaks of wrong
// credentials.
std::string ScramLimit() {
  constexpr int kFixedIn = 0x020601ff;
  if (rd_kafka_version() >= kFixedIn) return "";
  return fmt::format(
      "librdkafka {} cannot log in to Kafka 4 by SCRAM (fixed in 2.6.1): use PLAIN over TLS, "
      "certificates, or a newer librdkafka",
      rd_kafka_version_str());
}

absl::StatusOr<KafkaConf> MakeKafkaConf(const KafkaOptions& options, KafkaRole role,
                                        const KafkaProperties& more) {
  if (options.bootstrap_servers.empty())
    return absl::InvalidArgumentError(
        "no bootstrap servers: name at least one broker as host:port");
  KafkaProperties properties = DefaultProperties(role);
  properties["bootstrap.servers"] = options.bootstrap_servers;
  for (const auto& [name, value] : options.properties) properties[name] = value;
  for (const auto& [name, value] : more) properties[name] = value;
  if (role != KafkaRole::kProducer) FitFetchSizes(&properties);
  KafkaConf conf(rd_kafka_conf_new());
  for (const auto& [name, value] : properties) {
    if (absl::Status status = SetProperty(conf.get(), name, value); !status.ok()) return status;
  }
  return conf;
}

absl::Status CheckKafkaProperties(const KafkaProperties& properties) {
  for (const auto& [name, value] : properties) {
    if (std::find(kReservedProperties.begin(), kReservedProperties.end(), name) !=
        kReservedProperties.end()) {
      return absl::InvalidArgumentError(
          fmt::format("Kafka property '{}' is set by eroica itself: remove it", name));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<KafkaHandle> MakeKafkaHandle(const KafkaOptions& options, KafkaRole role,
                                            const KafkaProperties& more, KafkaEvents* events) {
  absl::StatusOr<KafkaConf> conf = MakeKafkaConf(options, role, more);
  if (!conf.ok()) return conf.status();
  rd_kafka_conf_set_opaque(conf->get(), events);
  rd_kafka_conf_set_log_cb(conf->get(), LogLine);
  rd_kafka_conf_set_error_cb(
      conf->get(), [](rd_kafka_t*, int error, const char* reason, void* opaque) {
        InCallback(opaque, [&] {
          EventsOf(opaque).NoteError(static_cast<rd_kafka_resp_err_t>(error), reason);
        });
      });
  rd_kafka_conf_set_stats_cb(conf->get(), [](rd_kafka_t*, char* json, size_t size, void* opaque) {
    InCallback(opaque, [&] { EventsOf(opaque).NoteStatistics({json, size}); });
    return 0;  // librdkafka frees the text
  });
  // Decides nothing: only here one hears why a certificate is not believed.
  rd_kafka_conf_set_ssl_cert_verify_cb(
      conf->get(), [](rd_kafka_t*, const char*, int32_t, int* x509_error, int, const char*, size_t,
                      char* why, size_t why_bytes, void* opaque) {
        if (*x509_error == X509_V_OK) return 1;
        InCallback(opaque, [&] {
          EventsOf(opaque).NoteBadCertificate(*x509_error);
          const std::string problem(CertificateProblem(*x509_error));
          std::snprintf(why, why_bytes, "%s", problem.c_str());
        });
        return 0;
      });
  if (role == KafkaRole::kConsumer) {
    rd_kafka_conf_set_rebalance_cb(
        conf->get(), [](rd_kafka_t* handle, rd_kafka_resp_err_t what,
                        rd_kafka_topic_partition_list_t* partitions, void* opaque) {
          const auto answer = [&] { EventsOf(opaque).OnRebalance(what, partitions); };
          RunAtBoundary(answer, [&](const Thrown& thrown) {
            // librdkafka waits for an answer; the consumer ends at its next poll.
            rd_kafka_assign(handle, nullptr);
            EventsOf(opaque).NoteThrown(thrown);
          });
        });
  }
  if (role == KafkaRole::kProducer) {
    rd_kafka_conf_set_dr_msg_cb(
        conf->get(), [](rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
          InCallback(opaque, [&] { EventsOf(opaque).OnDelivery(*message); });
        });
  }
  char reason[512] = "";
  // The admin client is a consumer to librdkafka: a producer that looks for a topic may create it.
  const rd_kafka_type_t type = role == KafkaRole::kProducer ? RD_KAFKA_PRODUCER : RD_KAFKA_CONSUMER;
  KafkaHandle handle(rd_kafka_new(type, conf->get(), reason, sizeof(reason)));
  if (handle == nullptr)
    return absl::InvalidArgumentError(
        fmt::format("Kafka's settings do not fit together: {}{}", reason,
                    std::string_view(reason).starts_with("ssl.")
                        ? ": is the file there, is it PEM, and is its password right?"
                        : ""));
  static_cast<void>(conf->release());  // the handle's now
  return handle;
}

void KafkaEvents::NoteError(rd_kafka_resp_err_t error, const char* text) {
  const char* const reason = text != nullptr ? text : rd_kafka_err2str(error);
  spdlog::debug("kafka: error={} reason={}", rd_kafka_err2name(error), reason);
  if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
    down_.store(true, std::memory_order_relaxed);
    return;
  }
  const MutexLock lock(mutex_);
  last_error_ = error;
  last_reason_ = reason;
  // A log-in that is refused is refused again; nobody needs to wait for all brokers to say so.
  if (IsRefusedConnection(error, reason)) down_.store(true, std::memory_order_relaxed);
}

void KafkaEvents::NoteBadCertificate(int x509_error) {
  const MutexLock lock(mutex_);
  x509_error_ = x509_error;
}

void KafkaEvents::NoteThrown(const Thrown& thrown) {
  {
    const MutexLock lock(mutex_);
    thrown_ = thrown;
  }
  spdlog::error("kafka: an exception ended a callback error=\"{}\"", thrown.text());
}

absl::Status KafkaEvents::TakeThrown() {
  const MutexLock lock(mutex_);
  const std::optional<Thrown> thrown = std::exchange(thrown_, std::nullopt);
  if (!thrown) return absl::OkStatus();
  return absl::InternalError(
      fmt::format("an exception ended a callback of librdkafka's: {}", thrown->text()));
}

void KafkaEvents::NoteStatistics(std::string_view json) {
  std::optional<KafkaStatistics> statistics = ParseKafkaStatistics(json);
  if (!statistics) return;
  const MutexLock lock(mutex_);
  statistics_ = *std::move(statistics);
}

KafkaStatistics KafkaEvents::statistics() const {
  const MutexLock lock(mutex_);
  return statistics_;
}

bool KafkaEvents::TakeLogTurn() {
  constexpr int64_t kApartNs = 10'000'000'000;
  const int64_t now_ns = std::chrono::steady_clock::now().time_since_epoch().count();
  int64_t last_ns = log_turn_ns_.load(std::memory_order_relaxed);
  return (last_ns == 0 || now_ns - last_ns >= kApartNs) &&
         log_turn_ns_.compare_exchange_strong(last_ns, now_ns);
}

absl::Status KafkaEvents::DownStatus() const {
  const MutexLock lock(mutex_);
  const std::string doing = fmt::format("reach Kafka at {}", bootstrap_servers_);
  if (!IsRefusedConnection(last_error_, last_reason_))
    return KafkaStatus(RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, doing, last_reason_);
  // A handshake that fails while it is begun is a lost connection to librdkafka, a later one __SSL.
  const rd_kafka_resp_err_t error =
      last_error_ == RD_KAFKA_RESP_ERR__TRANSPORT ? RD_KAFKA_RESP_ERR__SSL : last_error_;
  std::string reason = last_reason_;
  if (IsBadCertificate(reason) && !CertificateProblem(x509_error_).empty())
    reason = fmt::format("{}: {}", CertificateProblem(x509_error_), reason);
  if (reason.find("mechanism SCRAM") != std::string::npos && !ScramLimit().empty())
    reason += "; " + ScramLimit();
  return KafkaStatus(error, doing, reason);
}

absl::StatusOr<KafkaTopicState> DescribeKafkaTopic(rd_kafka_t* handle, const std::string& topic,
                                                   std::chrono::milliseconds timeout,
                                                   KafkaEvents& events) {
  const std::string doing = fmt::format("look up topic {}", topic);
  const KafkaTopicHandle topic_handle(rd_kafka_topic_new(handle, topic.c_str(), nullptr));
  if (topic_handle == nullptr) return KafkaStatus(rd_kafka_last_error(), doing);
  // In steps, so that a cluster of which nobody answers is told long before the timeout.
  const rd_kafka_metadata_t* raw = nullptr;
  rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR__TIMED_OUT;
  for (auto step = kFirstStep; timeout.count() > 0 && raw == nullptr; timeout -= step, step *= 2) {
    error = rd_kafka_metadata(handle, 0, topic_handle.get(), &raw,
                              ToKafkaTimeout(std::min(step, timeout)));
    if (raw == nullptr) rd_kafka_poll(handle, 0);  // hears of brokers that are down
    if (events.down() && raw == nullptr) return events.DownStatus();
  }
  if (raw == nullptr)
    return KafkaErrorCode(error) == absl::StatusCode::kUnavailable ? events.DownStatus()
                                                                   : KafkaStatus(error, doing);
  const KafkaMetadata metadata(raw);
  events.NoteAnswer();
  if (metadata->topic_cnt != 1) return KafkaStatus(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, doing);
  const rd_kafka_metadata_topic& found = metadata->topics[0];
  if (found.err != RD_KAFKA_RESP_ERR_NO_ERROR) return KafkaStatus(found.err, doing);
  KafkaTopicState state{.partitions = found.partition_cnt,
                        .replication_factor = 0,
                        .has_leaders = found.partition_cnt > 0};
  for (int i = 0; i < found.partition_cnt; ++i) {
    if (found.partitions[i].leader < 0) state.has_leaders = false;
    if (found.partitions[i].id == 0)
      state.replication_factor = static_cast<int16_t>(found.partitions[i].replica_cnt);
  }
  return state;
}

bool KafkaAnswers(rd_kafka_t* handle, std::chrono::milliseconds timeout, KafkaEvents& events) {
  const rd_kafka_metadata_t* raw = nullptr;
  if (rd_kafka_metadata(handle, 0, nullptr, &raw, ToKafkaTimeout(timeout)) !=
      RD_KAFKA_RESP_ERR_NO_ERROR)
    return false;
  const KafkaMetadata metadata(raw);
  events.NoteAnswer();
  return true;
}

bool IsCooperative(rd_kafka_t* handle) {
  const char* const protocol = rd_kafka_rebalance_protocol(handle);
  return protocol != nullptr && std::string_view(protocol) == "COOPERATIVE";
}

int64_t KafkaNumber(rd_kafka_t* handle, const char* property) {
  std::array<char, 32> text{};
  size_t size = text.size();
  EROICA_CHECK(rd_kafka_conf_get(rd_kafka_conf(handle), property, text.data(), &size) ==
               RD_KAFKA_CONF_OK);
  int64_t number = 0;
  EROICA_CHECK(std::from_chars(text.data(), text.data() + size - 1, number).ec == std::errc{});
  return number;
}

int ToKafkaTimeout(std::chrono::milliseconds timeout) {
  return static_cast<int>(std::clamp<int64_t>(timeout.count(), 0, 24 * 3'600 * 1'000));
}

}  // namespace eroica
