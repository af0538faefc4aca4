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
};

class CollectiveRows {
 public:
  // Tickets are told from the lanes of other intervals by their top bit.
  static bool IsTicket(uint32_t lane) { return lane >= kTicketBit && lane != kNoTicket; }

  uint32_t Add(const CollectiveRow& row) {
    if (free_.empty()) {
      rows_.push_back(row);
      return kTicketBit | static_cast<uint32_t>(rows_.size() - 1);
    }
    const uint32_t ticket = free_.back();
    free_.pop_back();
    rows_[ticket & ~kTicketBit] = row;
    return ticket;
  }
  const CollectiveRow& operator[](uint32_t ticket) const { return rows_[ticket & ~kTicketBit]; }
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
      free_.push_back(ticket);
  }
  size_t size() const { return rows_.size() - free_.size(); }

 private:
  static constexpr uint32_t kTicketBit = 1u << 31;

  std::vector<CollectiveRow> rows_;
  std::vector<uint32_t> free_;
};

}  // namespace eroica
