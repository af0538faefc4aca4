#include "producers/cupti/cupti_capture.h"

#include <gtest/gtest.h>

#include <ctime>
#include <set>
#include <string>
#include <vector>

#include "producers/core/testing/recorded_core.h"
#include "producers/cupti/testing/fake_cupti_api.h"
#include "schemas/drop_reason.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

using State = CuptiCapture::State;
constexpr int64_t kStartNs = 1'700'000'000 * kNsPerSecond;

class CuptiCaptureTest : public testing::Test {
 protected:
  CuptiCaptureTest() { recorded_core::Reset(true, 1); }

  CuptiCapture::Options Options() {
    CuptiCapture::Options options;
    options.pool = {.buffer_bytes = 4'096, .buffers = 6, .spare_bytes = 1'024, .spares = 6};
    options.announce = [this](const std::string& why) { said_.push_back(why); };
    options.wake = [this] { ++wakes_; };
    return options;
  }
  // One kernel, and the turn of the capture's thread after the next flush period.
  State Turn(CuptiCapture& capture, FakeCuptiApi& api, bool kernel = true) {
    if (kernel) api.Kernel("gemm", kStartNs, kStartNs + 5);
    return capture.Step(now_ += kNsPerSecond);
  }
  // Turns without any kernel until the capture is elsewhere, at most an hour.
  State Idle(CuptiCapture& capture, State from, int64_t seconds = 3'600) {
    State state = from;
    for (int64_t i = 0; i < seconds && state == from; ++i)
      state = capture.Step(now_ += kNsPerSecond);
    return state;
  }
  static size_t Kernels() { return recorded_core::Read().intervals.size(); }
  static std::vector<int> Marks() {
    std::vector<int> kinds;
    for (const auto& mark : recorded_core::Read().marks) kinds.push_back(mark.kind);
    return kinds;
  }
  static uint64_t Lost(DropReason reason) {
    uint64_t lost = 0;
    for (const auto& loss : recorded_core::Read().losses) {
      if (loss.reason == static_cast<uint8_t>(reason)) lost += loss.count;
    }
    return lost;
  }
  const std::vector<int> suspended_ = {EROICA_CAPTURE_SUSPENDED};
  const std::vector<int> and_resumed_ = {EROICA_CAPTURE_SUSPENDED, EROICA_CAPTURE_RESUMED};

  FakeCuptiApi api_;
  int64_t now_ = 0;
  int wakes_ = 0;
  std::vector<std::string> said_;
};

TEST_F(CuptiCaptureTest, WithoutAGpuItIsOffAndSaysSoOnce) {
  api_.BreakDown();
  CuptiCapture capture(api_, Options());
  EXPECT_EQ(capture.Start(now_), State::kOff);
  EXPECT_EQ(Turn(capture, api_), State::kOff);
  capture.RequestYield(true);
  EXPECT_EQ(Turn(capture, api_), State::kOff);
  capture.Stop();
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_NE(said_[0].find("999"), std::string::npos) << said_[0];
  EXPECT_TRUE(Marks().empty());
}

TEST_F(CuptiCaptureTest, TakesWhatIsFlushed) {
  CuptiCapture capture(api_, Options());
  EXPECT_EQ(capture.Start(now_), State::kCapturing);
  EXPECT_EQ(api_.enabled().size(), 5u);
  EXPECT_FALSE(api_.records_unfinished_queries());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Turn(capture, api_), State::kCapturing);
  EXPECT_EQ(Kernels(), 10u);
  EXPECT_EQ(wakes_, 10);
  EXPECT_TRUE(Marks().empty());
  EXPECT_TRUE(recorded_core::Read().losses.empty());
}

// A flush brings more records at once than the core's ring holds.
TEST_F(CuptiCaptureTest, WaitsUntilTheCoreHasRoom) {
  CuptiCapture capture(api_, Options());
  capture.Start(now_);
  recorded_core::SetFullFor(5);
  Turn(capture, api_);
  EXPECT_EQ(Kernels(), 1u);
}

