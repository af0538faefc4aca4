#include "producers/core/capture_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

#include "schemas/time_unit.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Of a job whose control topic is two vectors.
class MadeUpTransport final : public Transport {
 public:
  absl::Status Write(const EventBatch&) override { return absl::OkStatus(); }
  absl::Status Close(std::chrono::milliseconds) override { return absl::OkStatus(); }
  uint64_t bytes() const override { return 0; }
  std::vector<Control> ReadControls() override { return std::exchange(incoming, {}); }
  absl::Status RequestCapture(const Control& control) override {
    requested.push_back(control);
    return absl::OkStatus();
  }
  std::vector<Control> incoming;
  std::vector<Control> requested;
};

class CaptureRequestsTest : public ::testing::Test {
 protected:
  CaptureRequestsTest() {
    identity_.job = JobId{"job"};
    identity_.rank = RankId{3};
    identity_.world_size = 8;
    ring_ = state_.rings->Claim(1);
  }
  void Train(int steps, int64_t step_ns) {
    for (int i = 0; i < steps; ++i) {
      ASSERT_TRUE(ring_->Push(std::array{RingSlot{.a = now_ns_,
                                                  .e = static_cast<uint8_t>(MarkKind::kStepBegin),
                                                  .kind = SlotKind::kMark}}));
      now_ns_ += step_ns;
    }
    emitter_.Tick(now_ns_);
  }
  CaptureRequests::Answer Tick() {
    now_ns_ += CaptureRequests::kReadIntervalNs;
    return requests_.Tick(now_ns_, identity_, emitter_, transport_);
  }

  CoreState state_{RingPool::Make()};
  ProducerIdentity identity_;
  MadeUpTransport transport_;
  Emitter emitter_{&state_, EmitterOptions{.identity = {.job = JobId{"job"}, .world_size = 8}},
                   &transport_};
  CaptureRequests requests_;
  EventRing* ring_ = nullptr;
  int64_t now_ns_ = 100 * kNsPerSecond;
};

TEST_F(CaptureRequestsTest, ARankThatBecomesSlowAsksOnceForStepsThatAreStillToCome) {
  Train(301, kNsPerSecond / 10);
  Tick();
  EXPECT_THAT(transport_.requested, IsEmpty());
  Train(60, kNsPerSecond / 5);
  Tick();
  ASSERT_THAT(transport_.requested, SizeIs(1));
  const Control& asked = transport_.requested[0];
  EXPECT_EQ(asked.job, JobId{"job"});
  EXPECT_GT(asked.first_step, emitter_.step());
  EXPECT_EQ(asked.last_step - asked.first_step + 1, 100);
  EXPECT_THAT(asked.requester, HasSubstr("rank 3 (slow)"));
  Train(60, kNsPerSecond / 2);
  Tick();
  EXPECT_THAT(transport_.requested, SizeIs(1));
}

TEST_F(CaptureRequestsTest, WhoHasHeardOfARequestIsQuiet) {
  transport_.incoming = {{.job = JobId{"job"},
                          .capture_level = CaptureLevel::kEvents,
                          .first_step = 500,
                          .last_step = 600,
                          .requester = "rank 1"}};
  Train(301, kNsPerSecond / 10);
  Tick();
  Train(60, kNsPerSecond / 5);
  Tick();
  EXPECT_THAT(transport_.requested, IsEmpty());
}

TEST_F(CaptureRequestsTest, OffIsForThisJobAndNotForever) {
  transport_.incoming = {
      {.job = JobId{"other"}, .capture_level = CaptureLevel::kOff},
      {.job = JobId{"job"}, .capture_level = CaptureLevel::kOff, .expires_at_ns = 5}};
  EXPECT_EQ(Tick(), CaptureRequests::Answer::kGoOn);
  transport_.incoming = {{.job = JobId{"job"}, .capture_level = CaptureLevel::kOff}};
  EXPECT_EQ(Tick(), CaptureRequests::Answer::kStop);
}

