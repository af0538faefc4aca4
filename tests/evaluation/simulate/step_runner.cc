#include "tests/evaluation/simulate/step_runner.h"

#include <algorithm>

#include "schemas/check.h"

namespace eroica::simulate {
namespace {

// Keeps the draws of transfers apart from those of instructions.
constexpr uint64_t kTransferDomain = uint64_t{1} << 40;

// And those of what its steps have in common.
constexpr uint64_t kTransferStepDomain = uint64_t{1} << 43;

bool SameLinks(const MemberLinks& a, const MemberLinks& b) {
  return a.nvlink == b.nvlink && a.nic_send == b.nic_send && a.nic_receive == b.nic_receive &&
         a.pcie == b.pcie && a.nvlink_over_pcie == b.nvlink_over_pcie;
}

bool SamePaths(const std::vector<PathEffect>& a, const std::vector<PathEffect>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const PathEffect& x, const PathEffect& y) {
                      return x.source_host == y.source_host &&
                             x.destination_host == y.destination_host && x.speed == y.speed;
                    });
}

}  // namespace

StepRunner::StepRunner(const SimulatedJob& job, const GroupTable& groups,
                       std::span<const StageProgram> stages, const FunctionCatalog& catalog,
                       const EffectSource& effects)
    : job_(job),
      groups_(groups),
      stages_(stages),
      catalog_(catalog),
      effects_(effects),
      model_(job.fabric),
      roofline_(job.hardware),
      attention_squares_(ToFactor(job.workload.attention_squares)),
      kernel_noise_(job.workload.jitter.kernel, job.noise.tail_degrees),
      host_noise_(job.workload.jitter.host, job.noise.tail_degrees),
      launch_noise_(job.workload.jitter.host),
      transfer_noise_(job.workload.jitter.transfer, job.noise.tail_degrees),
      records_all_(job.telemetry.level != CaptureLevel::kCollectives),
      records_launches_(records_all_ && job.telemetry.launches),
      samples_(records_all_ && job.telemetry.sample_period_ns > 0),
      details_(samples_ || job.telemetry.connections) {
  EROICA_CHECK(stages.size() == job.layout.pipeline);
  const uint32_t world_size = job.layout.world_size();
  for (const Group& group : groups.groups()) rendezvous_.emplace_back(group.communicator.ranks);
  MakeChannels();
  if (job.noise.step_transfer > 0) {
    step_noise_ = std::make_unique<CorrelatedNoise>(job.noise.correlation, job.noise.tail_degrees);
  }
  ranks_.resize(world_size);
  links_.resize(world_size);
  for (uint32_t rank = 0; rank < world_size; ++rank) MakeRank(rank);
  for (uint32_t index = 0; index < groups.groups().size(); ++index) {
    const std::vector<uint32_t>& members = groups.groups()[index].communicator.ranks;
    for (uint32_t member = 0; member < members.size(); ++member) {
      for (RankStream& stream : ranks_[members[member]].streams) {
        if (stream.rendezvous == index) stream.member = member;
      }
    }
  }
}

void StepRunner::MakeChannels() {
  const ParallelLayout& layout = job_.layout;
  if (layout.pipeline < 2) return;
  const uint32_t world_size = layout.world_size();
  channel_members_.reserve(size_t{4} * world_size);
  for (uint32_t rank = 0; rank < world_size; ++rank) {
    for (const uint32_t onward : {1u, layout.pipeline - 1}) {
      Coordinates at = CoordinatesOf(layout, rank);
      at.pipeline = (at.pipeline + onward) % layout.pipeline;
      channel_members_.push_back(rank);
      channel_members_.push_back(RankAt(layout, at));
    }
  }
  for (size_t i = 0; i < channel_members_.size(); i += 2)
    rendezvous_.emplace_back(std::span<const uint32_t>(&channel_members_[i], 2));
}

// A rank's channels lead to the next stage and to the one before; what it receives comes over the
// other rank's. Of two stages only the first channel is used.
uint32_t StepRunner::ChannelOf(uint32_t rank, const ProgramStream& stream, int32_t& peer) const {
  const bool peer_is_next = stream.peer_stages > 0;
  const uint32_t other = channel_members_[size_t{4} * rank + (peer_is_next ? 1 : 3)];
  peer = static_cast<int32_t>(other);
  const bool leads_to_next = peer_is_next == stream.sends || job_.layout.pipeline == 2;
  return static_cast<uint32_t>(groups_.groups().size()) + 2 * (stream.sends ? rank : other) +
         (leads_to_next ? 0 : 1);
}

