#include "stream_ops/kafka/kafka_producer.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <array>
#include <optional>
#include <utility>

#include "stream_ops/kafka/kafka_error.h"
#include "stream_ops/kafka/kafka_group_offsets.h"

namespace eroica {

namespace {

rd_kafka_vu_t Argument(rd_kafka_vtype_t type) {
  rd_kafka_vu_t argument{};
  argument.vtype = type;
  return argument;
}

rd_kafka_vu_t Memory(rd_kafka_vtype_t type, const std::string& bytes) {
  rd_kafka_vu_t argument = Argument(type);
  argument.u.mem = {const_cast<char*>(bytes.data()),
                    bytes.size()};  // copied (F_COPY), never written to
  return argument;
}

// Around the records of a request, at most; message.max.bytes is at least 1,000.
constexpr size_t kBytesOfBatch = 128;
// After so long the broker aborts a transaction whose producer has died: until then its topics are
// not read on.
constexpr std::chrono::milliseconds kTransactionTimeout{10'000};
constexpr std::chrono::milliseconds kAbortTimeout{2'000};

KafkaHeaders MakeHeaders(const Headers& headers) {
  if (headers.empty()) return nullptr;
  KafkaHeaders made(rd_kafka_headers_new(headers.size()));
  for (const auto& [name, value] : headers) {
    rd_kafka_header_add(made.get(), name.data(), static_cast<ssize_t>(name.size()), value.data(),
                        static_cast<ssize_t>(value.size()));
  }
  return made;
}

}  // namespace

absl::StatusOr<std::unique_ptr<KafkaProducer>> KafkaProducer::Make(
    const KafkaOptions& options, const std::string& transactional_id) {
  KafkaProperties properties;
  if (!transactional_id.empty()) {
    properties = {{"transactional.id", transactional_id},
                  {"transaction.timeout.ms", std::to_string(kTransactionTimeout.count())},
                  {"message.timeout.ms", std::to_string(kTransactionTimeout.count())},
                  {"retry.backoff.ms", "10"}};  // a commit is asked for several times over
  }
  std::unique_ptr<KafkaProducer> producer(new KafkaProducer(options, transactional_id));
  absl::StatusOr<KafkaHandle> handle =
      MakeKafkaHandle(options, KafkaRole::kProducer, properties, producer.get());
  if (!handle.ok()) return handle.status();
  producer->handle_ = *std::move(handle);
  producer->record_bytes_max_ =
      static_cast<size_t>(KafkaNumber(producer->handle_.get(), "message.max.bytes")) -
      kBytesOfBatch;
  if (!transactional_id.empty()) {
    if (absl::Status status = producer->InitTransactions(options.request_timeout); !status.ok())
      return status;
  }
  return producer;
}

KafkaProducer::~KafkaProducer() {
  if (handle_ == nullptr) return;
  if (in_transaction_ && !down()) {
    // Else readers of its topics wait for the transaction's timeout.
    rd_kafka_purge(handle_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    const KafkaError ignored(
        rd_kafka_abort_transaction(handle_.get(), ToKafkaTimeout(kAbortTimeout)));
  }
  rd_kafka_poll(handle_.get(), 0);
  const int lost = rd_kafka_outq_len(handle_.get());
  if (lost > 0)
    spdlog::warn("kafka: a producer was closed before its records were flushed lost={}", lost);
  rd_kafka_purge(handle_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
}

// Hears what librdkafka has to say, too: a producer that has nothing to send is asked nothing else.
ClientMeasures KafkaProducer::Measure() const {
  rd_kafka_poll(handle_.get(), 0);
  return statistics().client;
}

absl::Status KafkaProducer::Append(ProducerRecord record) {
  rd_kafka_poll(handle_.get(), 0);
  if (absl::Status status = TakeFailure(); !status.ok()) return Void(status);
  if (down() && !ever_delivered_.load(std::memory_order_relaxed) &&
      !KafkaAnswers(handle_.get(), std::chrono::milliseconds(0), *this)) {
    return DownStatus();
  }
  KafkaHeaders headers = MakeHeaders(record.headers);
  std::array<rd_kafka_vu_t, 7> arguments;
  size_t count = 0;
  rd_kafka_vu_t topic = Argument(RD_KAFKA_VTYPE_TOPIC);
  topic.u.cstr = record.topic.c_str();
  arguments[count++] = topic;
  arguments[count++] = Memory(RD_KAFKA_VTYPE_KEY, record.key);
  arguments[count++] = record.value.empty() ? Argument(RD_KAFKA_VTYPE_VALUE)
                                            : Memory(RD_KAFKA_VTYPE_VALUE, record.value);
  rd_kafka_vu_t flags = Argument(RD_KAFKA_VTYPE_MSGFLAGS);
  flags.u.i = RD_KAFKA_MSG_F_COPY;
  arguments[count++] = flags;
  rd_kafka_vu_t partition = Argument(RD_KAFKA_VTYPE_PARTITION);
  partition.u.i32 = record.partition.value_or(RD_KAFKA_PARTITION_UA);
  arguments[count++] = partition;
  rd_kafka_vu_t timestamp = Argument(RD_KAFKA_VTYPE_TIMESTAMP);
  timestamp.u.i64 = record.timestamp_ms;
  arguments[count++] = timestamp;
  if (headers != nullptr) {
    rd_kafka_vu_t argument = Argument(RD_KAFKA_VTYPE_HEADERS);
    argument.u.headers = headers.get();
    arguments[count++] = argument;
  }
  const KafkaError error(rd_kafka_produceva(handle_.get(), arguments.data(), count));
  if (error == nullptr) {
    static_cast<void>(headers.release());  // the message's now
    return absl::OkStatus();
  }
  return Void(KafkaStatus(rd_kafka_error_code(error.get()),
                          fmt::format("append to {}", record.topic),
                          rd_kafka_error_string(error.get())));
}

// Within a transaction, whatever the producer cannot go on from makes the transaction void.
absl::Status KafkaProducer::Void(const absl::Status& status) const {
  if (transactional_id_.empty() || status.code() == absl::StatusCode::kResourceExhausted ||
      status.code() == absl::StatusCode::kInvalidArgument)
    return status;
  return absl::AbortedError(status.message());
}

void KafkaProducer::OnDelivery(const rd_kafka_message_t& message) {
  if (message.err == RD_KAFKA_RESP_ERR_NO_ERROR) {
    ever_delivered_.store(true, std::memory_order_relaxed);
    NoteAnswer();
    return;
  }
  const std::optional<DropReason> refusal = KafkaRefusal(message.err);
  const MutexLock lock(mutex_);
  if (refusal) ++refused_[*refusal];
  const bool first = failed_.fetch_add(1) == 0;
  if (!first && (refusal || first_failure_.code() != absl::StatusCode::kInvalidArgument)) return;
  // Not rd_kafka_message_errstr: it takes the payload of a message for its text, which is right
  // for consumers only.
  absl::Status failure =
      KafkaStatus(message.err, fmt::format("deliver to {}", rd_kafka_topic_name(message.rkt)),
                  rd_kafka_err2str(message.err));
  // kInvalidArgument says that nothing else was lost than what was refused.
  if (!refusal && failure.code() == absl::StatusCode::kInvalidArgument)
    failure = absl::FailedPreconditionError(failure.message());
  first_failure_ = std::move(failure);
}

std::map<DropReason, uint64_t> KafkaProducer::TakeRefused() {
  const MutexLock lock(mutex_);
  return std::exchange(refused_, {});
}

// What deliveries have failed since this was last asked.
absl::Status KafkaProducer::TakeFailure() {
  if (absl::Status status = TakeThrown(); !status.ok()) return status;
  if (failed_.load() == 0) return absl::OkStatus();
  const MutexLock lock(mutex_);
  const uint64_t failed = failed_.exchange(0);
  if (failed == 0) return absl::OkStatus();
  return absl::Status(first_failure_.code(),
                      fmt::format("{} records are lost, the first: {}", failed,
                                  std::string(first_failure_.message())));
}

absl::Status KafkaProducer::Flush(std::chrono::milliseconds timeout) {
  const rd_kafka_resp_err_t error = rd_kafka_flush(handle_.get(), ToKafkaTimeout(timeout));
  if (absl::Status status = TakeFailure(); !status.ok()) return Void(status);
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return absl::OkStatus();
  if (down()) return DownStatus();
  if (error == RD_KAFKA_RESP_ERR__TIMED_OUT) {
    return absl::DeadlineExceededError(
        fmt::format("{} records are not acknowledged after {} ms: flush again",
                    rd_kafka_outq_len(handle_.get()), timeout.count()));
  }
  return KafkaStatus(error, "flush");
}

// What came of one of the transaction's own calls.
absl::Status KafkaProducer::TransactionStatus(const rd_kafka_error_t* error,
                                              std::string_view doing) const {
  if (error == nullptr) return absl::OkStatus();
  const std::string about = fmt::format("{} as {}", doing, transactional_id_);
  const absl::Status status =
      KafkaStatus(rd_kafka_error_code(error), about, rd_kafka_error_string(error));
  if (rd_kafka_error_is_retriable(error) != 0) return absl::UnavailableError(status.message());
  if (status.code() == absl::StatusCode::kPermissionDenied) return status;
  return absl::AbortedError(status.message());
}

absl::Status KafkaProducer::InitTransactions(std::chrono::milliseconds timeout) {
  const KafkaError error(rd_kafka_init_transactions(handle_.get(), ToKafkaTimeout(timeout)));
  if (error == nullptr) return absl::OkStatus();
  if (down()) return DownStatus();
  const absl::Status status = TransactionStatus(error.get(), "begin to write transactions");
  // The id's last transaction may still be on its way to its end.
  return status.code() == absl::StatusCode::kAborted ? absl::UnavailableError(status.message())
                                                     : status;
}

absl::Status KafkaProducer::BeginTransaction() {
  const KafkaError error(rd_kafka_begin_transaction(handle_.get()));
  in_transaction_ = error == nullptr;
  offsets_sent_ = false;
  return TransactionStatus(error.get(), "begin a transaction");
}

absl::Status KafkaProducer::CommitTransaction(const Consumed& consumed,
                                              std::chrono::milliseconds timeout) {
  if (absl::Status status = Flush(timeout); !status.ok()) return status;
  if (!offsets_sent_) {
    if (absl::Status status = SendOffsets(consumed, timeout); !status.ok()) return status;
    offsets_sent_ = true;
  }
  const KafkaError error(rd_kafka_commit_transaction(handle_.get(), ToKafkaTimeout(timeout)));
  absl::Status status = TransactionStatus(error.get(), "commit a transaction");
  if (status.ok()) in_transaction_ = false;
  return status;
}

absl::Status KafkaProducer::SendOffsets(const Consumed& consumed,
                                        std::chrono::milliseconds timeout) {
  if (consumed.group_metadata.empty() || consumed.offsets.empty()) return absl::OkStatus();
  rd_kafka_consumer_group_metadata_t* raw = nullptr;
  const KafkaError unreadable(rd_kafka_consumer_group_metadata_read(
      &raw, consumed.group_metadata.data(), consumed.group_metadata.size()));
  const KafkaGroupMetadata group(raw);
  if (unreadable != nullptr) return absl::InternalError(rd_kafka_error_string(unreadable.get()));
  const KafkaPartitionList offsets = MakeGroupOffsets(consumed.offsets);
  const KafkaError error(rd_kafka_send_offsets_to_transaction(
      handle_.get(), offsets.get(), group.get(), ToKafkaTimeout(timeout)));
  return TransactionStatus(error.get(), "add what was read to a transaction");
}

}  // namespace eroica
