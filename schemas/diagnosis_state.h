// What the diagnose stage keeps of a job between windows, as plain data. In the state store:
// diagnosis_state.fbs, one row each.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/finding.h"
#include "schemas/pattern_batch.h"

namespace eroica {

// Of the mean step of one rank, in one window.
struct RankTime {
  uint32_t rank = 0;
  float busy_ns = 0;
  float wait_ns = 0;  // for peers
  friend bool operator==(const RankTime&, const RankTime&) = default;
};

// What the ranks of a job took in one window, in as few bytes as the looks of later windows need:
// 31 windows of 100,000 ranks are kept and read again in each.
struct RankTimes {
  Window window;
  uint32_t world_size = 1;
  std::vector<RankTime> rows;  // by rank
  // Of what its ranks took alone, not of their work nor of their bytes:
  std::string roles;                          // EncodeRoles, role_learning.h
  uint32_t processes = 0;                     // FingerprintOfProcesses, role_learning.h
  std::vector<FunctionPattern> device_calls;  // DeviceCallsOf, device_calls.h
  friend bool operator==(const RankTimes&, const RankTimes&) = default;
};

// One claim of one window; claim_memory.h says what it is kept for.
struct ClaimRecord {
  int64_t window = 0;
  FindingKind kind = FindingKind::kSlowRank;
  int64_t first_step = -1;
  int64_t slow_steps = 0;
  int64_t steps = 0;           // watched
  double share = 0;            // of the window's steps that it costs
  int64_t least_windows = 0;   // in which it must have been claimed; 0: the claim does not say
  bool ripe = false;           // a finding came of it
  bool far_off = false;        // by more deviations than noise reaches, where it says by how many
  bool accident = false;       // so far off that no uneven step is, in few steps
  bool roams = false;          // in a function of the host: may be everybody's
  std::vector<int32_t> ranks;  // ascending
  std::string function;
  int64_t first_seen_ns = 0;  // Finding::first_seen_ns of the claim
  int64_t duration_ns = 0;    // of the window; 0: not known
  friend bool operator==(const ClaimRecord&, const ClaimRecord&) = default;
};

struct ClaimMemoryState {
  int64_t first_window = -1;  // that was ever seen
  int64_t asked = 0;          // how often claims were tested against accidents alone
  // by kind: ranks that were claimed, window by window, of which no finding came
  std::array<int64_t, kFindingKindCount> unrest{};
  std::vector<ClaimRecord> records;  // by window
  friend bool operator==(const ClaimMemoryState&, const ClaimMemoryState&) = default;
};

// Beside the findings themselves; finding_lifecycle.h.
struct LedgerState {
  ClaimMemoryState memory;
  // by the finding's id
  std::map<std::string, int64_t> shown_otherwise;
  std::map<std::string, int64_t> lasting_part;
  friend bool operator==(const LedgerState&, const LedgerState&) = default;
};

// Of one rank; telemetry_gaps.h.
struct TelemetryGap {
  uint32_t rank = 0;
  double unseen = 0;   // steps, weighted by age
  double runs = 0;     // of unseen steps in a row, likewise
  int64_t since = 0;   // window of the first of them
  bool heard = false;  // a rank of which nothing was ever heard may not be meant to tell anything
  std::string host;
  friend bool operator==(const TelemetryGap&, const TelemetryGap&) = default;
};

struct TelemetryGapsState {
  double steps = 0;                // that the job ran, weighted by age
  std::vector<TelemetryGap> gaps;  // by rank
  std::vector<uint32_t> heard;     // ranks that ever reported a step; ascending
  std::vector<uint32_t> ended;     // said their last word; ascending
  friend bool operator==(const TelemetryGapsState&, const TelemetryGapsState&) = default;
};

std::string EncodeState(const RankTimes& times);
std::string EncodeState(const LedgerState& ledger);
std::string EncodeState(const TelemetryGapsState& gaps);

// False where the bytes are not what EncodeState of the type makes; *out is unspecified then.
bool DecodeState(std::string_view bytes, RankTimes* out);
bool DecodeState(std::string_view bytes, LedgerState* out);
bool DecodeState(std::string_view bytes, TelemetryGapsState* out);

}  // namespace eroica
