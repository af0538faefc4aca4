// What the ranks of a job launched by their flight-recorder dumps, and what of it has ended. An
// entry alone does not say it:
//
// - Of a batch of sends and receives, or of coalesced collectives, only the entry behind them is
//   ever updated: they run as one kernel and end together.
// - `retired` means that nobody watches the operation any more. Over NCCL one that is not completed
//   has timed out then; gloo retires what ended and what it gave up alike.
// - No collective in which every member needs every other one has ended where a member never
//   entered it; where all have, and gloo has retired it on one of them, it has. Nor has the last of
//   a group over gloo, under whose number members entered different operations or sizes.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "producers/import/dump_groups.h"
#include "producers/import/rank_dumps.h"

namespace eroica {

// One kernel of a rank: an operation, or those of a batch.
struct DumpLaunch {
  uint32_t group = DumpGroups::kNone;
  uint32_t entries = 0;
  int64_t sequence = -1;
  int64_t created_ns = 0;  // of its last entry
  FlightRecorderDump::State state = FlightRecorderDump::State::kScheduled;
  bool point_to_point = false;
  bool on_host = false;
  bool retired = false;
  bool closed = false;  // the entry behind a batch has been seen
  bool mutual = false;  // every member needs every other one
  bool ended = false;
};

struct RankLaunches {
  static constexpr uint32_t kNone = DumpGroups::kNone;
  std::vector<DumpLaunch> rows;
  // by entry of the dump; kNone: it names no group, number or time
  std::vector<uint32_t> of_entry;
};

// By rank, as the dumps.
std::map<uint32_t, RankLaunches> LaunchesOf(const RankDumps& dumps, const DumpGroups& groups);

}  // namespace eroica
