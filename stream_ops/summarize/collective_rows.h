// What is known of the collectives of a rank whose windows are open, by ticket (Interval::lane).
// Owner: RankWindows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schemas/event_batch.h"
#include "stream_ops/pattern/interval.h"

namespace eroica {

struct CollectiveRow {
  Collective collective;      // its interval and communicator are the batch's own numbers
  uint32_t function = 0;      // number in the job's FunctionTable
  uint32_t communicator = 0;  // number in the job's CommunicatorTable
  int64_t start_ns = 0;       // whole, also where windows cut the interval
  int64_t end_ns = 0;
  uint32_t next = kNoTicket;  // a further operation of the same interval
  bool asynchronous = false;  // under way beside what the rank runs
};

class CollectiveRows {
 public:
  // Tickets are told from the lanes of other intervals by their top bit.
  static bool IsTicket(uint32_t lane) { return lane >= kTicketBit && lane != kNoTicket; }

  uint32_t Add(const CollectiveRow& row) {
    if (free_.empty()) {
      free_.push_back(static_cast<uint32_t>(rows_.size()));
      rows_.emplace_back();
    }
    const uint32_t place = free_.back();
    free_.pop_back();
    rows_[place] = row;
    return kTicketBit | place | (row.asynchronous ? kAsynchronousTicket : 0);
  }
  const CollectiveRow& operator[](uint32_t ticket) const { return rows_[PlaceOf(ticket)]; }
  // Of the interval whose first operation has the ticket, each operation. Nothing of no ticket.
  template <typename Visitor>
  void Visit(uint32_t first, Visitor visit) const {
    if (!IsTicket(first)) return;
    for (uint32_t ticket = first; ticket != kNoTicket; ticket = (*this)[ticket].next)
      visit((*this)[ticket]);
  }
  // All operations of the interval.
  void Free(uint32_t first) {
    for (uint32_t ticket = first; ticket != kNoTicket; ticket = (*this)[ticket].next)
      free_.push_back(PlaceOf(ticket));
  }
  size_t size() const { return rows_.size() - free_.size(); }

 private:
  static constexpr uint32_t kTicketBit = 1u << 31;
  static uint32_t PlaceOf(uint32_t ticket) { return ticket & ~(kTicketBit | kAsynchronousTicket); }

  std::vector<CollectiveRow> rows_;
  std::vector<uint32_t> free_;  // places
};

}  // namespace eroica