TEST_F(CuptiCaptureTest, FlushesOnlyOnceAPeriodHoweverOftenItIsWoken) {
  CuptiCapture capture(api_, Options());
  capture.Start(0);
  for (int64_t now = 0; now < 2 * kNsPerSecond; now += 10'000'000) capture.Step(now);
  EXPECT_EQ(api_.flushes(), 3);
}

TEST_F(CuptiCaptureTest, AtTheEndUnfinishedBuffersComeToo) {
  api_.KeepIncomplete(true);
  CuptiCapture capture(api_, Options());
  capture.Start(now_);
  Turn(capture, api_);
  EXPECT_EQ(Kernels(), 0u);
  capture.Stop();
  EXPECT_EQ(Kernels(), 1u);
  EXPECT_EQ(api_.forced_flushes(), 1);
  EXPECT_TRUE(api_.enabled().empty());
}

TEST_F(CuptiCaptureTest, FollowsTheCaptureLevel) {
  recorded_core::SetCaptureLevel(0);
  CuptiCapture capture(api_, Options());
  EXPECT_EQ(capture.Start(now_), State::kIdle);
  EXPECT_TRUE(api_.enabled().empty());
  Turn(capture, api_);
  recorded_core::SetCaptureLevel(2);
  EXPECT_EQ(Turn(capture, api_, false), State::kCapturing);
  EXPECT_EQ(Turn(capture, api_), State::kCapturing);
  EXPECT_EQ(Kernels(), 1u);
  api_.Kernel("last", kStartNs, kStartNs + 1);
  recorded_core::SetCaptureLevel(0);
  EXPECT_EQ(Turn(capture, api_, false), State::kIdle);
  EXPECT_EQ(Kernels(), 2u);  // what had been taken still comes
  EXPECT_TRUE(api_.enabled().empty());
  Turn(capture, api_);
  EXPECT_EQ(Kernels(), 2u);
  EXPECT_TRUE(Marks().empty());  // that was asked for: nothing is suspended
}

TEST_F(CuptiCaptureTest, HandsOverOnRequestAndTakesBack) {
  CuptiCapture capture(api_, Options());
  capture.Start(now_);
  api_.Kernel("before", kStartNs, kStartNs + 1);
  capture.RequestYield(true);
  EXPECT_EQ(capture.Step(++now_), State::kYielded);
  EXPECT_EQ(Kernels(), 1u);
  EXPECT_FALSE(api_.has_buffer());  // nothing of ours is left in CUPTI
  EXPECT_TRUE(api_.records_unfinished_queries());
  EXPECT_TRUE(api_.enabled().empty());
  EXPECT_EQ(Marks(), suspended_);
  // torch.profiler: its own callbacks and kinds, and it keeps its subscription afterwards.
  const int probes = api_.probes();
  api_.HoldBy(true);
  api_.ReplaceCallbacks();
  api_.Enable(ActivityKind::kConcurrentKernel);
  EXPECT_EQ(Idle(capture, State::kYielded, 600), State::kYielded);
  Turn(capture, api_);
  EXPECT_EQ(Kernels(), 1u);
  capture.RequestYield(false);
  EXPECT_EQ(capture.Step(++now_), State::kCapturing);
  EXPECT_EQ(Marks(), and_resumed_);
  Turn(capture, api_);
  EXPECT_EQ(Kernels(), 2u);
  recorded_core::SetCaptureLevel(0);
  Turn(capture, api_, false);
  recorded_core::SetCaptureLevel(1);
  EXPECT_EQ(Turn(capture, api_, false), State::kCapturing);
  // However quiet it gets: who yields on request does not guess.
  EXPECT_EQ(Idle(capture, State::kCapturing, 600), State::kCapturing);
  EXPECT_EQ(api_.probes(), probes);
}

