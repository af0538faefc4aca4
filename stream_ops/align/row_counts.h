// What became of rows. Every row that came in is in exactly one of these.
#pragma once

#include <cstdint>

namespace eroica {

struct RowCounts {
  uint64_t aligned = 0;  // met the rows of all members
  // a member never joined, and had not come further either: evidence of a hang
  uint64_t incomplete = 0;
  // a member has no such row but has come further, so it must have joined: its row was lost, or not
  // yet captured
  uint64_t unobserved = 0;
  uint64_t duplicate = 0;  // the rank had a row of that operation and sequence number already
  uint64_t carried = 0;    // to the next window

  uint64_t total() const { return aligned + incomplete + unobserved + duplicate + carried; }
  RowCounts& operator+=(const RowCounts& other) {
    aligned += other.aligned;
    incomplete += other.incomplete;
    unobserved += other.unobserved;
    duplicate += other.duplicate;
    carried += other.carried;
    return *this;
  }
  friend bool operator==(const RowCounts&, const RowCounts&) = default;
};

}  // namespace eroica
