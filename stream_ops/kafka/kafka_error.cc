#include "stream_ops/kafka/kafka_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>

namespace eroica {

namespace {

using absl::StatusCode;

struct Meaning {
  KafkaErrorKind kind;
  StatusCode code;
  std::initializer_list<rd_kafka_resp_err_t> errors;
};

// Every error of librdkafka 2.0.2, each once. One that is not here, of a newer library or broker,
// is kTransient.
const Meaning kMeanings[] = {
    {KafkaErrorKind::kNone, StatusCode::kOk, {RD_KAFKA_RESP_ERR_NO_ERROR}},
    {KafkaErrorKind::kNone,
     StatusCode::kUnavailable,
     {RD_KAFKA_RESP_ERR__PARTITION_EOF, RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS,
      RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS, RD_KAFKA_RESP_ERR__NOOP,
      RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED, RD_KAFKA_RESP_ERR__NODE_UPDATE}},
    {KafkaErrorKind::kPosition,
     StatusCode::kUnavailable,
     {RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE, RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET,
      RD_KAFKA_RESP_ERR__NO_OFFSET}},
    // A producer sends it once more: it was damaged on its way.
    {KafkaErrorKind::kData,
     StatusCode::kUnavailable,
     {RD_KAFKA_RESP_ERR__BAD_MSG, RD_KAFKA_RESP_ERR__BAD_COMPRESSION,
      RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED, RD_KAFKA_RESP_ERR__UNDERFLOW, RD_KAFKA_RESP_ERR__PARTIAL,
      RD_KAFKA_RESP_ERR__KEY_DESERIALIZATION, RD_KAFKA_RESP_ERR__VALUE_DESERIALIZATION,
      RD_KAFKA_RESP_ERR_INVALID_MSG, RD_KAFKA_RESP_ERR_UNSUPPORTED_COMPRESSION_TYPE,
      RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT}},
    // As data: a record that is larger or older than somebody allows.
    {KafkaErrorKind::kData,
     StatusCode::kInvalidArgument,
     {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE,
      RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE, RD_KAFKA_RESP_ERR_INVALID_RECORD,
      RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP}},
    {KafkaErrorKind::kTransient,
     StatusCode::kUnavailable,
     {RD_KAFKA_RESP_ERR__TRANSPORT,
      RD_KAFKA_RESP_ERR__RESOLVE,
      RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN,
      RD_KAFKA_RESP_ERR__MSG_TIMED_OUT,
      RD_KAFKA_RESP_ERR__TIMED_OUT,
      RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE,
      RD_KAFKA_RESP_ERR__ISR_INSUFF,
      RD_KAFKA_RESP_ERR__WAIT_COORD,
      RD_KAFKA_RESP_ERR__WAIT_CACHE,
      RD_KAFKA_RESP_ERR__RETRY,
      RD_KAFKA_RESP_ERR__INTR,
      RD_KAFKA_RESP_ERR__OUTDATED,
      RD_KAFKA_RESP_ERR__IN_PROGRESS,
      RD_KAFKA_RESP_ERR__PREV_IN_PROGRESS,
      RD_KAFKA_RESP_ERR__FAIL,
      RD_KAFKA_RESP_ERR__CONFLICT,
      RD_KAFKA_RESP_ERR__INCONSISTENT,
      RD_KAFKA_RESP_ERR__UNKNOWN_BROKER,
      RD_KAFKA_RESP_ERR__UNKNOWN_GROUP,
      RD_KAFKA_RESP_ERR__NOENT,
      RD_KAFKA_RESP_ERR__PURGE_QUEUE,
      RD_KAFKA_RESP_ERR__PURGE_INFLIGHT,
      RD_KAFKA_RESP_ERR_UNKNOWN,
      RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE,
      RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
      RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
      RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE,
      RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE,
      RD_KAFKA_RESP_ERR_STALE_CTRL_EPOCH,
      RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION,
      RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
      RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
      RD_KAFKA_RESP_ERR_NOT_COORDINATOR,
      RD_KAFKA_RESP_ERR_NOT_CONTROLLER,
      RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
      RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND,
      RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS,
      RD_KAFKA_RESP_ERR_MEMBER_ID_REQUIRED,
      RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS,
      RD_KAFKA_RESP_ERR_TRANSACTION_COORDINATOR_FENCED,
      RD_KAFKA_RESP_ERR_OPERATION_NOT_ATTEMPTED,
      RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR,
      RD_KAFKA_RESP_ERR_LOG_DIR_NOT_FOUND,
      RD_KAFKA_RESP_ERR_REASSIGNMENT_IN_PROGRESS,
      RD_KAFKA_RESP_ERR_NO_REASSIGNMENT_IN_PROGRESS,
      RD_KAFKA_RESP_ERR_FETCH_SESSION_ID_NOT_FOUND,
      RD_KAFKA_RESP_ERR_INVALID_FETCH_SESSION_EPOCH,
      RD_KAFKA_RESP_ERR_LISTENER_NOT_FOUND,
      RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH,
      RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH,
      RD_KAFKA_RESP_ERR_STALE_BROKER_EPOCH,
      RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE,
      RD_KAFKA_RESP_ERR_PREFERRED_LEADER_NOT_AVAILABLE,
      RD_KAFKA_RESP_ERR_ELIGIBLE_LEADERS_NOT_AVAILABLE,
      RD_KAFKA_RESP_ERR_ELECTION_NOT_NEEDED,
      RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT,
      RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED,
      RD_KAFKA_RESP_ERR_NON_EMPTY_GROUP,
      RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND,
      RD_KAFKA_RESP_ERR_GROUP_SUBSCRIBED_TO_TOPIC,
      RD_KAFKA_RESP_ERR_INCONSISTENT_VOTER_SET,
      RD_KAFKA_RESP_ERR_FEATURE_UPDATE_FAILED,
      RD_KAFKA_RESP_ERR_PRINCIPAL_DESERIALIZATION_FAILURE}},
    {KafkaErrorKind::kTransient, StatusCode::kResourceExhausted, {RD_KAFKA_RESP_ERR__QUEUE_FULL}},
    // A reader's own client joins the group again by itself.
    {KafkaErrorKind::kTransient,
     StatusCode::kAborted,
     {RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION, RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID,
      RD_KAFKA_RESP_ERR__ASSIGNMENT_LOST}},
    {KafkaErrorKind::kClient,
     StatusCode::kFailedPrecondition,
     {RD_KAFKA_RESP_ERR__FATAL, RD_KAFKA_RESP_ERR__FENCED, RD_KAFKA_RESP_ERR__STATE,
      RD_KAFKA_RESP_ERR__DESTROY, RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE, RD_KAFKA_RESP_ERR__FS,
      RD_KAFKA_RESP_ERR__EXISTING_SUBSCRIPTION, RD_KAFKA_RESP_ERR__GAPLESS_GUARANTEE,
      RD_KAFKA_RESP_ERR__APPLICATION, RD_KAFKA_RESP_ERR__READ_ONLY,
      RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH,
      RD_KAFKA_RESP_ERR_PRODUCER_FENCED, RD_KAFKA_RESP_ERR_INVALID_TXN_STATE,
      RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING, RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID,
      RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, RD_KAFKA_RESP_ERR_DUPLICATE_SEQUENCE_NUMBER}},
    {KafkaErrorKind::kConfiguration,
     StatusCode::kNotFound,
     {RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC,
      RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, RD_KAFKA_RESP_ERR_RESOURCE_NOT_FOUND}},
    {KafkaErrorKind::kConfiguration,
     StatusCode::kAlreadyExists,
     {RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS, RD_KAFKA_RESP_ERR_DUPLICATE_RESOURCE}},
    {KafkaErrorKind::kConfiguration,
     StatusCode::kPermissionDenied,
     {RD_KAFKA_RESP_ERR__AUTHENTICATION, RD_KAFKA_RESP_ERR__SSL,
      RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM,
      RD_KAFKA_RESP_ERR_ILLEGAL_SASL_STATE, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
      RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED,
      RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR_SECURITY_DISABLED,
      RD_KAFKA_RESP_ERR_DELEGATION_TOKEN_AUTH_DISABLED,
      RD_KAFKA_RESP_ERR_DELEGATION_TOKEN_NOT_FOUND,
      RD_KAFKA_RESP_ERR_DELEGATION_TOKEN_OWNER_MISMATCH,
      RD_KAFKA_RESP_ERR_DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
      RD_KAFKA_RESP_ERR_DELEGATION_TOKEN_AUTHORIZATION_FAILED,
      RD_KAFKA_RESP_ERR_DELEGATION_TOKEN_EXPIRED, RD_KAFKA_RESP_ERR_INVALID_PRINCIPAL_TYPE,
      RD_KAFKA_RESP_ERR_UNACCEPTABLE_CREDENTIAL}},
    {KafkaErrorKind::kConfiguration,
     StatusCode::kInvalidArgument,
     {RD_KAFKA_RESP_ERR__INVALID_ARG,
      RD_KAFKA_RESP_ERR__INVALID_TYPE,
      RD_KAFKA_RESP_ERR__UNKNOWN_PROTOCOL,
      RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE,
      RD_KAFKA_RESP_ERR__NOT_CONFIGURED,
      RD_KAFKA_RESP_ERR__KEY_SERIALIZATION,
      RD_KAFKA_RESP_ERR__VALUE_SERIALIZATION,
      RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE,
      RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION,
      RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS,
      RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL,
      RD_KAFKA_RESP_ERR_INVALID_GROUP_ID,
      RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT,
      RD_KAFKA_RESP_ERR_INVALID_COMMIT_OFFSET_SIZE,
      RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION,
      RD_KAFKA_RESP_ERR_INVALID_PARTITIONS,
      RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR,
      RD_KAFKA_RESP_ERR_INVALID_REPLICA_ASSIGNMENT,
      RD_KAFKA_RESP_ERR_INVALID_CONFIG,
      RD_KAFKA_RESP_ERR_INVALID_REQUEST,
      RD_KAFKA_RESP_ERR_POLICY_VIOLATION,
      RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT,
      RD_KAFKA_RESP_ERR_TOPIC_DELETION_DISABLED,
      RD_KAFKA_RESP_ERR_GROUP_MAX_SIZE_REACHED,
      RD_KAFKA_RESP_ERR_INVALID_UPDATE_VERSION}},
};

const Meaning* Find(rd_kafka_resp_err_t error) {
  const auto* found =
      std::find_if(std::begin(kMeanings), std::end(kMeanings), [&](const Meaning& meaning) {
        return std::find(meaning.errors.begin(), meaning.errors.end(), error) !=
               meaning.errors.end();
      });
  return found == std::end(kMeanings) ? nullptr : found;
}

}  // namespace

bool IsKnownKafkaError(rd_kafka_resp_err_t error) { return Find(error) != nullptr; }

KafkaErrorKind KindOfKafkaError(rd_kafka_resp_err_t error) {
  const Meaning* const meaning = Find(error);
  return meaning == nullptr ? KafkaErrorKind::kTransient : meaning->kind;
}

absl::StatusCode KafkaErrorCode(rd_kafka_resp_err_t error) {
  const Meaning* const meaning = Find(error);
  return meaning == nullptr ? StatusCode::kUnavailable : meaning->code;
}

bool IsBadCertificate(std::string_view reason) {
  return reason.find("certificate verify failed") != std::string_view::npos;
}

bool IsRefusedConnection(rd_kafka_resp_err_t error, std::string_view reason) {
  // A broker that does not like our certificate says so by an alert, after the handshake.
  if (error == RD_KAFKA_RESP_ERR__SSL || error == RD_KAFKA_RESP_ERR__TRANSPORT)
    return reason.find("SSL alert number") != std::string_view::npos || IsBadCertificate(reason);
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
  if (KindOfKafkaError(error) == KafkaErrorKind::kData)
    return "it is damaged: look at the broker's disks and at what its producer sends";
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
