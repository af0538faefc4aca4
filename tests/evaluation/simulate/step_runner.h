// Runs the programs of all ranks, a step at a time. A rank runs until it needs the end of a
// collective that cannot end yet; then it rests, and whoever lets it end wakes it. Owns the ranks
// and the places where they meet. The order in which ranks run changes nothing: all times are
// maxima and sums of earlier ones.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tests/evaluation/simulate/effect_source.h"
#include "tests/evaluation/simulate/function_catalog.h"
#include "tests/evaluation/simulate/noise.h"
#include "tests/evaluation/simulate/parallel_layout.h"
#include "tests/evaluation/simulate/rank_state.h"
#include "tests/evaluation/simulate/rendezvous.h"
#include "tests/evaluation/simulate/roofline.h"
#include "tests/evaluation/simulate/simulated_job.h"
#include "tests/evaluation/simulate/stage_program.h"
#include "tests/evaluation/simulate/transfer.h"

namespace eroica::simulate {

class StepRunner {
 public:
  // All arguments must outlive the runner. One program a pipeline stage.
  StepRunner(const SimulatedJob& job, const GroupTable& groups,
             std::span<const StageProgram> stages, const FunctionCatalog& catalog,
             const EffectSource& effects);
  StepRunner(const StepRunner&) = delete;
  StepRunner& operator=(const StepRunner&) = delete;

  // All ranks that finished the step before run this one, until they have finished it or can go no
  // further.
  void Run(uint32_t step);
  // After a step that not all have finished and nobody can: ranks whose device waits for what does
  // not come launch on until their thread waits too.
  void Stall();
  // Ranks take turns at random instead, by this seed. Changes nothing, as tests show.
  void Shuffle(uint64_t seed) { order_ = seed; }
  // What has ended is reported: forgets it.
  void Forget();

  // A connection of the rank over which data should pass and does not.
  struct StalledFlow {
    uint32_t peer = 0;
    Resource resource = Resource::kNic;
  };
  // Of the transfers that stand still and that the rank is in: what it sends to the member whose
  // transport stands still, or as that member to all it sends to. Over the network, where that
  // member's data takes it; the others have sent all that they have.
  std::vector<StalledFlow> StalledFlows(const RankState& rank) const;

  std::vector<RankState>& ranks() { return ranks_; }
  const Rendezvous& rendezvous(uint32_t index) const { return rendezvous_[index]; }

 private:
  void MakeChannels();
  void MakeRank(uint32_t rank);
  uint32_t ChannelOf(uint32_t rank, const ProgramStream& stream, int32_t& peer) const;
  void BeginStep(RankState& rank, uint32_t step);
  void TakeLinks(RankState& rank);

  void RunRank(RankState& rank);
  void RunHost(RankState& rank, uint32_t function, int64_t duration_ns, bool only_waits);
  void RunKernel(RankState& rank, const StageInstruction& instruction);
  // The training thread launches something on the device.
  void Launch(RankState& rank, uint64_t key) {
    const int64_t start_ns = rank.host_ns;
    rank.host_ns += Scale(rank.launch_ns, launch_noise_.Of(key));
    if (!records_launches_) return;
    rank.thread.push_back({.start_ns = start_ns,
                           .end_ns = rank.host_ns,
                           .function = stages_[rank.stage].launch_function});
  }
  void Join(RankState& rank, const StageInstruction& instruction);
  bool Await(RankState& rank, const StageInstruction& instruction);
  bool Synchronize(RankState& rank, const StageInstruction& instruction);
  bool BeginPhase(RankState& rank);
  void FindNextPhase(RankState& rank, uint32_t from) const;
  uint32_t NextRunnable();
  void Rest(RankState& rank, uint32_t rendezvous, uint32_t slot);
  void EndSlots(uint32_t index);
  // What the transfers of a step have in common there.
  Factor StepNoiseOf(uint32_t rendezvous, uint32_t step) const;

  static constexpr Factor Combine(Factor a, Factor b) {
    return static_cast<Factor>((uint64_t{a} * b) >> 16);
  }
  // Whether what the group moves grows with the tokens at hand; gradients and parameters do not.
  static constexpr bool MovesActivations(GroupKind kind) {
    return kind == GroupKind::kTensor || kind == GroupKind::kContext ||
           kind == GroupKind::kPipeline;
  }
  // By what a kernel gets longer where sequences are `length` times as long. Those of experts grow
  // with the tokens that come to them (StepEffects::expert_work).
  Factor WorkOf(KernelKind kind, Factor length) const {
    if (kind == KernelKind::kOptimizer || kind == KernelKind::kCopy ||
        kind == KernelKind::kExpertMatrix)
      return kUnit;
    if (kind != KernelKind::kAttention || attention_squares_ == 0) return length;
    return Combine(length, kUnit - attention_squares_ + Combine(attention_squares_, length));
  }
  // Of the micro batch that the instruction belongs to, against the others.
  static Factor LengthOf(const RankState& rank, const StageInstruction& instruction) {
    const std::vector<Factor>& lengths = rank.effects.micro_batches;
    return instruction.micro_batch < lengths.size() ? lengths[instruction.micro_batch] : kUnit;
  }
  uint16_t TransferOf(Rendezvous& meeting, const Rendezvous::OpenSlot& slot);
  void Compute(const Rendezvous& meeting, const Rendezvous::OpenSlot& slot, bool details,
               Transfer& transfer) const;

  const SimulatedJob& job_;
  const GroupTable& groups_;
  std::span<const StageProgram> stages_;
  const FunctionCatalog& catalog_;
  const EffectSource& effects_;
  TransferModel model_;
  Roofline roofline_;
  Factor attention_squares_;
  LogNormalTable kernel_noise_;
  LogNormalTable host_noise_;
  UniformNoise launch_noise_;
  LogNormalTable transfer_noise_;
  std::unique_ptr<CorrelatedNoise> step_noise_;  // null: transfers of a step have none in common
  const bool records_all_;                       // beyond marks and collectives
  const bool records_launches_;
  const bool samples_;
  const bool details_;  // of transfers: activities for samples, flows for connections

  std::vector<RankState> ranks_;
  std::vector<uint32_t> channel_members_;  // of all channels, source and destination
  // groups in their table's order, then two channels a rank: to the next stage, and to the one
  // before
  std::vector<Rendezvous> rendezvous_;
  std::vector<MemberLinks> links_;  // by rank
  std::vector<PathEffect> paths_;
  std::vector<uint32_t> runnable_;
  uint64_t order_ = 0;                        // 0: who was woken last runs first
  mutable std::vector<MemberLinks> members_;  // of the transfer at hand
};

}  // namespace eroica::simulate
