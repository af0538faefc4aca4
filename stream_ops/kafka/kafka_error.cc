#include "stream_ops/kafka/kafka_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace eroica {

namespace {

using absl::StatusCode;

struct Meaning {
  rd_kafka_resp_err_t error;
  StatusCode code;
};

// What is not here is kInternal.
constexpr Meaning kMeanings[] = {
    {RD_KAFKA_RESP_ERR_NO_ERROR, StatusCode::kOk},
    {RD_KAFKA_RESP_ERR__TRANSPORT, StatusCode::kUnavailable},
    {RD_KAFKA_RESP_ERR__RESOLVE, StatusCode::kUnavailable},
    {RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, StatusCode::kUnavailable},
    {RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, StatusCode::kUnavailable},
    {RD_KAFKA_RESP_ERR__TIMED_OUT, StatusCode::kUnavailable},
    {RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE, StatusCode::kUnavailable},
    {RD_KAFKA_RESP_ERR__WAIT_COORD, StatusCode::kUnavailable},
    {RD_KAFKA_RESP_ERR__WAIT_CACHE, StatusCode::kUnavailable},
    {RD_KAFKA_RESP_ERR__RETRY, StatusCode::kUnavailable},
    {RD_KAFKA_RESP_ERR__IN_PROGRESS, StatusCode::kUnavailable},
    {RD_KAFKA_RESP_ERR__PREV_IN_PROGRESS, StatusCode::kUnavailable},
    {RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, StatusCode::kUnavailable},
    {RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, StatusCode::kUnavailable},
    {RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, StatusCode::kUnavailable},
    {RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE, StatusCode::kUnavailable},
    {RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE, StatusCode::kUnavailable},
    {RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION, StatusCode::kUnavailable},
    {RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS, StatusCode::kUnavailable},
    {RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE, StatusCode::kUnavailable},
    {RD_KAFKA_RESP_ERR_NOT_COORDINATOR, StatusCode::kUnavailable},
    {RD_KAFKA_RESP_ERR_NOT_CONTROLLER, StatusCode::kUnavailable},
    {RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, StatusCode::kUnavailable},
    {RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND, StatusCode::kUnavailable},
    {RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS, StatusCode::kUnavailable},
    {RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR, StatusCode::kUnavailable},
    {RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT, StatusCode::kUnavailable},
    {RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, StatusCode::kNotFound},
    {RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, StatusCode::kNotFound},
    {RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, StatusCode::kNotFound},
    {RD_KAFKA_RESP_ERR__AUTHENTICATION, StatusCode::kPermissionDenied},
    {RD_KAFKA_RESP_ERR__SSL, StatusCode::kPermissionDenied},
    {RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, StatusCode::kPermissionDenied},
    {RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM, StatusCode::kPermissionDenied},
    {RD_KAFKA_RESP_ERR_ILLEGAL_SASL_STATE, StatusCode::kPermissionDenied},
    {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, StatusCode::kPermissionDenied},
    {RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, StatusCode::kPermissionDenied},
    {RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, StatusCode::kPermissionDenied},
    {RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED, StatusCode::kPermissionDenied},
    {RD_KAFKA_RESP_ERR_SECURITY_DISABLED, StatusCode::kPermissionDenied},
    {RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS, StatusCode::kAlreadyExists},
    {RD_KAFKA_RESP_ERR__QUEUE_FULL, StatusCode::kResourceExhausted},
    {RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION, StatusCode::kAborted},
    {RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID, StatusCode::kAborted},
    {RD_KAFKA_RESP_ERR__ASSIGNMENT_LOST, StatusCode::kAborted},
    {RD_KAFKA_RESP_ERR__INVALID_ARG, StatusCode::kInvalidArgument},
    {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, StatusCode::kInvalidArgument},
    {RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE, StatusCode::kInvalidArgument},
    {RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE, StatusCode::kInvalidArgument},
    {RD_KAFKA_RESP_ERR_INVALID_RECORD, StatusCode::kInvalidArgument},
    {RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP, StatusCode::kInvalidArgument},
    {RD_KAFKA_RESP_ERR_INVALID_CONFIG, StatusCode::kInvalidArgument},
    {RD_KAFKA_RESP_ERR_INVALID_PARTITIONS, StatusCode::kInvalidArgument},
    {RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR, StatusCode::kInvalidArgument},
    {RD_KAFKA_RESP_ERR_INVALID_REPLICA_ASSIGNMENT, StatusCode::kInvalidArgument},
    {RD_KAFKA_RESP_ERR_INVALID_GROUP_ID, StatusCode::kInvalidArgument},
    {RD_KAFKA_RESP_ERR_INVALID_REQUEST, StatusCode::kInvalidArgument},
    {RD_KAFKA_RESP_ERR_POLICY_VIOLATION, StatusCode::kInvalidArgument},
    {RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION, StatusCode::kInvalidArgument},
    {RD_KAFKA_RESP_ERR__FATAL, StatusCode::kFailedPrecondition},
    {RD_KAFKA_RESP_ERR__FENCED, StatusCode::kFailedPrecondition},
    {RD_KAFKA_RESP_ERR__STATE, StatusCode::kFailedPrecondition},
    {RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID, StatusCode::kFailedPrecondition},
    {RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, StatusCode::kFailedPrecondition},
};

}  // namespace

