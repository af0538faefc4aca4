// PyTorch flight-recorder dumps: which collectives a rank enqueued, in which group, with which
// sequence number, and what the recorder knows of their ends. JSON, or Python's pickle, of PyTorch
// 2.2 (a bare list of entries, "seq_id", "time_created_us") to 2.15 (version "2.10"). Fields as
// torch/csrc/distributed/c10d/FlightRecorderDetail.hpp writes them.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "producers/import/rank_trace.h"

namespace eroica {

struct FlightRecorderDump {
  static constexpr uint32_t kNone = ~uint32_t{0};

  // What the recorder saw of the device. kStarted: only where TORCH_NCCL_ENABLE_TIMING is set, and
  // never over gloo.
  enum class State : uint8_t { kScheduled, kStarted, kCompleted };

  struct GroupName {
    std::string name;
    std::string description;
    friend bool operator==(const GroupName&, const GroupName&) = default;
  };
  struct Entry {               // an operation that was enqueued
    int64_t created_ns = -1;   // wall clock; -1: not known
    int64_t timeout_ns = 0;    // 0: not known
    int64_t sequence = -1;     // within the group; point to point: of those alone
    uint64_t bytes = 0;        // of the inputs
    uint64_t bytes_out = 0;    // of the outputs
    int64_t completed_ns = 0;  // when the recorder saw its end; 0: it did not
    uint32_t group = kNone;    // index into `names`
    uint32_t site = kNone;     // index into `sites`: what enqueued it
    int32_t group_peer = -1;   // point to point: the peer's rank within the group
    CollectiveOperation operation = CollectiveOperation::kUnknown;
    State state = State::kScheduled;
    bool point_to_point = false;
    bool retired = false;  // no longer watched: it ended, or it was given up
    bool closes = false;   // the entry behind those of a coalesced group, which ends with it
    bool on_host = false;  // gloo, MPI: no device takes part
    CollectiveLibrary library = CollectiveLibrary::kUnknown;
  };
  // The calls that led to an operation, outermost first, each "train.py(41): step"; the last is the
  // innermost that is no library's, where there is one.
  using Site = std::vector<std::string>;

  std::vector<Entry> entries;        // in the order in which they were made
  std::vector<GroupName> names;      // that entries bear
  std::vector<Site> sites;           // of what may not have ended, and of the last entry
  std::vector<ProcessGroup> groups;  // "pg_config", with their members
  bool starts_told = false;          // the start of some operation on a device was seen
  bool ever_enqueued = false;        // entries, or counters of "pg_status" above 0
  bool from_the_first = true;        // the ring has not forgotten any
};

absl::StatusOr<FlightRecorderDump> ReadFlightRecorderDump(const std::filesystem::path& path);

// By content: JSON begins with a brace or a bracket, a pickle with its protocol byte.
absl::StatusOr<FlightRecorderDump> ParseFlightRecorderDump(std::string_view content);

// Whether a file that begins so is a dump and no trace: its keys are a recorder's.
bool BeginsLikeFlightRecorderDump(std::string_view content);

}  // namespace eroica
