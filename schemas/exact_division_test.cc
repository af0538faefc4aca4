#include "schemas/exact_division.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

constexpr uint64_t kDividendMax = std::numeric_limits<uint64_t>::max();

TEST(ExactDivision, DividesMultiples) {
  for (const uint32_t divisor :
       {1u, 2u, 3u, 7u, 10u, 1'000u, 1'024u, 1'000'000u, 4'294'967'295u, 2'147'483'648u}) {
    ExactDivision division(divisor);
    for (const uint64_t quotient :
         {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{999'999'937}, kDividendMax / divisor}) {
      EXPECT_EQ(division(quotient * divisor), quotient) << divisor;
    }
    EXPECT_TRUE(division.exact());
  }
}

TEST(ExactDivision, RemembersARemainder) {
  for (const uint32_t divisor : {2u, 3u, 7u, 10u, 1'000u, 1'024u, 4'294'967'295u}) {
    for (const uint64_t value : {uint64_t{1}, uint64_t{divisor} - 1, uint64_t{divisor} + 1,
                                 uint64_t{divisor} * 12'345 + 1}) {
      ExactDivision division(divisor);
      division(value);
      EXPECT_FALSE(division.exact()) << value << " / " << divisor;
      division(divisor);
      EXPECT_FALSE(division.exact());
    }
  }
}

}  // namespace
}  // namespace eroica