void StepRunner::MakeRank(uint32_t rank) {
  RankState& state = ranks_[rank];
  state.rank = rank;
  state.stage = CoordinatesOf(job_.layout, rank).pipeline;
  const StageProgram& stage = stages_[state.stage];
  for (const ProgramStream& stream : stage.streams) {
    RankStream made;
    if (stream.peer_stages == 0) {
      made.rendezvous = groups_.Find(rank, stream.kind);
    } else {
      made.rendezvous = ChannelOf(rank, stream, made.peer);
      made.member = stream.sends ? 0 : 1;
    }
    EROICA_CHECK(made.rendezvous < rendezvous_.size());
    state.streams.push_back(std::move(made));
  }
  state.counts.resize(stage.series.size());
  state.kernels.reserve(stage.kernels);
  state.thread.reserve(stage.calls + (records_launches_ ? stage.launches : 0));
  state.tickets.resize(stage.tickets);
  links_[rank].host = job_.layout.HostOf(rank);
  links_[rank].device = job_.layout.DeviceOf(rank);
}

void StepRunner::Run(uint32_t step) {
  std::vector<PathEffect> paths;
  effects_.PathsIn(step, paths);
  if (!SamePaths(paths, paths_)) {
    paths_ = std::move(paths);
    for (Rendezvous& meeting : rendezvous_) meeting.transfers.clear();
  }
  for (RankState& rank : ranks_) {
    if (rank.condition == RankCondition::kStepDone) BeginStep(rank, step);
  }
  for (size_t i = ranks_.size(); i-- > 0;) {
    if (ranks_[i].condition == RankCondition::kRunning)
      runnable_.push_back(static_cast<uint32_t>(i));
  }
  while (!runnable_.empty()) {
    RankState& rank = ranks_[NextRunnable()];
    RunRank(rank);
    if (rank.condition == RankCondition::kStepDone && rank.step < step) {
      BeginStep(rank, rank.step + 1);
      runnable_.push_back(rank.rank);
    }
  }
}

uint32_t StepRunner::NextRunnable() {
  if (order_ != 0) {
    order_ = Mix(order_);
    std::swap(runnable_[order_ % runnable_.size()], runnable_.back());
  }
  const uint32_t rank = runnable_.back();
  runnable_.pop_back();
  return rank;
}

// Those ranks join slots that never end: nobody is woken any more.
void StepRunner::Stall() {
  for (RankState& rank : ranks_) {
    if (rank.condition != RankCondition::kResting) continue;
    const StageInstruction& instruction = stages_[rank.stage].instructions[rank.counter];
    if (instruction.kind != InstructionKind::kAwait) continue;
    rank.stalled = true;
    rank.device_ns = kNeverNs;
    rank.condition = RankCondition::kRunning;
    RunRank(rank);
  }
}

void StepRunner::Forget() {
  for (Rendezvous& meeting : rendezvous_) meeting.Forget();
}

void StepRunner::BeginStep(RankState& rank, uint32_t step) {
  rank.step = step;
  rank.counter = 0;
  rank.condition = RankCondition::kRunning;
  rank.noise = Mix(Mix(job_.seed ^ Mix(rank.rank)) ^ step);
  std::fill(rank.tickets.begin(), rank.tickets.end(), RankTicket{});
  StepEffects& effects = rank.effects;
  effects_.EffectsOn(rank.rank, step, effects);
  for (size_t kind = 0; kind < rank.kernel.size(); ++kind) {
    const auto kernel = static_cast<KernelKind>(kind);
    const Factor work =
        kernel == KernelKind::kExpertMatrix ? effects.expert_work : WorkOf(kernel, effects.work);
    rank.kernel[kind] =
        Combine(Combine(effects.kernel[kind], work), roofline_.UnderMemory(kernel, effects.memory));
  }
  for (size_t kind = 0; kind < rank.bytes.size(); ++kind) {
    const auto group = static_cast<GroupKind>(kind);
    rank.bytes[kind] = group == GroupKind::kExpert ? effects.expert_work
                       : MovesActivations(group)   ? effects.work
                                                   : kUnit;
  }
  TakeLinks(rank);
  const Workload& workload = job_.workload;
  rank.launch_ns = Scale(workload.launch_ns, effects.host);
  if (workload.pause_at_step > 0 && step == workload.pause_at_step) {
    if (samples_)
      rank.waits.push_back({.start_ns = rank.host_ns, .end_ns = rank.host_ns + workload.pause_ns});
    rank.host_ns += workload.pause_ns;
  }
  FindNextPhase(rank, 0);
}