TEST_F(CuptiCaptureTest, AskedTwiceItYieldsOnce) {
  CuptiCapture capture(api_, Options());
  capture.RequestYield(false);
  EXPECT_EQ(capture.Start(now_), State::kCapturing);
  for (int i = 0; i < 2; ++i) {
    capture.RequestYield(true);
    EXPECT_EQ(Turn(capture, api_), State::kYielded);
  }
  for (int i = 0; i < 2; ++i) {
    capture.RequestYield(false);
    EXPECT_EQ(Turn(capture, api_), State::kCapturing);
  }
  EXPECT_EQ(Marks(), and_resumed_);
}

TEST_F(CuptiCaptureTest, YieldedWhileTheLevelIsZeroItResumesToNothing) {
  recorded_core::SetCaptureLevel(0);
  CuptiCapture capture(api_, Options());
  capture.Start(now_);
  capture.RequestYield(true);
  EXPECT_EQ(Turn(capture, api_), State::kYielded);
  capture.RequestYield(false);
  EXPECT_EQ(Turn(capture, api_), State::kIdle);
  EXPECT_EQ(Marks(), and_resumed_);
}

TEST_F(CuptiCaptureTest, LeavesCuptiToWhoHasItFirst) {
  api_.HoldBy(true);  // nsys, ncu, cuda-gdb
  CuptiCapture capture(api_, Options());
  EXPECT_EQ(capture.Start(now_), State::kDisplaced);
  EXPECT_EQ(api_.registrations(), 0);
  EXPECT_TRUE(api_.enabled().empty());
  EXPECT_EQ(Marks(), suspended_);
  EXPECT_EQ(Idle(capture, State::kDisplaced), State::kDisplaced);
  EXPECT_LT(api_.probes(), 80);  // about once a minute
  api_.HoldBy(false);
  EXPECT_EQ(Idle(capture, State::kDisplaced), State::kCapturing);
  EXPECT_EQ(Marks(), and_resumed_);
  Turn(capture, api_);
  EXPECT_EQ(Kernels(), 1u);
  EXPECT_TRUE(said_.empty());
}

TEST_F(CuptiCaptureTest, NoticesThatItsCallbacksWereReplacedAndSuspends) {
  CuptiCapture capture(api_, Options());
  capture.Start(now_);
  Turn(capture, api_);
  api_.HoldBy(true);  // torch.profiler, and nobody told us
  api_.ReplaceCallbacks();
  State state = State::kCapturing;
  int turns = 0;
  for (; turns < 100 && state == State::kCapturing; ++turns) state = Turn(capture, api_);
  EXPECT_EQ(state, State::kDisplaced);
  EXPECT_LE(turns, 12);
  EXPECT_FALSE(api_.enabled().empty());  // the kinds are the other client's now
  EXPECT_GT(api_.foreign_records(), 5u);
  EXPECT_EQ(Marks(), suspended_);
  api_.HoldBy(false);
  EXPECT_EQ(Idle(capture, State::kDisplaced), State::kCapturing);
  Turn(capture, api_);
  EXPECT_EQ(Kernels(), 2u);
  EXPECT_EQ(capture.counts().displaced, 1u);
}

TEST_F(CuptiCaptureTest, RegistersAgainWhereTheOtherClientIsGone) {
  CuptiCapture capture(api_, Options());
  capture.Start(now_);
  Turn(capture, api_);
  api_.ReplaceCallbacks();  // and left without a word, its kinds disabled
  api_.Disable(ActivityKind::kConcurrentKernel);
  EXPECT_EQ(Idle(capture, State::kCapturing, 12), State::kCapturing);
  EXPECT_EQ(capture.counts().retaken, 1u);
  Turn(capture, api_);
  EXPECT_EQ(Kernels(), 2u);
  EXPECT_TRUE(Marks().empty());
}