absl::StatusCode KafkaErrorCode(rd_kafka_resp_err_t error) {
  const auto* found = std::find_if(std::begin(kMeanings), std::end(kMeanings),
                                   [&](const Meaning& meaning) { return meaning.error == error; });
  return found == std::end(kMeanings) ? StatusCode::kInternal : found->code;
}

bool IsBadCertificate(std::string_view reason) {
  return reason.find("certificate verify failed") != std::string_view::npos;
}

bool IsRefusedConnection(rd_kafka_resp_err_t error, std::string_view reason) {
  // A broker that does not like our certificate says so by an alert, after the handshake.
  if (error == RD_KAFKA_RESP_ERR__SSL || error == RD_KAFKA_RESP_ERR__TRANSPORT)
    return reason.find("SSL alert number") != std::string_view::npos ||
           IsBadCertificate(reason);
  return KafkaErrorCode(error) == StatusCode::kPermissionDenied;
}

std::optional<DropReason> KafkaRefusal(rd_kafka_resp_err_t error) {
  switch (error) {
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE: return DropReason::kLimitExceeded;
    case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP: return DropReason::kTimeOutOfRange;
    case RD_KAFKA_RESP_ERR_INVALID_RECORD: return DropReason::kValueOutOfRange;
    default: return std::nullopt;
  }
}

namespace {

std::string_view Advice(rd_kafka_resp_err_t error) {
  switch (error) {
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
      return "raise message.max.bytes of the client and max.message.bytes of the topic, or send "
             "smaller batches";
    case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
      return "the record's time is too far from the broker's (message.timestamp.after.max.ms): "
             "check the clocks";
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS:
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND:
      return "fewer replicas are in sync than min.insync.replicas asks for: look at the brokers; "
             "it is tried again";
    case RD_KAFKA_RESP_ERR__SSL:
      return "check ssl.ca.location, that the broker's certificate names the host of the bootstrap "
             "address, and ssl.certificate.location where the broker asks for a certificate";
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
      return "is the broker running and reachable, and does its port speak what security.protocol "
             "says?";
    case RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID:
      return "another consumer uses the same group_instance_id: give each its own";
    default: break;
  }
  switch (KafkaErrorCode(error)) {
    case absl::StatusCode::kUnavailable: return "is the broker running and reachable?";
    case absl::StatusCode::kNotFound:
      return "create the topic with its partitions first (eroica topics create)";
    case absl::StatusCode::kPermissionDenied:
      return "check security.protocol, sasl.mechanisms, user and password, and the access lists of "
             "the broker";
    case absl::StatusCode::kResourceExhausted:
      return "wait and try again, or raise queue.buffering.max.kbytes";
    case absl::StatusCode::kAborted:
      return "poll again and go on with the partitions that are assigned then";
    case absl::StatusCode::kFailedPrecondition: return "this client is finished, make another one";
    default: return "";
  }
}

}  // namespace

absl::Status KafkaStatus(rd_kafka_resp_err_t error, std::string_view doing,
                         std::string_view reason) {
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return absl::OkStatus();
  std::string message = fmt::format("cannot {}: {}", doing, rd_kafka_err2str(error));
  if (!reason.empty() && reason != rd_kafka_err2str(error)) message += fmt::format(" ({})", reason);
  if (const std::string_view advice = Advice(error); !advice.empty())
    message += fmt::format(": {}", advice);
  return absl::Status(KafkaErrorCode(error), message);
}

}  // namespace eroica
