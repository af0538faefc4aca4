// How long the data of a collective moves, and what the links do meanwhile. Ring and tree move data link by link: each member passes a slice on as soon as it has it,
// so after the first round all members send at the pace of the slowest link, and who is faster waits between slices (EROICA, NSDI'26, section 6.1: low mean
// with high deviation on the victims of a bad link, low mean with low deviation at the link itself).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "producers/simulate/simulated_job.h"
#include "producers/simulate/step_effects.h"
#include "schemas/event_batch.h"

namespace eroica::simulate {

// What one member's links can do now.
struct MemberLinks {
  uint32_t host = 0;
  uint32_t device = 0;
  Factor nvlink = kUnit;
  Factor nic_send = kUnit;
  Factor nic_receive = kUnit;
  Factor pcie = kUnit;
  bool nvlink_over_pcie = false;
};

// What one link of a member does while the collective moves: slices of slice_ns, one each period_ns, at `level` of the link's nominal speed while a slice moves.
struct LinkActivity {
  Resource resource = Resource::kNvlink;
  int64_t period_ns = 0;
  int64_t slice_ns = 0;
  int64_t duration_ns = 0;  // of this link's part, from the beginning of the transfer
  float level = 0;
};

struct Transfer {
  int64_t duration_ns = 0;                            // from the last arrival to the end, for all
  std::vector<std::vector<LinkActivity>> activities;  // by member; emptied and filled by Compute where the caller wants them
};

class TransferModel {
 public:
  TransferModel(const Fabric& fabric, uint32_t ranks_per_host) : fabric_(fabric), ranks_per_host_(ranks_per_host) {}

  // members in group order. bytes: of each member's buffer. Ring for what is large, double binary tree for small all-reduces, pairwise for all-to-all.
  void Collective(CollectiveOperation operation, uint64_t bytes, std::span<const MemberLinks> members, std::span<const PathEffect> paths, bool want_activities,
                  Transfer& transfer) const;
  // From one rank to another; activities of sender and receiver.
  void PointToPoint(uint64_t bytes, const MemberLinks& source, const MemberLinks& destination, std::span<const PathEffect> paths, bool want_activities,
                    Transfer& transfer) const;

 private:
  Fabric fabric_;
  uint32_t ranks_per_host_;
};

}  // namespace eroica::simulate
