// In which order the pipeline stages pass micro batches forward and backward, and what they send
// each other for it.
//
// One chunk of the model a stage: 1F1B, PipeDream-Flush (Narayanan et al., ICML'21): so many
// forward passes that the pipeline is filled, then one forward and one backward by turns, then the
// remaining backward passes; a stage holds activations of at most as many micro batches as stages
// follow, itself included. Several chunks a stage: interleaved 1F1B (Narayanan et al., SC'21,
// section 2.2.2): stage s holds the model's chunks s, s + p, s + 2p ... and passes p micro batches
// through one chunk after the other, so that the bubble shrinks by the number of chunks; the last
// stage sends to the first and back.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace eroica::simulate {

struct PipelineShape {
  uint32_t stages = 1;
  uint32_t chunks = 1;         // of the model, on each stage
  uint32_t micro_batches = 1;  // with several chunks a multiple of stages
};

enum class PipelineActionKind : uint8_t { kForward, kBackward, kSend, kReceive };

struct PipelineAction {
  static constexpr uint32_t kNoMessage = std::numeric_limits<uint32_t>::max();

  PipelineActionKind kind = PipelineActionKind::kForward;
  bool gradients = false;    // kSend, kReceive: of the activations, going back
  uint32_t micro_batch = 0;  // passed, sent or received
  uint32_t chunk = 0;  // of this stage: that passes, whose output is sent, whose input is received
  int32_t peer_stages = 0;  // kSend, kReceive: +1 or -1, around the ends
  // kReceive: its number on this stage, from 0; a pass: the number of the receive that it needs
  uint32_t message = kNoMessage;
};
using StageSchedule = std::vector<PipelineAction>;

// What each stage does in a step, in its order. Messages from one stage to another are received in
// the order in which they are sent, also where two stages are each other's neighbors on both sides.
// A receive comes right before its pass, in interleaved schedules one pass earlier, so that it
// hides behind it.
std::vector<StageSchedule> SchedulePipeline(const PipelineShape& shape);

}  // namespace eroica::simulate
