// Why something that arrived was not used. Every drop is counted under one of these, travels with
// the stream and lowers confidence.
#pragma once

#include <cstdint>
#include <string_view>

namespace eroica {

enum class DropReason : uint8_t {
  kNone = 0,
  // Bad payloads: to the dead-letter topic, with their position.
  kTooShort = 1,
  kWrongIdentifier = 2,  // no schema that we know
  kVerifierFailed = 3,   // FlatBuffers' verifier refused it
  kColumnLength = 4,     // columns of one table differ in length, or a varint column is cut off
  kIndexOutOfRange = 5,
  kEnumOutOfRange = 6,
  kTimeOutOfRange = 7,
  kLimitExceeded = 8,     // more rows or longer names than the codec's limits
  kInvalidIdentity = 9,   // empty job, rank outside the world
  kValueOutOfRange = 10,  // a number that cannot be: not finite, a share above 1
  kNotInOrder = 11,       // rows that are not sorted as their schema says
  kAheadOfClock = 12,     // later than the wall clock allows
  kAheadOfSteps = 13,     // of a step that no rank of the job can have come to
  kUnreadable = 14,       // the log holds it and cannot give it: a damaged record set or entry
  // Good payloads that come at a bad moment.
  kDuplicate = 20,
  kLate = 21,           // its window is closed
  kOutsideWindow = 22,  // between or outside the training steps that make up the windows
  // Importers.
  kNegativeDuration = 40,
  kZeroDuration = 41,
  kUnknownPhase = 42,  // a Chrome trace event that is no interval (metadata, flow, instant)
  // an interval that carries nothing for diagnosis (a span of the profiler itself)
  kUnwantedCategory = 43,
  kMalformedEvent = 44,
  kTruncatedInput = 45,
  kConflictingRank = 46,  // a second file of the same rank
  // a duration of a Chrome trace that no thread spends (asynchronous), or that lacks an end
  kUnpairedDuration = 47,
  // Producers.
  kRingFull = 60,
  kQueueFull = 61,
  kTooManyFunctions = 62,
};

std::string_view ToString(DropReason reason);
// Whether a number from outside is one of them.
bool IsDropReason(uint8_t value);

enum class EventKind : uint8_t {
  kInterval = 0,
  kCollective = 1,
  kSample = 2,
  kMark = 3,
  kBatch = 4
};
inline constexpr int kEventKindCount = 5;

}  // namespace eroica
