// Baseline (d): the rules of Aegis (NSDI'25, METHODS 3.4) and C4D (arXiv 2406.04594, METHODS 3.2) on the counters of the communication
// library, as far as the summaries of a window carry them. Both name a device or a connection, never a function.
//
// Computes slowly: a member whose mean duration TD on a communicator is below 0.8 x the members' mean arrives last, so it computes slowly.
//   Published per collective and iteration; a summary holds the window's sums (own duration = wait + transfer), so all collectives of a
//   communicator count together. One claim a rank.
// Communicates slowly: throughput below the mean / 1.5. Published for the last five work requests of each connection, which no summary
//   carries. In their place (1) the mean NIC, PCIe or NVLink use of a rank inside a collective, against the mean of the ranks that run it:
//   its sending side; (2) C4D's matrix of delays over point-to-point pairs: exposed time of a message on the side that waited less, hot
//   above 1.5 x the communicator's mean; hidden messages have no delay. What is flagged is clustered: one pair is a link, all from or to
//   one rank is that rank, anything else the network.
// Hangs: a member that launched fewer collectives than the others of its communicator is the culprit. A summary carries no launch counts
//   but operations that were completed (count) and those that some member never joined (incomplete), whose sum is what the rank was seen to
//   launch; a member that reports nothing launched nothing. Work requests posted against completed (all launched, none completed: the
//   communication) are not carried: such hangs stay unseen. Nor are the host metrics of Aegis' last rule.
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
