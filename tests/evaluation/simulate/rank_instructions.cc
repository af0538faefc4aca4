// What each instruction of a rank's program does.
#include <algorithm>

#include "tests/evaluation/simulate/step_runner.h"

namespace eroica::simulate {
namespace {

// Keeps the draws of inserted work apart from those of instructions.
constexpr uint64_t kInsertionDomain = uint64_t{1} << 41;

// What pulses add to a kernel of that length. draw: of 32 bits.
int64_t PulsesIn(int64_t kernel_ns, uint64_t draw, const DevicePulses& pulses) {
  if (pulses.period_ns == 0)
    return (draw * 1'000'000) >> 32 < pulses.per_million_kernels ? pulses.duration_ns : 0;
  constexpr int64_t kMost = 1'000'000;
  const int64_t rest_ns = kernel_ns % pulses.period_ns;
  const bool one_more =
      static_cast<double>(draw) * 0x1.0p-32 * static_cast<double>(pulses.period_ns) <
      static_cast<double>(rest_ns);
  return std::min(kernel_ns / pulses.period_ns + (one_more ? 1 : 0), kMost) * pulses.duration_ns;
}

}  // namespace

void StepRunner::RunRank(RankState& rank) {
  const StageProgram& stage = stages_[rank.stage];
  const auto count = static_cast<uint32_t>(stage.instructions.size());
  for (; rank.counter < count; ++rank.counter) {
    if (rank.counter == rank.next_phase && !BeginPhase(rank)) return;
    const StageInstruction& instruction = stage.instructions[rank.counter];
    if (instruction.every != 0 && (rank.step + 1) % instruction.every != 0) continue;
    switch (instruction.kind) {
      case InstructionKind::kKernel: RunKernel(rank, instruction); break;
      case InstructionKind::kCollective:
      case InstructionKind::kSend:
      case InstructionKind::kReceive: Join(rank, instruction); break;
      case InstructionKind::kAwait:
        if (!Await(rank, instruction)) return;
        break;
      case InstructionKind::kSynchronize:
        if (!Synchronize(rank, instruction)) return;
        break;
      case InstructionKind::kHost:
        RunHost(rank, instruction.function,
                Scale(instruction.duration_ns, host_noise_.Of(Mix(rank.noise ^ rank.counter))),
                instruction.only_waits);
        break;
      case InstructionKind::kEnterFrame:
        if (!records_all_) break;
        rank.open_frames.push_back(static_cast<uint32_t>(rank.thread.size()));
        rank.thread.push_back(
            {.start_ns = rank.host_ns, .end_ns = kNeverNs, .function = instruction.function});
        break;
      case InstructionKind::kLeaveFrame:
        if (!records_all_) break;
        rank.thread[rank.open_frames.back()].end_ns = rank.host_ns;
        rank.open_frames.pop_back();
        break;
      case InstructionKind::kMark:
        rank.marks.push_back({.time_ns = rank.host_ns, .kind = instruction.mark, .id = rank.step});
        break;
    }
  }
  rank.condition = RankCondition::kStepDone;
}

void StepRunner::RunHost(RankState& rank, uint32_t function, int64_t duration_ns, bool only_waits) {
  const int64_t start_ns = rank.host_ns;
  rank.host_ns += Scale(duration_ns, rank.effects.host);
  if (records_all_)
    rank.thread.push_back({.start_ns = start_ns, .end_ns = rank.host_ns, .function = function});
  if (only_waits && samples_) rank.waits.push_back({.start_ns = start_ns, .end_ns = rank.host_ns});
}

void StepRunner::RunKernel(RankState& rank, const StageInstruction& instruction) {
  const uint64_t key = Mix(rank.noise ^ rank.counter);
  Launch(rank, key);
  const int64_t start_ns = std::max(rank.host_ns, rank.device_ns);
  int64_t duration_ns =
      Scale(Scale(instruction.duration_ns, rank.kernel[static_cast<size_t>(instruction.kernel)]),
            kernel_noise_.Of(key));
  const Factor length = LengthOf(rank, instruction);
  if (length != kUnit) duration_ns = Scale(duration_ns, WorkOf(instruction.kernel, length));
  if (const DevicePulses& pulses = rank.effects.pulses; pulses.duration_ns > 0) {
    const int64_t added_ns = PulsesIn(duration_ns, key & 0xFFFFFFFF, pulses);
    duration_ns +=
        pulses.of_clock ? Scale(added_ns, roofline_.ClockShare(instruction.kernel)) : added_ns;
  }
  rank.device_ns = start_ns + duration_ns;
  if (!records_all_) return;
  rank.kernels.push_back({.start_ns = start_ns,
                          .end_ns = rank.device_ns,
                          .function = instruction.function,
                          .level = instruction.share,
                          .kernel = instruction.kernel});
}

void StepRunner::Join(RankState& rank, const StageInstruction& instruction) {
  Launch(rank, Mix(rank.noise ^ rank.counter));
  const StageProgram& stage = stages_[rank.stage];
  const bool collective = instruction.kind == InstructionKind::kCollective;
  const uint8_t series_index = rank.stop == Stop::kWrongCollective && collective
                                   ? instruction.wrong_series
                                   : instruction.series;
  const OperationSeries& series = stage.series[series_index];
  RankStream& stream = rank.streams[series.stream];
  const auto kind = static_cast<size_t>(stage.streams[series.stream].kind);
  const uint64_t sequence = rank.counts[series_index]++;
  const uint32_t slot = stream.launched++;
  const Factor bytes = MovesActivations(stage.streams[series.stream].kind)
                           ? Combine(rank.bytes[kind], LengthOf(rank, instruction))
                           : rank.bytes[kind];
  const Rendezvous::Joining joining = {
      .ready_ns = std::max(rank.host_ns, rank.device_ns),
      .operation = collective ? series.operation : CollectiveOperation::kSend,
      .declared_bytes = instruction.bytes,
      .bytes = static_cast<uint64_t>(Scale(static_cast<int64_t>(instruction.bytes), bytes)),
      .stands_still = rank.stop == Stop::kTransferHangs,
      .member = stream.member,
      .step = rank.step};
  if (joining.stands_still) rank.stop = Stop::kNone;
  stream.rows.push_back({.launched_ns = rank.host_ns,
                         .ready_ns = joining.ready_ns,
                         .sequence = sequence,
                         .bytes = joining.bytes,
                         .slot = slot,
                         .function = instruction.function,
                         .series = series_index});
  rank.tickets[instruction.ticket] = {.rendezvous = stream.rendezvous, .slot = slot};
  if (rendezvous_[stream.rendezvous].Join(slot, joining)) EndSlots(stream.rendezvous);
}

bool StepRunner::Await(RankState& rank, const StageInstruction& instruction) {
  const RankTicket& ticket = rank.tickets[instruction.ticket];
  if (ticket.rendezvous == RankTicket::kNotLaunched || rank.stalled) return true;
  const Rendezvous& meeting = rendezvous_[ticket.rendezvous];
  if (ticket.slot >= meeting.ended()) {
    Rest(rank, ticket.rendezvous, ticket.slot);
    return false;
  }
  rank.device_ns = std::max(rank.device_ns, meeting.EndOf(ticket.slot));
  return true;
}

// All that a rank launched on a stream has ended when the last of it has.
bool StepRunner::Synchronize(RankState& rank, const StageInstruction& instruction) {
  int64_t end_ns = rank.device_ns;
  for (const RankStream& stream : rank.streams) {
    if (stream.launched == 0) continue;
    const Rendezvous& meeting = rendezvous_[stream.rendezvous];
    if (stream.launched > meeting.ended()) {
      Rest(rank, stream.rendezvous, stream.launched - 1);
      return false;
    }
    end_ns = std::max(end_ns, meeting.EndOf(stream.launched - 1));
  }
  if (end_ns <= rank.host_ns) return true;
  if (records_all_)
    rank.thread.push_back(
        {.start_ns = rank.host_ns, .end_ns = end_ns, .function = instruction.function});
  if (samples_) rank.waits.push_back({.start_ns = rank.host_ns, .end_ns = end_ns});
  rank.host_ns = end_ns;
  return true;
}

// False where the rank goes no further.
bool StepRunner::BeginPhase(RankState& rank) {
  const StageProgram& stage = stages_[rank.stage];
  const StepEffects& effects = rank.effects;
  uint64_t number = 0;
  for (const HostInsertion& insertion : effects.insertions) {
    const uint64_t key = Mix(rank.noise ^ (kInsertionDomain + number++));
    if (stage.first_of_phase[static_cast<size_t>(insertion.phase)] != rank.counter) continue;
    const uint32_t function = stage.FindOrAdd(insertion.function, catalog_, rank.extra_functions);
    const bool only_waits = catalog_.functions()[insertion.function].wait != WaitKind::kNone;
    RunHost(rank, function, Scale(insertion.duration_ns, host_noise_.Of(key)), only_waits);
  }
  const bool stops = effects.stop != Stop::kNone &&
                     stage.first_of_phase[static_cast<size_t>(effects.stop_phase)] == rank.counter;
  FindNextPhase(rank, rank.counter + 1);
  if (!stops) return true;
  if (effects.stop == Stop::kHostHangs) {
    rank.hang_function = stage.FindOrAdd(effects.stop_function, catalog_, rank.extra_functions);
    rank.condition = RankCondition::kHangs;
    return false;
  }
  if (effects.stop == Stop::kDies) {
    rank.condition = RankCondition::kDead;
    return false;
  }
  rank.stop = effects.stop;
  return true;
}

void StepRunner::FindNextPhase(RankState& rank, uint32_t from) const {
  rank.next_phase = StageProgram::kNowhere;
  const auto consider = [&](Phase phase) {
    const uint32_t first = stages_[rank.stage].first_of_phase[static_cast<size_t>(phase)];
    if (first >= from) rank.next_phase = std::min(rank.next_phase, first);
  };
  for (const HostInsertion& insertion : rank.effects.insertions) consider(insertion.phase);
  if (rank.effects.stop != Stop::kNone) consider(rank.effects.stop_phase);
}

}  // namespace eroica::simulate
