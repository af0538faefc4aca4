// librdkafka's errors as Statuses, by what the caller can do about them:
//   kUnavailable         try again: the cluster does not answer or is busy with itself
//   kNotFound            the topic or partition does not exist
//   kPermissionDenied    log-in or access refused
//   kResourceExhausted   the client's own queue is full
//   kAborted             the group has given our partitions to another member
//   kInvalidArgument     what was asked for is not allowed
//   kFailedPrecondition  this client is finished: make another one
// Included only by the .cc files of this folder.
#pragma once

#include <absl/status/status.h>
#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "schemas/drop_reason.h"

namespace eroica {

// What a reader does about an error.
enum class KafkaErrorKind : uint8_t {
  kNone,           // no error: news of librdkafka's own
  kPosition,       // the position is outside of what the partition holds: back into it
  kData,           // a record set cannot be read: skip it, and say so
  kTransient,      // try again, with a log line
  kClient,         // the client is finished: make another one
  kConfiguration,  // end, and say what to do
};

// Each error of librdkafka has a kind and a code; one that is not known is tried again.
bool IsKnownKafkaError(rd_kafka_resp_err_t error);
KafkaErrorKind KindOfKafkaError(rd_kafka_resp_err_t error);
absl::StatusCode KafkaErrorCode(rd_kafka_resp_err_t error);
// Whether the reason, librdkafka's, is that the broker's certificate is not believed.
bool IsBadCertificate(std::string_view reason);
// Whether a connection was refused for good: the log-in, or a certificate. Not where one broke in
// the middle of its handshake, as it does while a broker restarts. reason: librdkafka's.
bool IsRefusedConnection(rd_kafka_resp_err_t error, std::string_view reason);
// Where the broker refuses a record for what it is: why. Nothing for every other error.
std::optional<DropReason> KafkaRefusal(rd_kafka_resp_err_t error);
// doing: what was tried, with its object, e.g. "commit for group g". reason: what the broker adds,
// may be empty.
absl::Status KafkaStatus(rd_kafka_resp_err_t error, std::string_view doing,
                         std::string_view reason = "");

}  // namespace eroica
