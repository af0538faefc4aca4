// What NCCL has been seen to do to profiler plugins, and what it might: one test each.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "producers/nccl/testing/recorder_fixture.h"

namespace eroica::nccl {
namespace {

using recorded_core::Read;
using recorded_core::Recorded;

class NcclPitfallsTest : public RecorderFixture {
 protected:
  static uint64_t Lost(uint8_t reason) {
    uint64_t count = 0;
    for (const auto& loss : Read().losses) {
      if (loss.kind == EROICA_LOST_COLLECTIVE && loss.reason == reason) count += loss.count;
    }
    return count;
  }
  static size_t InFlight() {
    const Recorded all = Read();
    return static_cast<size_t>(std::count_if(
        all.operations.begin(), all.operations.end(),
        [](const auto& operation) { return !operation.ended && !operation.dropped; }));
  }
  static constexpr uint8_t kRingFull = 60, kMalformed = 44, kTruncated = 45;
};
INSTANTIATE_TEST_SUITE_P(Abi, NcclPitfallsTest, ::testing::Values(3, 4, 5, 6, 7));

TEST_P(NcclPitfallsTest, AChannelStopsBeforeItStarts) {
  const HarnessCommunicator tp = Open();
  void* operation = harness().Start(tp, {.channels = 1});
  harness().Stop(operation);
  // A handle that the plugin has yet to give.
  const uint64_t next = EventHandle::Decode(reinterpret_cast<uint64_t>(operation)).salt;
  const EventHandle to_come = {HandleKind::kKernelChannel, static_cast<uint16_t>(next), 0, 1};
  harness().StopKernelChannel(reinterpret_cast<void*>(to_come.Encode()), Now());
  EXPECT_EQ(InFlight(), 1u);
  StopChannel(StartChannel(tp, operation));
  EXPECT_EQ(InFlight(), 0u);
  EXPECT_TRUE(Read().operations.at(0).ended);
}

TEST_P(NcclPitfallsTest, AStateIsRecordedAfterTheStopAndAStopComesTwice) {
  const HarnessCommunicator tp = Open();
  void* operation = harness().Start(tp, {.channels = 2});
  harness().Stop(operation);
  harness().Stop(operation);
  void* first = StartChannel(tp, operation, 0);
  void* second = StartChannel(tp, operation, 1);
  StopChannel(first);
  harness().Record(first, kKernelChStop, Now());
  StopChannel(first);
  StopChannel(first);
  EXPECT_EQ(InFlight(), 1u) << "a stop that is repeated is not the other channel's";
  StopChannel(second);
  harness().Record(second, kKernelChStop, Now());
  EXPECT_EQ(InFlight(), 0u);
  EXPECT_EQ(Read().misuse, 0u);
}

TEST_P(NcclPitfallsTest, FewerChannelsComeThanTheOperationHas) {
  const HarnessCommunicator tp = Open();
  void* first = harness().Start(tp, {.sequence = 0, .channels = 8});
  harness().Stop(first);
  RunAll(tp, first, 5);
  EXPECT_EQ(InFlight(), GetParam() == 3 ? 0u : 1u);
  void* second = harness().Start(tp, {.sequence = 1, .channels = 2});
  harness().Stop(second);
  RunAll(tp, second, 2);
  EXPECT_EQ(InFlight(), 0u) << "a later kernel of the communicator is over";
  EXPECT_TRUE(Read().operations.at(0).ended);
  EXPECT_TRUE(Read().losses.empty());
}

TEST_P(NcclPitfallsTest, FewerChannelsComeAndNothingMoreRuns) {
  UseOptions({}, {.quiet_ns = 0});
  const HarnessCommunicator tp = Open();
  void* first = harness().Start(tp, {.channels = 8});
  harness().Stop(first);
  RunAll(tp, first, 5);
  harness().Start(tp, {.channels = 8});
  EXPECT_TRUE(Read().operations.at(0).ended);
  EXPECT_EQ(InFlight(), 1u);
}

TEST_P(NcclPitfallsTest, NoChannelComesOfAnOperationThatIsOver) {
  const HarnessCommunicator tp = Open();
  void* silent = harness().Start(tp, {.func = "Broadcast"});
  harness().Stop(silent);
  void* second = harness().Start(tp, {});
  harness().Stop(second);
  EXPECT_EQ(InFlight(), 2u);
  RunAll(tp, second);
  EXPECT_EQ(InFlight(), 0u);
  EXPECT_TRUE(Read().operations.at(0).dropped) << "no stretch is invented";
  EXPECT_EQ(Lost(kTruncated), 1u);
}

// All-to-all of NCCL 2.28: a send and a receive for each member, itself among them.
TEST_P(NcclPitfallsTest, ARankThatSendsToItselfLosesNothing) {
  const HarnessCommunicator tp = Open();
  EXPECT_EQ(harness().Start(tp, Send(tp.rank)), nullptr);
  void* to_another = harness().Start(tp, Send(tp.rank + 1));
  harness().Stop(to_another);
  RunAll(tp, to_another, 1);
  void* later = harness().Start(tp, {.channels = 1});
  harness().Stop(later);
  RunAll(tp, later, 1);
  harness().Finalize(tp.context);
  EXPECT_EQ(statistics().to_itself, 1u);
  EXPECT_EQ(statistics().ended, 2u);
  EXPECT_EQ(Read().operations.size(), 2u);
  EXPECT_TRUE(Read().losses.empty());
}

TEST_P(NcclPitfallsTest, OperationsOfOneKernelDoNotOvertakeEachOther) {
  const HarnessCommunicator tp = Open();
  void* slow = harness().Start(tp, {.sequence = 0});
  void* quick = harness().Start(tp, {.sequence = 1});
  harness().Stop(slow);
  harness().Stop(quick);
  RunAll(tp, quick);
  EXPECT_EQ(InFlight(), 1u) << "it may still begin, in the same kernel";
  RunAll(tp, slow);
  EXPECT_TRUE(Read().operations.at(0).ended);
}

TEST_P(NcclPitfallsTest, AChannelThatRunsIsNotOvertaken) {
  const HarnessCommunicator tp = Open();
  void* first = harness().Start(tp, {.channels = 2});
  harness().Stop(first);
  void* late = StartChannel(tp, first, 0);
  void* second = harness().Start(tp, {.channels = 1});
  harness().Stop(second);
  RunAll(tp, second, 1);  // the proxy thread drains its channels before the first one's
  EXPECT_EQ(InFlight(), 1u);
  void* other = StartChannel(tp, first, 1);
  StopChannel(late);
  StopChannel(other);
  EXPECT_TRUE(Read().operations.at(0).ended);
}

TEST_P(NcclPitfallsTest, ACommunicatorWithoutChannelsEndsWhatItEnqueues) {
  UseOptions({}, {.silent_launches = 100, .silent_ns = 0});
  const HarnessCommunicator tp = Open();
  for (uint32_t i = 0; i < 100; ++i) {
    harness().Stop(harness().Start(tp, {.sequence = i}));
  }
  EXPECT_EQ(InFlight(), 1u) << "the last one was launched before it was known";
  for (uint64_t i = 0; i < 10; ++i) harness().Stop(harness().Start(tp, {.sequence = 1'000 + i}));
  EXPECT_EQ(InFlight(), 1u);
  const Recorded all = Read();
  ASSERT_TRUE(all.operations.back().ended);
  EXPECT_EQ(all.functions.at(all.operations.back().interval.function).name,
            "nccl:AllReduce (enqueued)");
  // Channels come back: from the next operation on they count.
  void* operation = harness().Start(tp, {});
  void* early = StartChannel(tp, operation, 0);
  harness().Stop(operation);
  StopChannel(early);
  void* next = harness().Start(tp, {});
  harness().Stop(next);
  EXPECT_FALSE(Read().operations.back().ended);
  RunAll(tp, next);
  EXPECT_TRUE(Read().operations.back().ended);
}

TEST_P(NcclPitfallsTest, AHostThatRunsAheadIsNotTakenForSilent) {
  UseOptions({}, {.silent_launches = 100});
  const HarnessCommunicator tp = Open();
  std::vector<void*> operations;
  for (uint64_t i = 0; i < 1'000; ++i) {
    operations.push_back(harness().Start(tp, {.sequence = i}));
    harness().Stop(operations.back());
  }
  EXPECT_EQ(InFlight(), 1'000u);
  for (void* operation : operations) RunAll(tp, operation);
  EXPECT_EQ(InFlight(), 0u);
  EXPECT_EQ(statistics().ended, 1'000u);
}

TEST_P(NcclPitfallsTest, TimersAreZeroOrNonsense) {
  const HarnessCommunicator tp = Open();
  const std::vector<std::pair<uint64_t, uint64_t>> timers = {
      {0, 0}, {Now(), 0}, {0, Now()}, {UINT64_MAX, UINT64_MAX}, {Now(), 1}, {1, UINT64_MAX}};
  for (const auto& [start, stop] : timers) {
    void* operation = harness().Start(tp, {.channels = 1});
    harness().Stop(operation);
    const int64_t begin_ns = eroica_now_ns();
    void* channel = harness().StartKernelChannel(tp, operation, 0, start);
    harness().StopKernelChannel(channel, stop);
    const int64_t end_ns = eroica_now_ns();
    const recorded_core::TakenOperation taken = Read().operations.back();
    ASSERT_TRUE(taken.ended);
    EXPECT_LE(taken.interval.start_ns, taken.interval.end_ns);
    EXPECT_LE(taken.interval.end_ns, end_ns);
    EXPECT_GE(taken.interval.end_ns, begin_ns - 1'000'000'000);
  }
  EXPECT_GT(statistics().untimed, 0u);
}

TEST_P(NcclPitfallsTest, StepsOfTheProxyStartAndStopUnevenly) {
  UseOptions({.proxy_sampling = 1}, {.children = 64});
  const HarnessCommunicator world = Open();
  for (int round = 0; round < 200; ++round) {
    void* operation = harness().Start(world, {.channels = 1});
    void* proxy = harness().StartProxyOp(world, operation, {});
    void* never_stopped = harness().StartOfType(world, kProxyStepEvent, proxy);
    void* step = harness().StartOfType(world, kProxyStepEvent, proxy);
    harness().Record(never_stopped, kProxyStepSendWait, 100);
    harness().Record(step, kProxyStepSendWait, 50);
    for (int i = 0; i < 3; ++i) harness().Stop(step);
    harness().Stop(operation);
    RunAll(world, operation, 1);
    harness().Stop(proxy);
  }
  EXPECT_EQ(InFlight(), 0u);
  EXPECT_EQ(statistics().no_room, 0u) << "steps that are never stopped make room again";
  if (GetParam() > 3) {
    ASSERT_EQ(Read().connections.size(), 200u);
    EXPECT_EQ(Read().connections.back().connection.bytes, 150u);
    EXPECT_GT(Read().connections.back().connection.busy_ns, 0);
  }
}

TEST_P(NcclPitfallsTest, ACommunicatorIsFinalizedWhileItsChannelsRun) {
  const HarnessCommunicator tp = Open();
  void* running = harness().Start(tp, {.sequence = 0});
  void* waiting = harness().Start(tp, {.sequence = 1});
  harness().Stop(running);
  harness().Stop(waiting);
  void* channel = StartChannel(tp, running);
  EXPECT_EQ(harness().Finalize(tp.context), 0);
  EXPECT_EQ(InFlight(), 0u);
  EXPECT_TRUE(Read().operations.at(0).dropped);
  EXPECT_TRUE(Read().operations.at(1).dropped);
  StopChannel(channel);
  EXPECT_EQ(StartChannel(tp, waiting), nullptr);
  harness().Stop(running);
  EXPECT_EQ(Read().misuse, 0u);
}

TEST_P(NcclPitfallsTest, AProxyOperationIsAnotherProcess) {
  UseOptions({.proxy_sampling = 1});
  const HarnessCommunicator tp = Open();
  HarnessCommunicator theirs = tp;
  theirs.context = reinterpret_cast<void*>(0x10);  // would crash if it were followed
  void* parent = reinterpret_cast<void*>(0x18);
  EXPECT_EQ(harness().StartProxyOp(theirs, parent, {.pid = getpid() + 1}), nullptr);
  EXPECT_EQ(statistics().foreign, 1u);
  EXPECT_EQ(statistics().stale_handles, 0u) << "context and parent are not even looked up";
  EXPECT_EQ(harness().StartOfType(tp, kProxyStepEvent, nullptr), nullptr);
}

TEST_P(NcclPitfallsTest, AHandleOfAnotherProcessMeansNothing) {
  const HarnessCommunicator tp = Open();
  void* operation = harness().Start(tp, {});
  EventHandle handle = EventHandle::Decode(reinterpret_cast<uint64_t>(operation));
  handle.salt ^= 1;
  void* theirs = reinterpret_cast<void*>(handle.Encode());
  EXPECT_EQ(StartChannel(tp, theirs), nullptr);
  harness().Stop(theirs);
  RunAll(tp, operation);
  harness().Stop(operation);
  EXPECT_TRUE(Read().operations.at(0).ended);
}

TEST_P(NcclPitfallsTest, ChannelsOfAPeerToPeerOperationAreLeftUnset) {
  // Version 4 finds 0xAB there (the harness), which is no number of channels.
  const HarnessCommunicator world = Open();
  void* operation = harness().Start(world, Send(1));
  harness().Stop(operation);
  RunAll(world, operation, 1);
  EXPECT_TRUE(Read().operations.at(0).ended);
}

TEST_P(NcclPitfallsTest, TypesAreCutToEightBitsOrUnknown) {
  const HarnessCommunicator tp = Open();
  void* operation = harness().Start(tp, {});
  for (int bit = 5; bit < 64; ++bit) {
    const uint64_t type = uint64_t{1} << bit;
    if (type == kKernelChEvent) continue;
    EXPECT_EQ(harness().StartOfType(tp, type, operation), nullptr) << type;
  }
  EXPECT_EQ(harness().StartOfType(tp, 0, operation), nullptr);
  EXPECT_EQ(harness().StartOfType(tp, kCollEvent | kP2pEvent, operation), nullptr);
  for (int state = -1; state < 64; ++state) EXPECT_EQ(harness().Record(operation, state, 1), 0);
  harness().Stop(operation);
  RunAll(tp, operation);
  EXPECT_TRUE(Read().operations.at(0).ended);
}

TEST_P(NcclPitfallsTest, PointersAreNull) {
  const HarnessCommunicator tp = Open();
  EXPECT_TRUE(harness().PassNulls(tp));
  EXPECT_TRUE(Read().operations.empty());
  EXPECT_EQ(Lost(kMalformed), 1u) << "an operation without a name";
  void* operation = harness().Start(tp, {.func = "NewOperation", .datatype = nullptr});
  ASSERT_NE(operation, nullptr);
  EXPECT_EQ(Read().operations.at(0).call.operation, EROICA_UNKNOWN_OPERATION);
  EXPECT_EQ(Read().operations.at(0).call.bytes, 0u);
}

TEST_P(NcclPitfallsTest, BytesDoNotOverflow) {
  const HarnessCommunicator tp = Open();
  harness().Start(tp, {.datatype = "ncclInt64", .count = UINT64_MAX / 2});
  EXPECT_EQ(Read().operations.at(0).call.bytes, UINT64_MAX);
}

TEST_P(NcclPitfallsTest, ParentsAreStaleAfterCaptureWentOffAndOn) {
  const HarnessCommunicator tp = Open();
  void* before = harness().Start(tp, {.channels = 1});
  harness().Stop(before);
  eroica_detach(0);
  EXPECT_EQ(harness().Start(tp, {}), nullptr);
  RunAll(tp, before, 1);  // what runs may end while capture is off
  recorded_core::Reset();
  harness().StartOfType(tp, kGroupEvent, nullptr);
  EXPECT_EQ(StartChannel(tp, before), nullptr);
  harness().Stop(before);
  EXPECT_EQ(Read().misuse, 0u);
  EXPECT_TRUE(Read().operations.empty());
}

TEST_P(NcclPitfallsTest, AStaleHandleDoesNotReachWhatHasItsSlotNow) {
  UseOptions({}, {.operations = 1, .children = 1, .communicators = 1});
  const HarnessCommunicator first = Open(1, "a");
  void* old_operation = harness().Start(first, {.channels = 1});
  harness().Stop(old_operation);
  void* old_channel = StartChannel(first, old_operation);
  StopChannel(old_channel);
  harness().Finalize(first.context);

  const HarnessCommunicator second = Open(2, "b");
  void* operation = harness().Start(second, {.channels = 1});
  ASSERT_NE(operation, nullptr);
  EXPECT_EQ(harness().Start(first, {}), nullptr);
  EXPECT_EQ(StartChannel(second, old_operation), nullptr);
  void* channel = StartChannel(second, operation);
  ASSERT_NE(channel, nullptr);
  StopChannel(old_channel);
  harness().Stop(old_operation);
  harness().Finalize(first.context);
  EXPECT_EQ(InFlight(), 1u);
  harness().Stop(operation);
  StopChannel(channel);
  EXPECT_TRUE(Read().operations.at(1).ended);
}

TEST_P(NcclPitfallsTest, PoolsAreFull) {
  UseOptions({}, {.operations = 4, .children = 3, .communicators = 2});
  const HarnessCommunicator tp = Open(1, "a");
  Open(2, "b");
  HarnessCommunicator third = {.id = 3, .name = "c", .ranks = 4};
  EXPECT_EQ(harness().Init(&third), 0);
  EXPECT_EQ(third.context, nullptr);
  EXPECT_EQ(harness().Start(third, {}), nullptr);
  std::vector<void*> operations;
  for (int i = 0; i < 4; ++i) operations.push_back(harness().Start(tp, {.channels = 1}));
  EXPECT_EQ(harness().Start(tp, {}), nullptr);
  EXPECT_EQ(Lost(kRingFull), 1u);
  std::vector<void*> channels;
  for (int i = 0; i < 3; ++i) {
    channels.push_back(StartChannel(tp, operations[static_cast<size_t>(i)]));
  }
  EXPECT_EQ(StartChannel(tp, operations[3]), nullptr);
  for (void* operation : operations) harness().Stop(operation);
  for (void* channel : channels) StopChannel(channel);
  RunAll(tp, operations[3], 1);
  EXPECT_EQ(InFlight(), 0u);
  EXPECT_NE(harness().Start(tp, {}), nullptr) << "there is room again";
}

TEST_P(NcclPitfallsTest, TheLongestRunAheadIsBounded) {
  const HarnessCommunicator tp = Open();
  void* operation = harness().Start(tp, {});
  StartChannel(tp, operation);  // so that the communicator is known to have channels
  for (uint64_t i = 0; i < 2 * kOrderWindow; ++i) {
    void* next = harness().Start(tp, {.sequence = i});
    ASSERT_NE(next, nullptr);
    if (i % 100 == 0) StartChannel(tp, next);
  }
  EXPECT_LE(InFlight(), kOrderWindow);
  harness().Finalize(tp.context);
  EXPECT_EQ(InFlight(), 0u);
}

TEST_P(NcclPitfallsTest, CommunicatorsComeAndGoForLong) {
  void* last_context = nullptr;
  void* last_operation = nullptr;
  for (uint64_t i = 0; i < 1'000; ++i) {
    const HarnessCommunicator tp = Open(1'000 + i % 7, "again");
    EXPECT_NE(tp.context, last_context);
    HarnessCommunicator gone = tp;
    gone.context = last_context;
    EXPECT_EQ(harness().Start(gone, {}), nullptr);
    EXPECT_EQ(StartChannel(gone, last_operation), nullptr);
    last_operation = harness().Start(tp, {});
    ASSERT_NE(last_operation, nullptr);
    EXPECT_EQ(harness().Finalize(tp.context), 0);
    EXPECT_EQ(harness().Finalize(tp.context), 0);
    last_context = tp.context;
  }
  EXPECT_EQ(InFlight(), 0u);
  EXPECT_EQ(statistics().no_room, 0u);
  EXPECT_LE(Read().lanes.size(), 64u);
}

// Everything at once, in no order: whatever NCCL does, every ticket ends once and nothing crashes.
TEST_P(NcclPitfallsTest, AnyOrderOfCallsKeepsTheBooks) {
  UseOptions({.proxy_sampling = 2}, {.operations = 32, .children = 48, .communicators = 3});
  std::mt19937_64 random(20'260'611);
  std::vector<HarnessCommunicator> communicators(4);
  std::vector<void*> handles = {nullptr, reinterpret_cast<void*>(0x20)};
  const auto any = [&](auto& from) -> auto& { return from[random() % from.size()]; };
  for (int i = 0; i < 60'000; ++i) {
    HarnessCommunicator& communicator = any(communicators);
    void* handle = any(handles);
    void* made = nullptr;
    switch (random() % 11) {
      case 10:
        made = harness().Start(communicator, {.channels = 2});
        if (made != nullptr) {
          harness().Stop(made);
          RunAll(communicator, made);
        }
        break;
      case 0:
        if (communicator.context == nullptr) {
          communicator = {.id = 1 + random() % 5, .name = "", .nodes = 2, .ranks = 4, .rank = 0};
          harness().Init(&communicator);
        }
        break;
      case 1:
        if (i % 32 == 0) {  // finalized, now and then called on all the same
          harness().Finalize(communicator.context);
          if (random() % 2 == 0) communicator.context = nullptr;
        }
        break;
      case 2: made = harness().Start(communicator, {.channels = 3}); break;
      case 3: made = harness().Start(communicator, Send(static_cast<int>(random() % 6) - 1)); break;
      case 4: made = harness().StartKernelChannel(communicator, handle, 0, random()); break;
      case 5: made = harness().StartProxyOp(communicator, handle, {}); break;
      case 6: made = harness().StartOfType(communicator, kProxyStepEvent, handle); break;
      case 7: harness().Record(handle, kProxyStepSendWait, random()); break;
      case 8: harness().Record(handle, kKernelChStop, random()); break;
      default: harness().Stop(handle); break;
    }
    if (made == nullptr) continue;
    if (handles.size() < 200) {
      handles.push_back(made);
    } else {
      any(handles) = made;
    }
  }
  for (const HarnessCommunicator& communicator : communicators) {
    harness().Finalize(communicator.context);
  }
  const RecorderStatistics all = statistics();
  EXPECT_EQ(Read().misuse, 0u);
  EXPECT_GT(all.launched, 1'000u);
  EXPECT_GT(all.ended, 50u);
  EXPECT_GT(all.dropped, 100u);
  EXPECT_EQ(all.launched, all.ended + all.ended_enqueued + all.dropped);
  EXPECT_EQ(InFlight(), 0u);
}

}  // namespace
}  // namespace eroica::nccl