TEST(CapturePlan, RefusesWhatCannotBeAndTooMuch) {
  CapturePlan plan(CaptureLevel::kCollectives);
  plan.StepBegan(50, kNsPerSecond);
  EXPECT_FALSE(plan.Add({.capture_level = CaptureLevel::kEvents, .first_step = 9, .last_step = 5},
                        kNsPerSecond));
  EXPECT_FALSE(plan.Add({.capture_level = CaptureLevel::kEvents, .first_step = 9, .last_step = 50},
                        kNsPerSecond));
  EXPECT_FALSE(plan.Add({.capture_level = CaptureLevel::kEvents,
                         .first_step = 60,
                         .last_step = 70,
                         .expires_at_ns = 1},
                        kNsPerSecond));
  for (size_t i = 0; i < CapturePlan::kMostWindows; ++i) {
    const auto first = static_cast<int64_t>(60 + i);
    EXPECT_TRUE(plan.Add(
        {.capture_level = CaptureLevel::kEvents, .first_step = first, .last_step = 1 << 30},
        kNsPerSecond));
    EXPECT_FALSE(plan.Add(
        {.capture_level = CaptureLevel::kEvents, .first_step = first, .last_step = 1 << 30},
        kNsPerSecond));
  }
  EXPECT_FALSE(plan.Add(
      {.capture_level = CaptureLevel::kEvents, .first_step = 99, .last_step = 100}, kNsPerSecond));
  EXPECT_EQ(plan.Gate(1, kNsPerSecond), CaptureLevel::kCollectives);
  EXPECT_EQ(plan.Gate(20, kNsPerSecond), CaptureLevel::kEvents);
}

TEST(CapturePlan, ALateRequestBeginsWithTheNextStepAndEndsWithItsLast) {
  CapturePlan plan(CaptureLevel::kCollectives);
  plan.StepBegan(10, 10 * kNsPerSecond);
  ASSERT_TRUE(plan.Add({.capture_level = CaptureLevel::kEvents, .first_step = 5, .last_step = 11},
                       10 * kNsPerSecond));
  EXPECT_FALSE(plan.Keeps(10 * kNsPerSecond + 1));
  plan.StepBegan(11, 11 * kNsPerSecond);
  plan.StepBegan(12, 12 * kNsPerSecond);
  EXPECT_FALSE(plan.Keeps(11 * kNsPerSecond - 1));
  EXPECT_TRUE(plan.Keeps(11 * kNsPerSecond));
  EXPECT_FALSE(plan.Keeps(12 * kNsPerSecond));
}

// The rounds of the emitter reckon with when a window ended.
TEST(CapturePlan, ABrokenStampNeitherBeginsNorEndsAWindow) {
  constexpr int64_t kNow = 100 * kNsPerSecond;
  CapturePlan plan(CaptureLevel::kCollectives);
  ASSERT_TRUE(
      plan.Add({.capture_level = CaptureLevel::kEvents, .first_step = 5, .last_step = 6}, kNow));
  plan.StepBegan(5, std::numeric_limits<int64_t>::min());
  EXPECT_FALSE(plan.Keeps(kNow));
  plan.StepBegan(6, kNow);
  EXPECT_TRUE(plan.Keeps(kNow + 1));
  plan.StepBegan(7, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(plan.Gate(0, kNow), CaptureLevel::kCollectives) << "the step is no longer wanted";
  plan.StepBegan(8, kNow + 2);
  EXPECT_TRUE(plan.Keeps(kNow + 1));
  EXPECT_FALSE(plan.Keeps(kNow + 2));
  plan.Gate(0, kNow + 61 * kNsPerSecond);
  EXPECT_FALSE(plan.Keeps(kNow + 1)) << "what ended long ago is forgotten";
}

}  // namespace
}  // namespace eroica
