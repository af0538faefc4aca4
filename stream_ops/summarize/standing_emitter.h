// From a rank's report of progress to what summarize says of it to diagnose: where the rank stands.
// Owner: one processor; memory is kept.
#pragma once

#include "schemas/codec.h"
#include "schemas/rank_standing.h"
#include "stream_ops/pattern/function_table.h"
#include "stream_ops/processor.h"
#include "stream_ops/summarize/communicator_table.h"
#include "stream_ops/summarize/rank_windows.h"

namespace eroica {

class StandingEmitter {
 public:
  // Of communicators with more members than this only each kListedBy-th lists them: at 10,000 ranks
  // a second of standings would else be half a gigabyte.
  static constexpr size_t kListedBy = 64;
  // Ranks that all lists of a standing have together; those of further communicators are left out.
  static constexpr size_t kMostListed = CodecLimits::kRanks;

  explicit StandingEmitter(RankWindows::Shared* shared) : shared_(shared) {}

  // held: just taken from the rank. world_size: of the job.
  void Emit(const FunctionTable& functions, const CommunicatorTable& communicators,
            uint32_t world_size, const HeldReport& held, const RankWindows& rank,
            ProcessorContext& context);

 private:
  void AddCommunicators(const CommunicatorTable& communicators, const RankProgress& progress);
  void AddCommunicator(const Communicator& communicator, size_t* listed);
  void AddOperations(const CommunicatorTable& communicators, const HeldReport& held,
                     const RankAdvance& advance);

  RankWindows::Shared* shared_;
  Encoder encoder_;
  RankStanding standing_;
};

}  // namespace eroica
