// A mask that is set from outside, as NCCL 2.32's RAS port does it: left as it is, reported, and
// nothing that the plugin says is wrong because of it.
#include "producers/nccl/activation_mask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "producers/nccl/testing/recorder_fixture.h"
#include "schemas/capture_gap.h"

namespace eroica::nccl {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int kAll = static_cast<int>(kCollEvent | kP2pEvent | kKernelChEvent);
constexpr int kEverything = 0xFFFF;

class OutsideMaskTest : public RecorderFixture {
 protected:
  // What NCCL does for a mask: nothing comes of which it holds nothing.
  void Play(const HarnessCommunicator& c, uint64_t sequence) {
    if ((harness().mask & (kAll | static_cast<int>(kProxyOpEvent))) == 0) return;
    harness().Stop(harness().StartOfType(c, kGroupEvent, nullptr));
    void* operation = harness().Start(c, {.sequence = sequence});
    harness().Stop(operation);
    if ((harness().mask & static_cast<int>(kKernelChEvent)) != 0) RunAll(c, operation);
  }
  static std::vector<int64_t> Gaps(int kind) {
    std::vector<int64_t> ids;
    for (const auto& mark : recorded_core::Read().marks) {
      if (mark.kind == kind) ids.push_back(mark.id);
    }
    return ids;
  }
  static int64_t GapOf(int mask) {
    return CaptureGap{CaptureKind::kCollectives, static_cast<uint32_t>(mask)}.mark_id();
  }
};
INSTANTIATE_TEST_SUITE_P(Abi, OutsideMaskTest, ::testing::Values(3, 4, 5, 6, 7));

TEST_P(OutsideMaskTest, AMaskFromOutsideIsLeftAsItIs) {
  const HarnessCommunicator tp = Open();
  for (const int mask :
       {static_cast<int>(kGroupEvent), static_cast<int>(kCollEvent), kEverything}) {
    harness().mask = mask;
    harness().StartOfType(tp, kGroupEvent, nullptr);
    EXPECT_EQ(harness().mask, mask);
    harness().Stop(harness().Start(tp, {}));
    EXPECT_EQ(harness().mask, mask);
  }
  harness().mask = 0;
  const HarnessCommunicator later = Open(8, "dp");
  EXPECT_EQ(harness().mask, 0) << "a later communicator's init";
  eroica_detach(0);
  harness().StartOfType(tp, kGroupEvent, nullptr);
  EXPECT_EQ(harness().mask, 0) << "capture goes off";
}

TEST_P(OutsideMaskTest, AMaskOf0IsAGapUntilItIsRestored) {
  const HarnessCommunicator tp = Open();
  Play(tp, 0);
  recorded_core::LookAtWatched();
  EXPECT_THAT(recorded_core::Read().marks, IsEmpty());

  harness().mask = 0;
  const int64_t before_ns = eroica_now_ns();
  recorded_core::LookAtWatched();
  recorded_core::LookAtWatched();
  for (uint64_t i = 1; i < 5; ++i) Play(tp, i);
  ASSERT_THAT(Gaps(EROICA_CAPTURE_SUSPENDED), ElementsAre(GapOf(0))) << "said once";
  EXPECT_GE(recorded_core::Read().marks.at(0).time_ns, before_ns);
  EXPECT_EQ(recorded_core::Read().operations.size(), 1u);

  harness().mask = kAll;
  recorded_core::LookAtWatched();
  EXPECT_THAT(Gaps(EROICA_CAPTURE_RESUMED), ElementsAre(GapOf(0)));
  Play(tp, 5);
  ASSERT_EQ(recorded_core::Read().operations.size(), 2u);
  EXPECT_TRUE(recorded_core::Read().operations.back().ended);
  eroica_detach(0);
  harness().StartOfType(tp, kGroupEvent, nullptr);
  EXPECT_EQ(harness().mask, static_cast<int>(kGroupEvent)) << "it is the plugin's mask again";
}

TEST_P(OutsideMaskTest, AnotherMaskIsAnotherGap) {
  const HarnessCommunicator tp = Open();
  for (const int mask : {0, static_cast<int>(kP2pEvent), 0}) {
    harness().mask = mask;
    recorded_core::LookAtWatched();
  }
  EXPECT_THAT(Gaps(EROICA_CAPTURE_SUSPENDED),
              ElementsAre(GapOf(0), GapOf(static_cast<int>(kP2pEvent)), GapOf(0)));
  EXPECT_THAT(Gaps(EROICA_CAPTURE_RESUMED), IsEmpty());
}

// NCCL counts on nobody stopping them: without channels an operation would be in flight for ever.
TEST_P(OutsideMaskTest, WithoutChannelsOperationsEndWhenTheyAreEnqueued) {
  const HarnessCommunicator tp = Open();
  harness().mask = static_cast<int>(kCollEvent);
  recorded_core::LookAtWatched();
  EXPECT_THAT(Gaps(EROICA_CAPTURE_SUSPENDED), ElementsAre(GapOf(static_cast<int>(kCollEvent))));
  for (uint64_t i = 0; i < 10; ++i) Play(tp, i);
  const recorded_core::Recorded all = recorded_core::Read();
  ASSERT_EQ(all.operations.size(), 10u);
  for (const auto& operation : all.operations) {
    ASSERT_TRUE(operation.ended);
    EXPECT_EQ(all.functions.at(operation.interval.function).name, "nccl:AllReduce (enqueued)");
  }
  EXPECT_THAT(all.losses, IsEmpty());
}

// What was enqueued before keeps its mask in NCCL, and so its channels.
TEST_P(OutsideMaskTest, WhatRunsWhenTheMaskChangesEnds) {
  const HarnessCommunicator tp = Open();
  void* operation = harness().Start(tp, {});
  harness().Stop(operation);
  harness().mask = 0;
  recorded_core::LookAtWatched();
  RunAll(tp, operation);
  EXPECT_TRUE(recorded_core::Read().operations.at(0).ended);
}

TEST_P(OutsideMaskTest, WhatItAddsIsNoGapAndIsNotTaken) {
  const HarnessCommunicator tp = Open();
  harness().mask = kEverything;
  recorded_core::LookAtWatched();
  EXPECT_THAT(recorded_core::Read().marks, IsEmpty());
  void* operation = harness().Start(tp, {.channels = 1});
  harness().Stop(operation);
  void* proxy = harness().StartProxyOp(tp, operation, {});
  EXPECT_EQ(proxy, nullptr) << "EROICA_NCCL_PROXY_OPS is 0";
  EXPECT_EQ(harness().StartOfType(tp, kProxyStepEvent, proxy), nullptr);
  EXPECT_EQ(harness().StartOfType(tp, kGroupApiEvent, nullptr), nullptr);
  void* channel = StartChannel(tp, operation);
  EXPECT_EQ(harness().StartOfType(tp, kKernelPhaseEvent, channel), nullptr);
  harness().Record(channel, kKernelPhaseStop, 1);
  StopChannel(channel);
  const recorded_core::Recorded all = recorded_core::Read();
  EXPECT_TRUE(all.operations.at(0).ended);
  EXPECT_THAT(all.connections, IsEmpty());
  EXPECT_EQ(all.misuse, 0u);
}

TEST_P(OutsideMaskTest, ChannelsThatNobodyWantsAreNotTaken) {
  UseOptions({.kernel_channels = false});
  const HarnessCommunicator tp = Open();
  harness().mask = kEverything;
  recorded_core::LookAtWatched();
  EXPECT_THAT(recorded_core::Read().marks, IsEmpty());
  void* operation = harness().Start(tp, {.channels = 1});
  EXPECT_EQ(StartChannel(tp, operation), nullptr);
  harness().Stop(operation);
  const recorded_core::Recorded all = recorded_core::Read();
  EXPECT_EQ(all.functions.at(all.operations.at(0).interval.function).name,
            "nccl:AllReduce (enqueued)");
}

TEST_P(OutsideMaskTest, WithoutACommunicatorThereIsNoGap) {
  const HarnessCommunicator tp = Open();
  harness().mask = 0;
  harness().Finalize(tp.context);
  recorded_core::LookAtWatched();
  EXPECT_THAT(recorded_core::Read().marks, IsEmpty());
  const HarnessCommunicator next = Open(9, "next");
  EXPECT_EQ(harness().mask, kAll) << "NCCL's init asks for a mask, and NCCL sets its own after it";
  Play(next, 0);
  EXPECT_EQ(recorded_core::Read().operations.size(), 1u);
}

TEST_P(OutsideMaskTest, OfASymmetricKernelTheFirstOperationHasTheChannels) {
  const HarnessCommunicator tp = Open();
  void* head = harness().Start(tp, {.func = "AllGather", .channels = 2, .symmetric = true});
  void* second = harness().Start(tp, {.func = "AllGather", .channels = 0, .symmetric = true});
  harness().Stop(head);
  harness().Stop(second);
  const recorded_core::Recorded before = recorded_core::Read();
  EXPECT_FALSE(before.operations.at(0).ended);
  EXPECT_EQ(before.operations.at(1).ended, GetParam() == 7) << "older versions do not say it";
  RunAll(tp, head);
  EXPECT_TRUE(recorded_core::Read().operations.at(0).ended);
}

// The plugin changes its mask while somebody looks whether it is the plugin's.
TEST(ActivationMask, ItsOwnChangesAreNotFromOutside) {
  static int mask = 0;
  ActivationMasks masks;
  ActivationMask* const joined = masks.Join(&mask, 1);
  std::atomic<bool> done{false};
  std::atomic<int> seen{0};
  std::thread looks([&] {
    while (!done) seen += masks.FromOutside() ? 1 : 0;
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 50'000; ++k) joined->Follow(1 + k % 7);
    });
  }
  for (std::thread& thread : threads) thread.join();
  done = true;
  looks.join();
  EXPECT_EQ(seen, 0);
  joined->Follow(3);
  std::atomic_ref<int>(mask).store(5);
  EXPECT_EQ(masks.FromOutside(), 5);
  EXPECT_EQ(joined->Follow(3), 5);
}

TEST(ActivationMask, MoreNcclsThanItKnowsAreGivenAMaskAndLeftAlone) {
  ActivationMasks masks;
  std::vector<int> all(9, 0);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(masks.Join(&all[i], 6) != nullptr, i < 8) << i;
  EXPECT_THAT(all, ::testing::Each(6));
  EXPECT_EQ(masks.Join(nullptr, 6), nullptr);
}

}  // namespace
}  // namespace eroica::nccl
