// Roles: which ranks hold the same position in the parallel layout, so that they may be compared.
// Pure; the same partition for any order of input.
//
// A wrong split hides a culprit among too few peers, a wrong merge blames a healthy rank for being
// another stage. So, in this order:
//  1. What the producer says (PatternBatch::role) holds.
//  2. Point-to-point traffic that forms paths of equal length gives the pipeline stage. A rank that
//  it does not reach takes the stage of its
//     partners in a collective group smaller than the world, if they agree.
//  3. Otherwise the sets of compute functions that ranks run, by name. A set of ranks becomes a
//  role only if it has two members or more and either
//     shares less than half of its functions with the others, or differs in three or more
//     functions, all communicators but for 10 % of their bytes stay inside one role, and the sizes
//     of the roles are multiples of the smallest. One extra or missing function splits nobody off.
//  4. One role.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

// Role of each of `ranks` (ascending by rank number), dense from 0 in order of the first rank of a
// role. RankView::role is not read.
std::vector<uint32_t> LearnRoles(std::span<const RankView> ranks,
                                 std::span<const FunctionColumn> functions,
                                 std::span<const CollectiveSummary> summaries);

// Over the windows of a job: a layout does not change while its processes run, but a window may
// show it wrongly. Where events were lost, a stage of the pipeline may look like two, each time
// others. What more windows of the same processes show than anything else holds for all of them;
// otherwise ranks that are no peers would be compared, and over all windows of a look back
// (lasting_excess.h). Where two say something else as often, ranks are peers that are so in both.

// The roles of `ranks` as text for the job's past, "0+4=0 4+4=1": from rank 0 on four of role 0.
// Empty where it would be longer than a name may be.
std::string EncodeRoles(std::span<const RankView> ranks, std::span<const uint32_t> roles);

// Of the ranks that report and their processes: another one after ranks were lost, joined, or were
// started anew. A digit of four bits for every eighth rank, 0 for none, so that few ranks change
// few of its digits.
uint32_t FingerprintOfProcesses(std::span<const RankView> ranks);
// Whether two windows are of the same processes, but for few ranks that one of them has no report
// of: more than half of the digits that are not 0 in both are the same.
bool AreSameProcesses(uint32_t a, uint32_t b);

// The roles that hold in this window: `learned`, of `ranks`, or what most windows show. `past` as
// of RankTimesOf, oldest first: PatternBatch::role as of EncodeRoles, pid as of
// FingerprintOfProcesses.
std::vector<uint32_t> RolesOfJob(std::span<const RankView> ranks, std::span<const RankTimes> past,
                                 std::vector<uint32_t> learned);

}  // namespace eroica
