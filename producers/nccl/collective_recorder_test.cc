#include "producers/nccl/collective_recorder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "producers/nccl/testing/recorder_fixture.h"

namespace eroica::nccl {
namespace {

using recorded_core::Read;
using recorded_core::Recorded;
using recorded_core::TakenOperation;

class CollectiveRecorderTest : public RecorderFixture {};
INSTANTIATE_TEST_SUITE_P(Abi, CollectiveRecorderTest, ::testing::Values(3, 4, 5, 6, 7));

std::string FunctionOf(const Recorded& all, const TakenOperation& operation) {
  return all.functions.at(operation.interval.function).name;
}

TEST_P(CollectiveRecorderTest, ACollectiveIsLaunchedStartedAndEnded) {
  const HarnessCommunicator tp = Open();
  void* operation = harness().Start(
      tp, {.func = "ReduceScatter", .datatype = "ncclBfloat16", .count = 1'000, .sequence = 41});
  ASSERT_NE(operation, nullptr);
  ASSERT_EQ(Read().operations.size(), 1u);
  EXPECT_FALSE(Read().operations[0].started);
  harness().Stop(operation);
  void* first = StartChannel(tp, operation, 0);
  EXPECT_TRUE(Read().operations[0].started);
  void* second = StartChannel(tp, operation, 1);
  StopChannel(first);
  EXPECT_FALSE(Read().operations[0].ended) << "a channel still runs";
  StopChannel(second);

  const Recorded all = Read();
  const TakenOperation& taken = all.operations[0];
  EXPECT_TRUE(taken.ended);
  EXPECT_EQ(taken.call.operation, EROICA_REDUCE_SCATTER);
  EXPECT_EQ(taken.call.sequence, 41u);
  EXPECT_EQ(taken.call.bytes, 2'000u);
  EXPECT_EQ(taken.call.peer, -1);
  EXPECT_EQ(FunctionOf(all, taken), "nccl:ReduceScatter");
  EXPECT_EQ(all.lanes.at(taken.interval.lane).kind, EROICA_DEVICE_STREAM);
  EXPECT_LE(taken.interval.start_ns, taken.interval.end_ns);
  EXPECT_EQ(all.misuse, 0u);
  EXPECT_TRUE(all.losses.empty());
}

TEST_P(CollectiveRecorderTest, ACommunicatorIsToldByIdNameAndSize) {
  const HarnessCommunicator tp = Open(0xABCDEF, "tensor parallel");
  harness().Start(tp, {});
  const Recorded all = Read();
  ASSERT_EQ(all.communicators.size(), 1u);
  EXPECT_EQ(all.communicators[0].id, 0xABCDEFu);
  EXPECT_EQ(all.communicators[0].name, "tensor parallel");
  EXPECT_EQ(all.communicators[0].library, EROICA_NCCL);
  EXPECT_EQ(all.communicators[0].size, GetParam() == 3 ? 0u : 4u);
  EXPECT_TRUE(all.communicators[0].ranks.empty());
  EXPECT_EQ(all.attached, (std::vector<std::string>{"test", "nccl"}));
}

TEST_P(CollectiveRecorderTest, TheStretchIsTheDevices) {
  if (GetParam() == 3) GTEST_SKIP() << "version 3 has no timers";
  const HarnessCommunicator tp = Open();
  void* operation = harness().Start(tp, {});
  harness().Stop(operation);
  constexpr uint64_t kDevice = 500'000'000'000;  // a clock of its own
  void* first = harness().StartKernelChannel(tp, operation, 0, kDevice + 1'000);
  void* second = harness().StartKernelChannel(tp, operation, 1, kDevice);
  harness().StopKernelChannel(first, kDevice + 250'000);
  const int64_t before_ns = eroica_now_ns();
  harness().StopKernelChannel(second, kDevice + 90'000);
  const recorded_core::TakenInterval interval = Read().operations.at(0).interval;
  EXPECT_EQ(interval.end_ns - interval.start_ns, 250'000);
  EXPECT_LE(interval.end_ns, eroica_now_ns());
  EXPECT_GE(interval.end_ns, before_ns - 1'000'000'000);
}

TEST_P(CollectiveRecorderTest, APeerIsGlobalOnlyOnTheWholeWorld) {
  HarnessCommunicator pair = {.id = 9, .name = "pp", .nodes = 1, .ranks = 2, .rank = 0};
  harness().Init(&pair);
  const HarnessCommunicator world = Open();
  harness().Start(pair, Send(1));
  harness().Start(world, Send(3));
  harness().Start(world, Send(4));
  const Recorded all = Read();
  ASSERT_EQ(all.operations.size(), 3u);
  EXPECT_EQ(all.operations[0].call.peer, -1);
  EXPECT_EQ(all.operations[0].call.operation, EROICA_SEND);
  EXPECT_EQ(all.operations[0].call.sequence, EROICA_NO_SEQUENCE);
  EXPECT_EQ(all.operations[0].call.bytes, 400u);
  EXPECT_EQ(all.operations[1].call.peer, GetParam() == 3 ? -1 : 3) << "version 3 tells no size";
  EXPECT_EQ(all.operations[2].call.peer, -1) << "no rank of the communicator";
  EXPECT_EQ(statistics().unknown_peers, GetParam() == 3 ? 3u : 2u);
}

TEST_P(CollectiveRecorderTest, AnOperationThatWasQuickerThanItsLaunchEndsOnce) {
  const HarnessCommunicator tp = Open();
  void* operation = harness().Start(tp, {});
  RunAll(tp, operation);
  // Version 3 does not say how many channels there are: it waits until all are enqueued.
  EXPECT_EQ(Read().operations.at(0).ended, GetParam() != 3);
  harness().Stop(operation);
  EXPECT_TRUE(Read().operations.at(0).ended);
  EXPECT_EQ(Read().misuse, 0u);
}

TEST_P(CollectiveRecorderTest, WithoutKernelChannelsAnOperationEndsWhenItIsEnqueued) {
  UseOptions({.kernel_channels = false});
  const HarnessCommunicator tp = Open();
  EXPECT_EQ(static_cast<uint64_t>(harness().mask), kCollEvent | kP2pEvent);
  void* operation = harness().Start(tp, {});
  EXPECT_FALSE(Read().operations.at(0).ended);
  harness().Stop(operation);
  const Recorded all = Read();
  ASSERT_TRUE(all.operations.at(0).ended);
  EXPECT_EQ(FunctionOf(all, all.operations[0]), "nccl:AllReduce (enqueued)");
  EXPECT_EQ(all.operations[0].interval.start_ns, all.operations[0].launched_ns);
}

TEST_P(CollectiveRecorderTest, WithoutKernelChannelsTheProxyTellsTheEnd) {
  UseOptions({.kernel_channels = false, .proxy_sampling = 1});
  const HarnessCommunicator tp = Open();
  void* operation = harness().Start(tp, {});
  void* proxy = harness().StartProxyOp(tp, operation, {});
  harness().Stop(operation);
  EXPECT_TRUE(Read().operations.at(0).started);
  EXPECT_FALSE(Read().operations.at(0).ended);
  harness().Stop(proxy);
  const Recorded all = Read();
  EXPECT_TRUE(all.operations.at(0).ended);
  EXPECT_EQ(FunctionOf(all, all.operations[0]), "nccl:AllReduce");
}

TEST_P(CollectiveRecorderTest, AProxyOperationHoldsTheEndButNotTheTimes) {
  if (GetParam() == 3) GTEST_SKIP() << "version 3 has no timers";
  UseOptions({.proxy_sampling = 1});
  const HarnessCommunicator tp = Open();
  void* operation = harness().Start(tp, {.channels = 1});
  void* proxy = harness().StartProxyOp(tp, operation, {});
  harness().Stop(operation);
  EXPECT_FALSE(Read().operations.at(0).started) << "the proxy runs ahead of the kernel";
  void* channel = harness().StartKernelChannel(tp, operation, 0, 5'000'000);
  harness().StopKernelChannel(channel, 5'000'700);
  EXPECT_FALSE(Read().operations.at(0).ended);
  harness().Stop(proxy);
  const recorded_core::TakenOperation taken = Read().operations.at(0);
  EXPECT_TRUE(taken.ended);
  EXPECT_EQ(taken.interval.end_ns - taken.interval.start_ns, 700);
}

TEST_P(CollectiveRecorderTest, ASentProxyOperationIsAConnectionSample) {
  UseOptions({.proxy_sampling = 1});
  const HarnessCommunicator world = Open();
  harness().Start(world, {});
  void* proxy = harness().StartProxyOp(world, nullptr, {.peer = 2});
  void* received = harness().StartProxyOp(world, nullptr, {.peer = 3, .is_send = false});
  for (void* operation : {proxy, received}) {
    void* step = harness().StartOfType(world, kProxyStepEvent, operation);
    harness().Record(step, kProxyStepSendWait, 4'096);
    harness().Stop(step);
    harness().Stop(operation);
  }
  const Recorded all = Read();
  if (GetParam() == 3) {
    EXPECT_TRUE(all.connections.empty()) << "version 3 tells no bytes of a step";
    return;
  }
  ASSERT_EQ(all.connections.size(), 1u);
  const EroicaConnection& sample = all.connections[0].connection;
  EXPECT_EQ(sample.peer, 2u);
  EXPECT_EQ(sample.bytes, 4'096u);
  EXPECT_EQ(sample.resource, EROICA_NIC);
  EXPECT_EQ(sample.channels, 1);
  EXPECT_EQ(sample.communicator, 0);
  EXPECT_GT(sample.busy_ns, 0);
}

TEST_P(CollectiveRecorderTest, StepsSideBySideAreBusyOnce) {
  if (GetParam() == 3) GTEST_SKIP() << "version 3 tells no bytes of a step";
  UseOptions({.proxy_sampling = 1});
  const HarnessCommunicator world = Open();
  harness().Start(world, {});
  const int64_t begin_ns = eroica_now_ns();
  void* proxy = harness().StartProxyOp(world, nullptr, {});
  std::vector<void*> steps;
  for (int i = 0; i < 8; ++i) {
    steps.push_back(harness().StartOfType(world, kProxyStepEvent, proxy));
    harness().Record(steps.back(), kProxyStepSendWait, 100);
    harness().Record(steps.back(), kProxyStepSendWait, 100);  // entered twice: counted once
  }
  for (void* step : steps) harness().Stop(step);
  harness().Stop(proxy);
  const int64_t end_ns = eroica_now_ns();
  ASSERT_EQ(Read().connections.size(), 1u);
  EXPECT_EQ(Read().connections[0].connection.bytes, 800u);
  EXPECT_LE(Read().connections[0].connection.busy_ns, end_ns - begin_ns);
}

TEST_P(CollectiveRecorderTest, TheProxyIsAskedForOnceInAWhile) {
  UseOptions({.proxy_sampling = 4});
  const HarnessCommunicator tp = Open();
  const int proxy = static_cast<int>(kProxyOpEvent | kProxyStepEvent);
  int asked = 0;
  for (int i = 0; i < 40; ++i) {
    harness().Start(tp, {});
    if ((harness().mask & proxy) == proxy) ++asked;
  }
  EXPECT_EQ(asked, 10);
  recorded_core::SetCaptureLevel(0);
  for (int i = 0; i < 8; ++i) {
    harness().Start(tp, {});
    EXPECT_EQ(harness().mask & proxy, 0) << "level 0 takes marks and collectives only";
  }
}

TEST_P(CollectiveRecorderTest, TheMaskFollowsCapture) {
  const int active = static_cast<int>(kCollEvent | kP2pEvent | kKernelChEvent);
  const HarnessCommunicator tp = Open();
  EXPECT_EQ(harness().mask, active);
  eroica_detach(0);
  EXPECT_EQ(harness().Start(tp, {}), nullptr);
  EXPECT_EQ(static_cast<uint64_t>(harness().mask), kGroupEvent);
  EXPECT_EQ(harness().StartOfType(tp, kGroupEvent, nullptr), nullptr);
  EXPECT_EQ(static_cast<uint64_t>(harness().mask), kGroupEvent);

  recorded_core::Reset();  // capture is on again
  EXPECT_EQ(harness().StartOfType(tp, kGroupEvent, nullptr), nullptr);
  EXPECT_EQ(harness().mask, active);
}

TEST_P(CollectiveRecorderTest, WhatIsAttachedAfterInitIsTakenFromThenOn) {
  recorded_core::Reset(false);
  UseOptions({});
  const HarnessCommunicator tp = Open();
  EXPECT_TRUE(Read().communicators.empty());
  EXPECT_EQ(static_cast<uint64_t>(harness().mask), kGroupEvent);
  recorded_core::Reset(true);
  harness().StartOfType(tp, kGroupEvent, nullptr);
  void* operation = harness().Start(tp, {});
  ASSERT_NE(operation, nullptr);
  harness().Stop(operation);
  RunAll(tp, operation);
  const Recorded all = Read();
  EXPECT_TRUE(all.operations.at(0).ended);
  EXPECT_EQ(FunctionOf(all, all.operations[0]), "nccl:AllReduce");
  EXPECT_EQ(all.communicators.size(), 1u);
}

TEST_P(CollectiveRecorderTest, OperationsOfSeveralCommunicatorsDoNotMix) {
  std::vector<HarnessCommunicator> communicators;
  std::vector<void*> operations;
  for (uint64_t id = 1; id <= 5; ++id) communicators.push_back(Open(id, "c"));
  for (uint64_t i = 0; i < 5; ++i) {
    operations.push_back(harness().Start(communicators[i], {.sequence = 100 + i}));
    harness().Stop(operations.back());
  }
  for (size_t i = 5; i-- > 0;) RunAll(communicators[i], operations[i]);
  const Recorded all = Read();
  ASSERT_EQ(all.operations.size(), 5u);
  for (uint64_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(all.operations[i].ended);
    EXPECT_EQ(all.operations[i].call.sequence, 100 + i);
    EXPECT_EQ(all.communicators.at(all.operations[i].call.communicator).id, i + 1);
  }
}

}  // namespace
}  // namespace eroica::nccl
