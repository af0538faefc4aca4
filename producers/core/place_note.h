// Where a rank of this host stands, in a file that outlives its process: beside the rank's lock in
// the exchange folder, renewed twice a second by the emitter. What the launcher's host says of a
// process that has ended, it reads here. A write goes to the page cache and waits for nobody.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schemas/codec.h"
#include "schemas/rank_standing.h"

namespace eroica {

// Owner: the emitter's thread.
class PlaceNote {
 public:
  static constexpr int64_t kPeriodNs = 450'000'000;  // at least so long from note to note

  // Nothing is written where the folder is not there or not on a file system of this machine, or
  // where no file can be made. An older note of the rank is no longer valid.
  PlaceNote(const std::string& folder, uint32_t rank);
  ~PlaceNote();
  PlaceNote(const PlaceNote&) = delete;
  PlaceNote& operator=(const PlaceNote&) = delete;

  bool IsOpen() const { return file_ >= 0; }
  bool IsDue(int64_t now_ns) const { return IsOpen() && now_ns - written_ns_ >= kPeriodNs; }
  // standing: as RankStanding's invariants want it; another one is left out.
  void Write(const RankStanding& standing, int64_t now_ns);

 private:
  int file_ = -1;
  int64_t written_ns_ = 0;
  Encoder encoder_;
};

// The last one. Nothing where there is none that is whole. Any thread, any process of the user.
std::optional<RankStanding> ReadPlaceNote(const std::string& folder, uint32_t rank);

}  // namespace eroica
