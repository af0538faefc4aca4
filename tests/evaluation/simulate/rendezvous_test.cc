#include "tests/evaluation/simulate/rendezvous.h"

#include <gtest/gtest.h>

#include <array>

namespace eroica::simulate {
namespace {

constexpr std::array<uint32_t, 3> kMembers = {4, 5, 6};

Rendezvous::Joining At(int64_t ready_ns,
                       CollectiveOperation operation = CollectiveOperation::kAllReduce,
                       uint64_t bytes = 8) {
  return {.ready_ns = ready_ns, .operation = operation, .declared_bytes = bytes, .bytes = bytes};
}

void End(Rendezvous& meeting, int64_t end_ns) { meeting.EndOpen({.end_ns = end_ns}); }

TEST(Rendezvous, IsFullWithItsLastMember) {
  Rendezvous meeting(kMembers);
  EXPECT_FALSE(meeting.Join(0, At(30)));
  EXPECT_FALSE(meeting.Join(0, At(10)));
  EXPECT_TRUE(meeting.Join(0, At(20)));
  EXPECT_EQ(meeting.open().latest_ready_ns, 30);
}

TEST(Rendezvous, MembersMayRunAheadButSlotsEndInOrder) {
  Rendezvous meeting(kMembers);
  for (uint32_t member = 0; member < 2; ++member) {
    for (uint32_t slot = 0; slot < 3; ++slot) EXPECT_FALSE(meeting.Join(slot, At(slot)));
  }
  EXPECT_TRUE(meeting.Join(0, At(7)));
  EXPECT_FALSE(meeting.Join(2, At(9)));  // one that is full before the one before it
  End(meeting, 100);
  EXPECT_FALSE(meeting.CanEnd());
  EXPECT_TRUE(meeting.Join(1, At(8)));
  End(meeting, 200);
  EXPECT_TRUE(meeting.CanEnd());
  EXPECT_EQ(meeting.EndBefore(0), 0);
  EXPECT_EQ(meeting.EndBefore(2), 200);
}

TEST(Rendezvous, DifferentOperationsOrSizesNeverEnd) {
  for (const Rendezvous::Joining& odd : {At(1, CollectiveOperation::kAllGather),
                                         At(1, CollectiveOperation::kAllReduce, 9), At(kNeverNs)}) {
    for (const int place : {0, 1, 2}) {
      Rendezvous meeting(kMembers);
      bool ends = false;
      for (int member = 0; member < 3; ++member)
        ends |= meeting.Join(0, member == place ? odd : At(1));
      EXPECT_FALSE(ends);
      EXPECT_FALSE(meeting.CanEnd());
    }
  }
}

TEST(Rendezvous, MembersMoveDifferentAmountsOfOneSize) {
  Rendezvous meeting(kMembers);
  for (const uint64_t bytes : {7u, 12u, 9u}) {
    Rendezvous::Joining joining = At(1);
    joining.bytes = bytes;
    meeting.Join(0, joining);
  }
  EXPECT_TRUE(meeting.CanEnd());
  EXPECT_EQ(meeting.open().bytes, 12u);
}

TEST(Rendezvous, WhatIsForgottenKeepsItsLastEnd) {
  Rendezvous meeting(kMembers);
  for (uint32_t slot = 0; slot < 100; ++slot) {
    for (int member = 0; member < 3; ++member) meeting.Join(slot, At(slot));
    End(meeting, 10 * slot);
    if (slot % 10 == 5) {
      meeting.Forget();
      EXPECT_EQ(meeting.EndOf(slot), 10 * slot);
      EXPECT_EQ(meeting.EndBefore(slot + 1), 10 * slot);
      meeting.Forget();
      EXPECT_EQ(meeting.EndBefore(slot + 1), 10 * slot);
    }
  }
  EXPECT_EQ(meeting.ended(), 100u);
}

}  // namespace
}  // namespace eroica::simulate