// An idle device: asking costs next to nothing, ever more rarely, and changes nothing.
TEST_F(CuptiCaptureTest, AnIdleDeviceIsNoReasonToWorry) {
  CuptiCapture capture(api_, Options());
  capture.Start(now_);
  Turn(capture, api_);
  EXPECT_EQ(Idle(capture, State::kCapturing), State::kCapturing);
  EXPECT_LT(api_.probes(), 45);
  Turn(capture, api_);
  EXPECT_EQ(Kernels(), 2u);
  EXPECT_TRUE(Marks().empty());
}

// A kernel that never ends, as in a hang: its buffer stays with CUPTI and still counts when it
// comes.
TEST_F(CuptiCaptureTest, ABufferThatCuptiKeepsForLongIsStillOurs) {
  CuptiCapture capture(api_, Options());
  capture.Start(now_);
  api_.KeepIncomplete(true);
  api_.Kernel("hangs", kStartNs, kStartNs + 1);
  EXPECT_EQ(Idle(capture, State::kCapturing, 600), State::kCapturing);
  EXPECT_EQ(Kernels(), 0u);
  api_.KeepIncomplete(false);
  Turn(capture, api_, false);
  EXPECT_EQ(Kernels(), 1u);
}

TEST_F(CuptiCaptureTest, ClientsThatKeepOurBuffersAgainAndAgainEndIt) {
  CuptiCapture capture(api_, Options());
  capture.Start(now_);
  State state = State::kCapturing;
  for (int i = 0; i < 20 && state == State::kCapturing; ++i) {
    api_.Kernel("k", kStartNs, kStartNs + 1);  // takes a buffer
    api_.ReplaceCallbacks();                   // that nobody brings back
    state = Idle(capture, State::kCapturing, 300);
  }
  EXPECT_EQ(state, State::kOff);
  EXPECT_EQ(said_.size(), 1u);
}

TEST_F(CuptiCaptureTest, ClientsPerSubscriberAreClientsToo) {
  api_.RefuseEnable(kCuptiNotCompatible);
  CuptiCapture capture(api_, Options());
  EXPECT_EQ(capture.Start(now_), State::kDisplaced);
  api_.RefuseEnable(kCuptiSuccess);
  EXPECT_EQ(Idle(capture, State::kDisplaced), State::kCapturing);
  EXPECT_TRUE(said_.empty());
}

TEST_F(CuptiCaptureTest, RepeatedTroubleSwitchesItOff) {
  CuptiCapture capture(api_, Options());
  capture.Start(now_);
  recorded_core::SetCaptureLevel(0);
  capture.Step(now_ += kNsPerSecond);
  api_.RefuseEnable(kCuptiUnknownError);
  recorded_core::SetCaptureLevel(1);
  EXPECT_EQ(capture.Step(now_ += kNsPerSecond), State::kDisplaced);
  EXPECT_EQ(Idle(capture, State::kDisplaced), State::kOff);
  EXPECT_EQ(said_.size(), 1u);
}

TEST_F(CuptiCaptureTest, FlushesThatFailAgainAndAgainSwitchItOff) {
  CuptiCapture capture(api_, Options());
  capture.Start(now_);
  api_.BreakDown();
  EXPECT_EQ(Idle(capture, State::kCapturing), State::kOff);
  EXPECT_EQ(said_.size(), 1u);
}

TEST_F(CuptiCaptureTest, DroppedRecordsAreLosses) {
  CuptiCapture capture(api_, Options());
  capture.Start(now_);
  api_.DropRecords(41);
  Turn(capture, api_);
  Turn(capture, api_);
  EXPECT_EQ(Lost(DropReason::kQueueFull), 41u);
  EXPECT_EQ(capture.counts().dropped_by_cupti, 41u);
}

