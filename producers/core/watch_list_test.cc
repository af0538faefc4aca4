#include "producers/core/watch_list.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

TEST(WatchList, LooksAtEachAsOftenAsItIsAskedAndAtNoneBeyondItsRoom) {
  WatchList watches;
  watches.LookAtAll();
  std::array<int, WatchList::kMost + 1> looks{};
  for (size_t i = 0; i < looks.size(); ++i) {
    const bool has_room = watches.Add([](void* count) { ++*static_cast<int*>(count); }, &looks[i]);
    EXPECT_EQ(has_room, i < WatchList::kMost);
  }
  watches.LookAtAll();
  watches.LookAtAll();
  for (size_t i = 0; i < looks.size(); ++i) EXPECT_EQ(looks[i], i < WatchList::kMost ? 2 : 0);
}

}  // namespace
}  // namespace eroica
