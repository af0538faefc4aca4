// The entries of a flight-recorder dump, from whatever holds them: JSON or a pickle. Included by
// flight_recorder_dump.cc only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "producers/import/flight_recorder_dump.h"

namespace eroica {

// A key of an entry; kOther: none that is read.
enum class DumpKey : uint8_t {
  kOther,
  kFrames,
  kRecordId,
  kPgId,
  kGroup,
  kSequence,
  kCollectiveSequence,
  kP2pSequence,
  kName,
  kCreatedNs,
  kCreatedUs,
  kInputSizes,
  kInputTypes,
  kOutputSizes,
  kOutputTypes,
  kState,
  kStartedNs,
  kCompletedNs,
  kRetired,
  kTimeoutMs,
  kIsP2p,
};
DumpKey DumpKeyOf(std::string_view key);

// What names and types mean, each worked out once: a dump repeats a few of them thousands of times.
class DumpWords {
 public:
  // "nccl:send 0->1", "gloo:recv 3<-0", "nccl:_all_gather_base"; the own rank stands before the
  // arrow.
  void TakeName(std::string_view name, FlightRecorderDump::Entry* entry);
  uint64_t BytesOf(std::string_view type);
  // Index into dump->names.
  uint32_t GroupOf(std::string_view name, std::string_view description, FlightRecorderDump* dump);

 private:
  struct Meaning {
    CollectiveOperation operation = CollectiveOperation::kUnknown;
    bool closes = false;
    bool on_host = false;
    CollectiveLibrary library = CollectiveLibrary::kUnknown;
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, Meaning, Hash, std::equal_to<>> meanings_;
  std::unordered_map<std::string, uint64_t, Hash, std::equal_to<>> bytes_;
};

// A call as people read it; `library`: PyTorch's, Python's or an installed package's own code.
struct DumpFrame {
  std::string text;
  bool torch = false;
  bool library = false;
};
DumpFrame DumpFrameOf(std::string_view function, std::string_view file, int64_t line);

// From frames, innermost first, as recorders list them.
FlightRecorderDump::Site DumpSiteOf(const std::vector<DumpFrame>& frames);

}  // namespace eroica
