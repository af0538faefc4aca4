// Functions times steps, and times gaps, are more than anybody has memory for.
#include <gtest/gtest.h>

#include <vector>

#include "stream_ops/pattern/collective_gaps.h"
#include "stream_ops/pattern/step_activity.h"

namespace eroica {
namespace {

TEST(StepActivity, CountsNoMoreThanItHasRoomFor) {
  const std::vector<StepSpan> steps{{0, 0, 10}, {1, 10, 20}, {2, 20, 30}};
  CriticalClock clock;
  clock.Set({{0, 30}}, {});
  StepActivity activity(/*most_entries=*/4);
  activity.Start(steps);
  std::vector<uint32_t> marks(3);
  for (uint32_t function = 0; function < marks.size(); ++function)
    activity.Add(function, 0, 30, clock, &marks[function]);
  activity.Finish(marks.size());
  EXPECT_EQ(activity.Of(0), 3u);
  EXPECT_EQ(activity.Of(1), 1u);
  EXPECT_EQ(activity.Of(2), 0u);
}

TEST(CollectiveGaps, TellsOfWhatItHasRoomFor) {
  const std::vector<FunctionTraits> functions{{.id = FunctionId{1}}, {.id = FunctionId{2}}};
  CriticalClock clock;
  clock.Set({{0, 60}}, {});
  CollectiveGaps gaps(/*most_shares=*/3);
  gaps.Start(0);
  for (int64_t i = 0; i < 3; ++i) gaps.AddCollective(kNoTicket, 10 + 20 * i, 20 + 20 * i);
  gaps.Add(0, 0, 60, 60, clock);
  gaps.Add(1, 0, 60, 60, clock);
  gaps.Finish(functions);
  ASSERT_EQ(gaps.collectives().size(), 3u);
  for (const CollectiveExposure& collective : gaps.collectives()) {
    EXPECT_EQ(collective.before, 0u);
    EXPECT_EQ(collective.before_ns, 10);
  }
  gaps.Start(0);
  gaps.AddCollective(kNoTicket, 10, 20);
  gaps.Add(1, 0, 10, 10, clock);
  gaps.Finish(functions);
  EXPECT_EQ(gaps.collectives()[0].before, 1u) << "the next window has room of its own";
}

}  // namespace
}  // namespace eroica
