#include "schemas/drop_reason.h"

namespace eroica {

std::string_view ToString(DropReason reason) {
  switch (reason) {
    case DropReason::kNone: return "none";
    case DropReason::kTooShort: return "too_short";
    case DropReason::kWrongIdentifier: return "wrong_identifier";
    case DropReason::kVerifierFailed: return "verifier_failed";
    case DropReason::kColumnLength: return "column_length";
    case DropReason::kIndexOutOfRange: return "index_out_of_range";
    case DropReason::kEnumOutOfRange: return "enum_out_of_range";
    case DropReason::kTimeOutOfRange: return "time_out_of_range";
    case DropReason::kLimitExceeded: return "limit_exceeded";
    case DropReason::kInvalidIdentity: return "invalid_identity";
    case DropReason::kValueOutOfRange: return "value_out_of_range";
    case DropReason::kNotInOrder: return "not_in_order";
    case DropReason::kAheadOfClock: return "ahead_of_clock";
    case DropReason::kAheadOfSteps: return "ahead_of_steps";
    case DropReason::kUnreadable: return "unreadable";
    case DropReason::kDuplicate: return "duplicate";
    case DropReason::kLate: return "late";
    case DropReason::kOutsideWindow: return "outside_window";
    case DropReason::kNegativeDuration: return "negative_duration";
    case DropReason::kZeroDuration: return "zero_duration";
    case DropReason::kUnknownPhase: return "unknown_phase";
    case DropReason::kUnwantedCategory: return "unwanted_category";
    case DropReason::kMalformedEvent: return "malformed_event";
    case DropReason::kTruncatedInput: return "truncated_input";
    case DropReason::kConflictingRank: return "conflicting_rank";
    case DropReason::kUnpairedDuration: return "unpaired_duration";
    case DropReason::kRingFull: return "ring_full";
    case DropReason::kQueueFull: return "queue_full";
    case DropReason::kTooManyFunctions: return "too_many_functions";
  }
  return "unknown";
}

bool IsDropReason(uint8_t value) { return ToString(static_cast<DropReason>(value)) != "unknown"; }

}  // namespace eroica
