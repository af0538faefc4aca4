#include "producers/nccl/operation_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "producers/nccl/child_table.h"
#include "producers/nccl/event_handle.h"

namespace eroica::nccl {
namespace {

using Left = OperationTable::Left;

TEST(EventHandle, CarriesItsPartsAndIsNeverNothing) {
  const EventHandle handle = {HandleKind::kProxyStep, 0xABC, 0xFEDC, 0x12345678};
  const EventHandle back = EventHandle::Decode(handle.Encode());
  EXPECT_EQ(back.kind, handle.kind);
  EXPECT_EQ(back.salt, handle.salt);
  EXPECT_EQ(back.index, handle.index);
  EXPECT_EQ(back.generation, handle.generation);
  EXPECT_NE((EventHandle{HandleKind::kCommunicator, 0, 0, 1}.Encode()), kNoHandle);
}

TEST(IndexStack, GivesEachIndexToOneThread) {
  constexpr uint32_t kSize = 8;
  IndexStack stack(kSize);
  std::vector<std::atomic<int>> held(kSize);
  std::atomic<int> twice{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50'000; ++i) {
        const uint32_t index = stack.Pop();
        if (index == IndexStack::kNone) continue;
        if (held[index].fetch_add(1) != 0) ++twice;
        held[index].fetch_sub(1);
        stack.Push(index);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(twice, 0);
  std::set<uint32_t> left;
  for (uint32_t i = 0; i < kSize; ++i) left.insert(stack.Pop());
  EXPECT_EQ(left.size(), kSize);
  EXPECT_EQ(stack.Pop(), IndexStack::kNone);
}

TEST(OperationTable, AHandleDiesWithItsOperation) {
  OperationTable table(1, 5);
  int children = 0;
  RunningOperation* operation = table.Allocate();
  operation->childless = true;
  const uint64_t handle = table.HandleOf(*operation);
  EXPECT_EQ(table.Pin(handle), nullptr) << "not published";
  table.Publish(operation);
  EXPECT_EQ(table.Allocate(), nullptr);
  ASSERT_EQ(table.Pin(handle), operation);
  EXPECT_EQ(table.Unpin(operation, {.stopped = true}, &children), Left::kOver);
  EXPECT_EQ(table.Pin(handle), nullptr);
  table.Free(operation);
  RunningOperation* next = table.Allocate();
  ASSERT_EQ(next, operation);
  table.Publish(next);
  EXPECT_EQ(table.Pin(handle), nullptr);
  EXPECT_NE(table.Pin(table.HandleOf(*next)), nullptr);
}

TEST(OperationTable, TheLastPinEndsIt) {
  OperationTable table(2, 5);
  int children = 0;
  RunningOperation* operation = table.Allocate();
  operation->childless = false;
  operation->expected_channels = 1;
  table.Publish(operation);
  const uint64_t handle = table.HandleOf(*operation);
  ASSERT_NE(table.Pin(handle), nullptr);
  EXPECT_EQ(table.Unpin(operation, {.children = 1}, &children), Left::kRuns);
  ASSERT_NE(table.Pin(handle), nullptr);
  ASSERT_NE(table.Pin(handle), nullptr);
  EXPECT_EQ(table.Unpin(operation, {.given_up = true}, &children), Left::kRuns)
      << "another is at it";
  EXPECT_EQ(table.Unpin(operation, {}, &children), Left::kOver);
  EXPECT_EQ(children, 1);
}

TEST(OperationTable, AChildThatNeverStartedDoesNotStop) {
  OperationTable table(1, 5);
  int children = 0;
  RunningOperation* operation = table.Allocate();
  operation->childless = false;
  operation->expected_channels = 1;
  table.Publish(operation);
  table.Pin(table.HandleOf(*operation));
  EXPECT_EQ(table.Unpin(operation, {.children = -1, .child_counts = true}, &children), Left::kRuns);
}

// Many threads start and stop children of the same operations, and give them up: each is over once.
TEST(OperationTable, ThreadsAgreeOnTheEnd) {
  constexpr int kRounds = 5'000;
  constexpr int kThreads = 4;
  OperationTable table(64, 5);
  std::vector<std::atomic<uint64_t>> handles(8);
  std::atomic<int> over{0}, made{0};
  const auto leave = [&](RunningOperation* operation, const OperationChange& change) {
    int children = 0;
    if (table.Unpin(operation, change, &children) != Left::kOver) return;
    operation->ticket = 0;  // alone with it: a second one here is a data race
    table.Free(operation);
    ++over;
  };
  const auto work = [&](unsigned seed) {
    for (int i = 0; i < kRounds; ++i) {
      std::atomic<uint64_t>& place = handles[(seed + static_cast<unsigned>(i)) % handles.size()];
      RunningOperation* operation = table.Pin(place.load());
      if (operation != nullptr) {
        leave(operation, {.children = 1});
        operation = table.Pin(place.load());
        if (operation != nullptr) leave(operation, {.children = -1, .child_counts = true});
        if (i % 3 > 0) continue;
      }
      operation = table.Allocate();
      if (operation == nullptr) continue;
      operation->ticket = 7;
      operation->childless = false;
      operation->expected_channels = 2;
      ++made;
      const uint64_t handle = table.HandleOf(*operation);
      table.Publish(operation);
      RunningOperation* before = table.Pin(place.exchange(handle));
      if (before != nullptr) leave(before, {.given_up = true});
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
  for (std::atomic<uint64_t>& place : handles) {
    RunningOperation* last = table.Pin(place.load());
    if (last != nullptr) leave(last, {.given_up = true});
  }
  EXPECT_EQ(over, made);
  EXPECT_GT(made, kRounds / 2);
}

TEST(ChildTable, AClaimIsExclusiveAndAHandleDies) {
  ChildTable table(1, 5);
  RunningChild* child = table.Allocate(HandleKind::kKernelChannel);
  ASSERT_NE(child, nullptr);
  const uint64_t handle = table.HandleOf(*child);
  EXPECT_EQ(table.Claim(handle), nullptr) << "it is the maker's until Release";
  EXPECT_EQ(table.ClaimNext(), nullptr);
  table.Release(child);
  ASSERT_EQ(table.Claim(handle), child);
  EXPECT_TRUE(table.IsLive(handle));
  table.Free(child);
  EXPECT_FALSE(table.IsLive(handle));
  EXPECT_EQ(table.Claim(handle), nullptr);
  EXPECT_EQ(table.ClaimNext(), nullptr);
}

TEST(ChildTable, AHandleOfAnotherKindIsRefused) {
  ChildTable table(1, 5);
  RunningChild* child = table.Allocate(HandleKind::kProxyStep);
  EventHandle handle = EventHandle::Decode(table.HandleOf(*child));
  table.Release(child);
  handle.kind = HandleKind::kKernelChannel;
  EXPECT_EQ(table.Claim(handle.Encode()), nullptr);
  handle.kind = HandleKind::kOperation;
  EXPECT_EQ(table.Claim(handle.Encode()), nullptr);
  handle.kind = HandleKind::kProxyStep;
  handle.index = 9;
  EXPECT_EQ(table.Claim(handle.Encode()), nullptr);
  handle.index = 0;
  EXPECT_EQ(table.Claim(handle.Encode()), child) << "a claim that was refused leaves it free";
}

}  // namespace
}  // namespace eroica::nccl
