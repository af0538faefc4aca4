// Finding: what diagnosis says. Wire: finding.fbs; as JSON: schemas/finding_json.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/function.h"
#include "schemas/ids.h"

namespace eroica {

enum class FindingKind : uint8_t {
  kSlowRank = 0,       // one or some ranks hold the others up
  kImbalance = 1,      // stage, data or expert: nobody's machine; subkind says which
  kCommunication = 2,  // the communication itself is slow
  kHang = 3,
  kStepTime = 4,
  kRegression = 5,  // equal on all ranks
  kContention = 6,
  kMonitoringGap = 7,
};
inline constexpr int kFindingKindCount = 8;
std::string_view ToString(FindingKind kind);

enum class FindingState : uint8_t { kOpened = 0, kUpdated = 1, kResolved = 2 };
inline constexpr int kFindingStateCount = 3;
std::string_view ToString(FindingState state);

enum class Severity : uint8_t { kInfo = 0, kMinor = 1, kMajor = 2, kCritical = 3 };
inline constexpr int kSeverityCount = 4;
std::string_view ToString(Severity severity);

struct Culprit {
  int32_t rank = -1;  // -1: the culprit is no rank
  std::string host;
  int32_t device = -1;
  int32_t peer = -1;  // the other end where the culprit is a link
  friend bool operator==(const Culprit&, const Culprit&) = default;
};

struct Victim {
  RankId rank;
  int64_t lost_ns = 0;
  double lost_ns_per_step = 0;
  friend bool operator==(const Victim&, const Victim&) = default;
};

// One number of the evidence: the culprit's beside its peers'. docs/reference/evidence.md lists the
// names.
struct Measure {
  std::string name;
  std::string unit;  // "ns", "ratio", "count", "probability", "GB/s", "bytes"
  double culprit = 0;
  double peers = 0;  // median of the peers
  double threshold = 0;
  uint64_t samples = 0;
  friend bool operator==(const Measure&, const Measure&) = default;
};

// A link of the chain from the root cause to the step time that the job lost.
struct Effect {
  int32_t rank = -1;
  std::string description;
  int64_t lost_ns = 0;
  friend bool operator==(const Effect&, const Effect&) = default;
};

struct Finding {
  std::string id;  // deterministic: from job, kind, culprits and function
  JobId job;
  FindingKind kind = FindingKind::kSlowRank;
  std::string subkind;
  Severity severity = Severity::kInfo;
  FindingState state = FindingState::kOpened;
  double confidence = 0;  // 0 .. 1
  int64_t first_window = 0;
  int64_t last_window = 0;
  int64_t first_step = -1;
  int64_t last_step = -1;
  // Event time, since 1970: where the first window begins and where the last one ends, by the
  // clocks of the ranks; 0 where nobody knows. No part of the identity.
  int64_t first_seen_ns = 0;
  int64_t last_seen_ns = 0;
  std::vector<Culprit> culprits;
  std::vector<Victim> victims;  // by rank
  std::string function;         // what the culprit ran, leaf name
  std::string stack;
  FunctionClass function_class = FunctionClass::kCpuOp;
  std::vector<Measure> evidence;
  std::vector<Effect> chain;
  double lost_gpu_seconds_per_hour = 0;
  double lost_ns_per_step = 0;
  std::string title;  // one sentence with numbers
  std::string explanation;
  std::string suggested_action;
  std::vector<std::string> caveats;
  std::string operator_name;
  std::string operator_version;
  std::string replay_id;
  uint64_t events = 0;
  uint64_t events_lost = 0;
  uint32_t ranks_seen = 0;
  uint32_t world_size = 0;
  int64_t emitted_at_ns = 0;  // wall clock; no part of the identity or content
  friend bool operator==(const Finding&, const Finding&) = default;
};

// Whether a time of a finding is one of day: clocks that nobody set begin with 1970, and traces may
// count from their own begin.
inline constexpr int64_t kEarliestTimeOfDayNs = 1'000'000'000'000'000'000;  // in 2001
constexpr bool IsTimeOfDay(int64_t ns) { return ns >= kEarliestTimeOfDayNs; }

// 128 bits as hex over job, kind, subkind, culprits and function: the same fault has the same id in
// every window, run and node.
std::string FindingId(const Finding& finding);

}  // namespace eroica
