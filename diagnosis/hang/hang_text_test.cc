#include "diagnosis/hang/hang_text.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

std::string Text(std::initializer_list<uint32_t> numbers) {
  std::vector<RankId> ranks;
  for (const uint32_t number : numbers) ranks.push_back(RankId{number});
  return RanksText(ranks);
}

TEST(HangText, Ranks) {
  EXPECT_EQ(Text({}), "no rank");
  EXPECT_EQ(Text({3}), "rank 3");
  EXPECT_EQ(Text({3, 4}), "ranks 3 and 4");
  EXPECT_EQ(Text({0, 1, 2, 5}), "ranks 0 to 2 and 5");
  EXPECT_EQ(Text({0, 2, 4, 6, 8, 10, 12}), "ranks 0, 2, 4, 6, 8, 10 and 12");
  EXPECT_EQ(Text({0, 2, 4, 6, 8, 10, 12, 14, 15}), "ranks 0, 2, 4, 6, 8, 10 and 3 more");
}

TEST(HangText, Operations) {
  const Communicator dp{CommId{0xab}, "dp", "data parallel", 2, {}};
  const Communicator nameless{CommId{0xab}, "", "", 2, {}};
  EXPECT_EQ(
      OperationText(
          {.communicator = &dp, .operation = CollectiveOperation::kAllReduce, .sequence = 41}),
      "all_reduce number 41 of group dp (data parallel)");
  EXPECT_EQ(OperationText({.communicator = &nameless,
                           .operation = CollectiveOperation::kSend,
                           .source = 2,
                           .destination = 5}),
            "the send from rank 2 to rank 5 over 00000000000000ab");
}

}  // namespace
}  // namespace eroica