void StepRunner::TakeLinks(RankState& rank) {
  const StepEffects& effects = rank.effects;
  MemberLinks& known = links_[rank.rank];
  const MemberLinks links = {.host = known.host,
                             .device = known.device,
                             .nvlink = effects.nvlink,
                             .nic_send = effects.nic_send,
                             .nic_receive = effects.nic_receive,
                             .pcie = effects.pcie,
                             .nvlink_over_pcie = effects.nvlink_over_pcie};
  if (SameLinks(links, known)) return;
  known = links;
  for (const RankStream& stream : rank.streams) rendezvous_[stream.rendezvous].transfers.clear();
}

void StepRunner::Rest(RankState& rank, uint32_t rendezvous, uint32_t slot) {
  rank.condition = RankCondition::kResting;
  rank.parked_rendezvous = rendezvous;
  rank.parked_slot = slot;
  rank.next_waiter = rendezvous_[rendezvous].first_waiter;
  rendezvous_[rendezvous].first_waiter = rank.rank;
}

void StepRunner::EndSlots(uint32_t index) {
  Rendezvous& meeting = rendezvous_[index];
  while (meeting.CanEnd()) {
    const Rendezvous::OpenSlot& slot = meeting.open();
    const int64_t begin_ns = std::max(slot.latest_ready_ns, meeting.EndBefore(meeting.ended()));
    Factor noise =
        transfer_noise_.Of(NoiseKey(job_.seed, kTransferDomain + index, meeting.ended()));
    if (step_noise_ != nullptr) noise = Combine(noise, StepNoiseOf(index, slot.step));
    const uint16_t transfer = TransferOf(meeting, slot);
    const int64_t end_ns =
        begin_ns + Scale(meeting.transfers[transfer].transfer.duration_ns, noise);
    meeting.EndOpen({.begin_ns = begin_ns, .end_ns = end_ns, .noise = noise, .transfer = transfer});
  }
  uint32_t* chain = &meeting.first_waiter;
  while (*chain != Rendezvous::kNobody) {
    RankState& waiter = ranks_[*chain];
    if (waiter.parked_slot >= meeting.ended()) {
      chain = &waiter.next_waiter;
      continue;
    }
    *chain = waiter.next_waiter;
    waiter.condition = RankCondition::kRunning;
    runnable_.push_back(waiter.rank);
  }
}

Factor StepRunner::StepNoiseOf(uint32_t rendezvous, uint32_t step) const {
  const uint64_t key = NoiseKey(job_.seed, kTransferStepDomain, rendezvous);
  return LogFactor(job_.noise.step_transfer * step_noise_->Of(key, step));
}

uint16_t StepRunner::TransferOf(Rendezvous& meeting, const Rendezvous::OpenSlot& slot) {
  for (size_t i = 0; i < meeting.transfers.size(); ++i) {
    if (meeting.transfers[i].operation == slot.operation &&
        meeting.transfers[i].bytes == slot.bytes)
      return static_cast<uint16_t>(i);
  }
  EROICA_CHECK(meeting.transfers.size() < 65'536);
  Rendezvous::KnownTransfer& known = meeting.transfers.emplace_back();
  known.operation = slot.operation;
  known.bytes = slot.bytes;
  Compute(meeting, slot, details_, known.transfer);
  return static_cast<uint16_t>(meeting.transfers.size() - 1);
}

void StepRunner::Compute(const Rendezvous& meeting, const Rendezvous::OpenSlot& slot, bool details,
                         Transfer& transfer) const {
  members_.clear();
  for (const uint32_t member : meeting.members()) members_.push_back(links_[member]);
  if (slot.operation == CollectiveOperation::kSend) {
    model_.PointToPoint(slot.bytes, members_[0], members_[1], paths_, details, transfer);
  } else {
    model_.Collective(slot.operation, slot.bytes, members_, paths_, details, transfer);
  }
}

std::vector<StepRunner::StalledFlow> StepRunner::StalledFlows(const RankState& rank) const {
  std::vector<StalledFlow> stalled;
  for (const RankStream& stream : rank.streams) {
    const Rendezvous& meeting = rendezvous_[stream.rendezvous];
    const Rendezvous::OpenSlot* slot = meeting.StandingStill();
    if (slot == nullptr) continue;
    Transfer transfer;
    Compute(meeting, *slot, true, transfer);
    if (transfer.flows.size() < meeting.members().size()) continue;
    const std::vector<LinkFlow>& broken = transfer.flows[slot->broken];
    const bool network = std::any_of(broken.begin(), broken.end(), [](const LinkFlow& flow) {
      return flow.resource == Resource::kNic;
    });
    for (const LinkFlow& flow : transfer.flows[stream.member]) {
      const bool touches = stream.member == slot->broken || flow.destination == slot->broken;
      if (touches && (flow.resource == Resource::kNic) == network)
        stalled.push_back({meeting.members()[flow.destination], flow.resource});
    }
  }
  return stalled;
}

}  // namespace eroica::simulate
