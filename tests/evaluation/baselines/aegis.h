// Baseline (d): the rules of Aegis (NSDI'25, METHODS 3.4) and C4D (arXiv 2406.04594, METHODS 3.2)
// on the counters of the communication library, as far as the summaries of a window carry them.
// Both name a device or a connection, never a function.
//
// Computes slowly: a member whose mean duration TD on a communicator is below 0.8 x the members'
// mean arrives last, so it computes slowly.
//   Published per collective and iteration; a summary holds the window's sums (own duration = wait
//   + transfer), so all collectives of a communicator count together. One claim a rank.
// Communicates slowly: a connection whose throughput is below the mean of its communicator's / 1.5.
// Published for the last five work requests of each connection; here
//   of all that it carried in the window (slow_connections.h). Where no connections are reported,
//   (1) the mean NIC, PCIe or NVLink use of a rank inside a collective stands in, against the mean
//   of the ranks that run it: its sending side; (2) point-to-point pairs: exposed time of a message
//   on the side that waited less, hot above 1.5 x the communicator's mean; hidden messages have no
//   delay. What is flagged is clustered, as C4D reads its matrix: one cell is a link, a row the
//   sending and a column the receiving side of a rank, row and column that rank, anything else the
//   network.
// Hangs: a member that launched fewer collectives than the others of its communicator is the
// culprit. A summary carries no launch counts
//   but operations that were completed (count) and those that some member never joined
//   (incomplete), whose sum is what the rank was seen to launch; a member that reports nothing
//   launched nothing. Work requests posted against completed (all launched, none completed: the
//   communication) are in no window, which none closes in a hang: such hangs stay unseen. Nor are
//   the host metrics of Aegis' last rule.
#pragma once

#include "diagnosis/operator.h"

namespace eroica {

class AegisBaseline final : public DiagnosisOperator {
 public:
  std::string_view name() const override { return "aegis"; }
  std::string_view version() const override { return "1"; }
  // Hangs first, then slow computing by how far below the mean, then communication.
  void Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const override;
};

}  // namespace eroica