TEST_F(CuptiCaptureTest, AClockThatAnotherClientSetIsSetBackOrNothingIsTaken) {
  api_.StampBy(-kStartNs);
  CuptiCapture capture(api_, Options());
  EXPECT_EQ(capture.Start(now_), State::kCapturing);  // set back
  api_.StampBy(-kStartNs);
  api_.KeepClock(true);
  capture.RequestYield(true);
  capture.Step(++now_);
  capture.RequestYield(false);
  EXPECT_EQ(capture.Step(++now_), State::kDisplaced);
  EXPECT_TRUE(api_.enabled().empty());
  EXPECT_EQ(Marks(), suspended_);
  api_.KeepClock(false);
  EXPECT_EQ(Idle(capture, State::kDisplaced), State::kCapturing);
}

// Our thread is late: the oldest records go, the process does not wait, CUPTI always has a buffer.
TEST_F(CuptiCaptureTest, ABurstLosesTheOldestRecordsAndSaysHowMany) {
  CuptiCapture capture(api_, Options());
  capture.Start(now_);
  constexpr uint64_t kBurst = 1'000;  // 19 a buffer, 6 buffers
  for (uint64_t i = 0; i < kBurst; ++i) api_.Kernel("k", kStartNs, kStartNs + 1);
  Turn(capture, api_, false);
  EXPECT_FALSE(api_.crashed());
  EXPECT_GT(Kernels(), 90u);
  EXPECT_NEAR(static_cast<double>(Kernels() + Lost(DropReason::kQueueFull)), kBurst, 10);
  EXPECT_EQ(capture.state(), State::kCapturing);
}

// CUPTI before 12.9 holds all buffers at once: it gets spares, and we stop it before these are used
// up.
TEST_F(CuptiCaptureTest, CuptiThatHoldsEverythingIsStopped) {
  CuptiCapture capture(api_, Options());
  capture.Start(now_);
  api_.KeepIncomplete(true);
  const auto fill = [&] {
    // 6 buffers of 19 kernels, then spares of 4.
    for (int i = 0; i < 6 * 19 + 10; ++i) api_.Kernel("k", kStartNs, kStartNs + 1);
  };
  fill();
  EXPECT_EQ(Turn(capture, api_, false), State::kDisplaced);
  EXPECT_FALSE(api_.crashed());
  EXPECT_TRUE(api_.enabled().empty());
  EXPECT_EQ(Kernels(), 124u);  // all of them came with the forced flush
  EXPECT_EQ(Marks(), suspended_);
  // It goes on, but not for ever.
  State state = State::kDisplaced;
  for (int i = 0; i < 10 && state != State::kOff; ++i) {
    if (Idle(capture, State::kDisplaced) == State::kCapturing) fill();
    state = Turn(capture, api_, false);
  }
  EXPECT_EQ(state, State::kOff);
  EXPECT_EQ(said_.size(), 1u);
  EXPECT_FALSE(api_.crashed());
}

// CUPTI since 12.9 counts what it got no buffer for.
TEST_F(CuptiCaptureTest, NewerCuptiIsRefused) {
  FakeCuptiApi api(FakeCuptiApi::Cuda135(), 130'500);
  CuptiCapture capture(api, Options());
  capture.Start(now_);
  api.KeepIncomplete(true);
  for (int i = 0; i < 200; ++i) api.Kernel("k", kStartNs, kStartNs + 1);  // 16 a buffer, 6 buffers
  EXPECT_EQ(Turn(capture, api, false), State::kCapturing);
  EXPECT_FALSE(api.crashed());
  EXPECT_EQ(Lost(DropReason::kQueueFull), 200u - 6 * 16);
  EXPECT_EQ(capture.counts().pool.refused, 200u - 6 * 16);
}

TEST_F(CuptiCaptureTest, OneAfterTheOther) {
  for (int i = 0; i < 3; ++i) {
    FakeCuptiApi api(FakeCuptiApi::Cuda135(), 130'500);
    CuptiCapture capture(api, Options());
    capture.Start(now_);
    Turn(capture, api);
    capture.Stop();
  }
  EXPECT_EQ(Kernels(), 3u);
}

}  // namespace
}  // namespace eroica
