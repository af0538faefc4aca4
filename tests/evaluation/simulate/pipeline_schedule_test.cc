#include "tests/evaluation/simulate/pipeline_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace eroica::simulate {
namespace {

using ::testing::ElementsAre;

std::vector<PipelineShape> ManyShapes() {
  std::vector<PipelineShape> shapes;
  for (const uint32_t stages : {1u, 2u, 3u, 4u, 5u, 8u}) {
    for (const uint32_t chunks : {1u, 2u, 3u, 4u}) {
      for (const uint32_t rounds : {1u, 2u, 3u, 5u}) {
        if (chunks > 1 && stages == 1) continue;
        shapes.push_back({.stages = stages,
                          .chunks = chunks,
                          .micro_batches = chunks == 1 ? rounds * 2 - 1 : rounds * stages});
      }
    }
  }
  return shapes;
}

// The passes of a stage as text: F0.1 is the forward pass of micro batch 0 through chunk 1.
std::vector<std::string> Passes(const StageSchedule& schedule) {
  std::vector<std::string> passes;
  for (const PipelineAction& action : schedule) {
    if (action.kind != PipelineActionKind::kForward && action.kind != PipelineActionKind::kBackward)
      continue;
    const char* letter = action.kind == PipelineActionKind::kForward ? "F" : "B";
    passes.push_back(letter + std::to_string(action.micro_batch) + "." +
                     std::to_string(action.chunk));
  }
  return passes;
}

TEST(PipelineSchedule, OneForwardOneBackwardAsInThePaper) {
  const auto schedules = SchedulePipeline({.stages = 3, .micro_batches = 4});
  EXPECT_THAT(Passes(schedules[0]),
              ElementsAre("F0.0", "F1.0", "F2.0", "B0.0", "F3.0", "B1.0", "B2.0", "B3.0"));
  EXPECT_THAT(Passes(schedules[2]),
              ElementsAre("F0.0", "B0.0", "F1.0", "B1.0", "F2.0", "B2.0", "F3.0", "B3.0"));
}

TEST(PipelineSchedule, InterleavedAsInThePaper) {
  const auto schedules = SchedulePipeline({.stages = 2, .chunks = 2, .micro_batches = 4});
  EXPECT_THAT(Passes(schedules[1]),
              ElementsAre("F0.0", "F1.0", "F0.1", "B0.1", "F1.1", "B1.1", "F2.0", "B0.0", "F3.0",
                          "B1.0", "F2.1", "B2.1", "F3.1", "B3.1", "B2.0", "B3.0"));
}

TEST(PipelineSchedule, AStageOnItsOwnSendsNothing) {
  const auto schedules = SchedulePipeline({.micro_batches = 3});
  for (const PipelineAction& action : schedules[0]) {
    EXPECT_TRUE(action.kind == PipelineActionKind::kForward ||
                action.kind == PipelineActionKind::kBackward);
    EXPECT_EQ(action.message, PipelineAction::kNoMessage);
  }
}

TEST(PipelineSchedule, EachPassHappensOnceForwardBeforeBackward) {
  for (const PipelineShape& shape : ManyShapes()) {
    for (const StageSchedule& schedule : SchedulePipeline(shape)) {
      std::set<std::pair<uint32_t, uint32_t>> forward;
      std::set<std::pair<uint32_t, uint32_t>> backward;
      for (const PipelineAction& action : schedule) {
        const std::pair pass(action.micro_batch, action.chunk);
        if (action.kind == PipelineActionKind::kForward) {
          EXPECT_TRUE(forward.insert(pass).second);
        }
        if (action.kind != PipelineActionKind::kBackward) continue;
        EXPECT_TRUE(forward.contains(pass));
        EXPECT_TRUE(backward.insert(pass).second);
      }
      EXPECT_EQ(forward.size(), size_t{shape.micro_batches} * shape.chunks);
      EXPECT_EQ(backward, forward);
    }
  }
}

TEST(PipelineSchedule, HoldsNoMoreActivationsThanStagesFollow) {
  for (const PipelineShape& shape : ManyShapes()) {
    if (shape.chunks > 1) continue;
    const auto schedules = SchedulePipeline(shape);
    for (uint32_t stage = 0; stage < shape.stages; ++stage) {
      uint32_t held = 0;
      for (const PipelineAction& action : schedules[stage]) {
        if (action.kind == PipelineActionKind::kForward) ++held;
        if (action.kind == PipelineActionKind::kBackward) --held;
        EXPECT_LE(held, shape.stages - stage);
      }
    }
  }
}

// What a message is: where it comes from in the model, and of which micro batch.
// gradients, micro batch, chunk of the whole model that has made it
using Message = std::tuple<bool, uint32_t, uint32_t>;

std::vector<Message> Between(const PipelineShape& shape,
                             const std::vector<StageSchedule>& schedules, uint32_t source,
                             uint32_t destination, PipelineActionKind side) {
  const uint32_t stage = side == PipelineActionKind::kSend ? source : destination;
  const uint32_t other = side == PipelineActionKind::kSend ? destination : source;
  std::vector<Message> messages;
  for (const PipelineAction& action : schedules[stage]) {
    if (action.kind != side) continue;
    if ((stage + shape.stages + static_cast<uint32_t>(action.peer_stages)) % shape.stages != other)
      continue;
    uint32_t made_by = action.chunk * shape.stages + stage;
    if (side == PipelineActionKind::kReceive)
      made_by += action.gradients ? 1 : static_cast<uint32_t>(-1);
    messages.emplace_back(action.gradients, action.micro_batch, made_by);
  }
  return messages;
}

TEST(PipelineSchedule, NeighborsSendAndReceiveTheSameInTheSameOrder) {
  for (const PipelineShape& shape : ManyShapes()) {
    const auto schedules = SchedulePipeline(shape);
    size_t sent = 0;
    for (uint32_t source = 0; source < shape.stages; ++source) {
      for (uint32_t destination = 0; destination < shape.stages; ++destination) {
        const auto sends =
            Between(shape, schedules, source, destination, PipelineActionKind::kSend);
        EXPECT_EQ(sends,
                  Between(shape, schedules, source, destination, PipelineActionKind::kReceive))
            << shape.stages << " stages, " << shape.chunks << " chunks, from " << source << " to "
            << destination;
        sent += sends.size();
      }
    }
    EXPECT_EQ(sent, size_t{2} * (shape.stages * shape.chunks - 1) * shape.micro_batches);
  }
}

TEST(PipelineSchedule, EachPassWaitsForItsOwnInput) {
  for (const PipelineShape& shape : ManyShapes()) {
    for (const StageSchedule& schedule : SchedulePipeline(shape)) {
      std::vector<PipelineAction> received;
      for (const PipelineAction& action : schedule) {
        if (action.kind == PipelineActionKind::kReceive) {
          EXPECT_EQ(action.message, received.size());
          received.push_back(action);
        }
        if (action.kind == PipelineActionKind::kSend || action.kind == PipelineActionKind::kReceive)
          continue;
        if (action.message == PipelineAction::kNoMessage) continue;
        ASSERT_LT(action.message, received.size());
        const PipelineAction& input = received[action.message];
        EXPECT_EQ(input.micro_batch, action.micro_batch);
        EXPECT_EQ(input.chunk, action.chunk);
        EXPECT_EQ(input.gradients, action.kind == PipelineActionKind::kBackward);
      }
    }
  }
}

}  // namespace
}  // namespace eroica::simulate
