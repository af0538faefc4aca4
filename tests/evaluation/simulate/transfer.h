// How long the data of a collective moves, and what the links do meanwhile. Ring and tree move data
// link by link: each member passes a slice on as soon as it has it, so after the first round all
// members send at the pace of the slowest link, and who is faster waits between slices (EROICA,
// NSDI'26, section 6.1: low mean with high deviation on the victims of a bad link, low mean with
// low deviation at the link itself).
//
// Nothing is drawn here: same links, same times. Speeds are those of one direction. A link runs at
// the worst of what its two ends and the path between them allow; what several rings use is shared
// evenly among them. Intervals are given as mean pace, not slice by slice (ring_transfer.h says why
// this is exact).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schemas/event_batch.h"
#include "tests/evaluation/simulate/simulated_job.h"
#include "tests/evaluation/simulate/step_effects.h"

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

// What one link of a member does while the collective moves: slices of slice_ns, one each
// period_ns, at `level` of the link's nominal speed while a slice moves.
struct LinkActivity {
  Resource resource = Resource::kNvlink;
  int64_t period_ns = 0;
  int64_t slice_ns = 0;
  int64_t duration_ns = 0;  // of this link's part, from the beginning of the transfer
  float level = 0;
};

// What a member sends to another one while the collective moves: so many bytes, in so much time at
// the speed that this link has. What small all-reduces send over their trees is left out.
struct LinkFlow {
  uint32_t destination = 0;  // member
  Resource resource = Resource::kNvlink;
  uint64_t bytes = 0;
  int64_t busy_ns = 0;   // of all channels together
  uint8_t channels = 0;  // side by side
};

// Members that stand together in group order and share a host.
struct HostSegment {
  uint32_t first = 0;  // member
  uint32_t count = 0;
  uint32_t host = 0;
  bool even = true;     // nothing is wrong with the links of its members
  Factor path = kUnit;  // to the next segment's host, the last one's to the first's
};

struct Transfer {
  int64_t duration_ns = 0;  // from the last arrival to the end, for all
  std::vector<std::vector<LinkActivity>>
      // by member, where the caller wants them; what stands behind the last member is of an earlier
      // call
      activities;
  std::vector<std::vector<LinkFlow>> flows;  // likewise
  // of the last call; kept, like the activities, so that a call allocates nothing
  std::vector<HostSegment> segments;
};

class TransferModel {
 public:
  explicit TransferModel(const Fabric& fabric) : fabric_(fabric) {}

  // members in group order, those of one host together. bytes: of the whole buffer of a member, the
  // gathered one where ranks gather. paths by source, then destination, none twice. Ring for what
  // is large, double binary tree for small all-reduces, pairwise for all-to-all.
  void Collective(CollectiveOperation operation, uint64_t bytes,
                  std::span<const MemberLinks> members, std::span<const PathEffect> paths,
                  bool want_activities, Transfer& transfer) const;
  // From one rank to another; activities of sender and receiver, whose link is as busy.
  void PointToPoint(uint64_t bytes, const MemberLinks& source, const MemberLinks& destination,
                    std::span<const PathEffect> paths, bool want_activities,
                    Transfer& transfer) const;

 private:
  Fabric fabric_;
};

}  // namespace eroica::simulate
