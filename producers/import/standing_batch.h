// The one batch that an import of dumps writes of a rank: its operations in flight, how far its
// sequence numbers go, and the call stack that launched what is in flight.
#pragma once

#include <cstdint>

#include "producers/import/dump_groups.h"
#include "producers/import/dump_launches.h"
#include "producers/import/dump_moment.h"
#include "producers/import/dump_sides.h"
#include "producers/import/import_report.h"
#include "schemas/event_batch.h"

namespace eroica {

// What the batches of all ranks are made of; outlives each call.
struct DumpedJob {
  const RankDumps& dumps;
  const DumpGroups& groups;
  const std::map<uint32_t, RankLaunches>& launches;
  const DumpSides& sides;
  int64_t time_ns = 0;  // the latest in any dump: no rank had written its own before
  // where it is not shown, what is in flight says nothing, and is left out
  Standstill standstill = Standstill::kShown;
};

// identity: of the rank. Entries that name no group, number or time are counted as skipped.
EventBatch StandingBatch(const DumpedJob& job, ProducerIdentity identity, ImportCounts* counts);

}  // namespace eroica
