// Baseline (e): Holmes (NSDI'25) as far as METHODS 2 gives it: abnormal communication operators,
// the normal one among abnormal ones, its predecessors across groups, and the devices that most of
// the prolonged time leads to.
//
// 1. Abnormal operators. Published: a random forest for each job, trained on hand-labelled logs.
//    There are no labels, and one window is all the history that a view holds (a fault that lasts
//    is not irregular against it), so this stands in its place, to Holmes' favour: an operator (a
//    member on a communicator, or a receive from a peer) is abnormal where its mean duration is
//    over the shortest one of its peers and the difference makes an iteration at least delta = 1.04
//    times as long (below that, the paper says, jitter hides the signal). Its peers are those on
//    communicators of equally many members and as large messages (to a factor of two), and receives
//    between equal positions of the pipeline (roles). No iteration is passed over.
// 2. Collectives: all members abnormal, the communication is the source; one normal and all others
//    abnormal, that one came last. Any other mixture decides nothing.
// 3. The rank found is followed backwards: published to its previous operator, whose order a
//    summary does not carry, so here to its most prolonged one; by a collective to the normal
//    member there, by a receive to its sender (DFS over the pipeline), until a rank has no abnormal
//    operator, or has been visited.
// 4. Devices are ranked by the prolonged time that led to them; the top two are reported. The
//    paper's MAP estimate and decay factor were not found.
// Names devices and communicators, never functions.
#pragma once

#include "diagnosis/operator.h"

namespace eroica {

class HolmesBaseline final : public DiagnosisOperator {
 public:
  std::string_view name() const override { return "holmes"; }
  std::string_view version() const override { return "1"; }
  void Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const override;
};

}  // namespace eroica
