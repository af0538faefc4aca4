#include "producers/host/host_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <future>
#include <set>
#include <thread>

#include "producers/core/testing/recorded_core.h"
#include "producers/host/testing/made_up_files.h"
#include "schemas/testing/failing_new.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

class MadeUpGpu : public GpuDevice {
 public:
  explicit MadeUpGpu(std::vector<GpuReading> readings) : readings_(std::move(readings)) {}
  GpuReading Read(uint64_t) override {
    return next_ < readings_.size() ? readings_[next_++] : GpuReading{};
  }

 private:
  std::vector<GpuReading> readings_;
  size_t next_ = 0;
};

class HostSamplerTest : public ::testing::Test {
 protected:
  HostSamplerTest() { recorded_core::Reset(); }
  HostSamplerOptions Options() {
    HostSamplerOptions options;
    options.host = "node-1";
    options.world_size = 2;
    options.exchange_folder = files_.At("exchange");
    return options;
  }
  void Run(HostSampler& sampler, int64_t seconds) {
    for (int64_t i = 0; i < seconds * 20; ++i) sampler.Tick(now_ns_ += 50 * kNsPerMs);
  }
  static std::set<int> Resources() {
    std::set<int> resources;
    for (const auto& sample : recorded_core::Read().samples) resources.insert(sample.resource);
    return resources;
  }
  static std::vector<float> Samples(int resource) {
    std::vector<float> values;
    for (const auto& sample : recorded_core::Read().samples) {
      if (sample.resource == resource) values.push_back(sample.value);
    }
    return values;
  }

  MadeUpFiles files_;
  int64_t now_ns_ = 1'000'000 * kNsPerMs;
};

TEST_F(HostSamplerTest, OnThisMachine) {
  HostSampler sampler(Options());
  Run(sampler, 5);
  EXPECT_THAT(Resources(), IsSupersetOf({EROICA_CPU, EROICA_CPU_WAIT, EROICA_MEMORY}));
  const auto taken = recorded_core::Read();
  EXPECT_EQ(taken.misuse, 0u);
  for (size_t i = 0; i < taken.samples.size(); ++i) {
    EXPECT_GE(taken.samples[i].value, 0);
    EXPECT_LE(taken.samples[i].value, 1);
    EXPECT_TRUE(i == 0 || taken.samples[i].time_ns >= taken.samples[i - 1].time_ns);
  }
  EXPECT_TRUE(std::filesystem::exists(files_.At("exchange/rank-0.ends")));
  EXPECT_TRUE(std::filesystem::exists(files_.At("exchange/host-node-1.lock")));
}

TEST_F(HostSamplerTest, WithoutAnySourceItIsSilent) {
  HostSamplerOptions options = Options();
  options.proc_root = options.sys_root = files_.At("nothing");
  options.exchange_folder = "/nowhere/at/all";
  HostSampler sampler(std::move(options));
  Run(sampler, 20);
  const auto taken = recorded_core::Read();
  EXPECT_THAT(taken.samples, IsEmpty());
  EXPECT_THAT(taken.intervals, IsEmpty());
  EXPECT_THAT(taken.losses, IsEmpty());
}

TEST_F(HostSamplerTest, NobodySpeaksForTheHostThroughAFolderThatOthersMayWrite) {
  std::filesystem::create_directories(files_.At("exchange"));
  std::filesystem::permissions(files_.At("exchange"), std::filesystem::perms::all);
  HostSampler sampler(Options());
  Run(sampler, 5);
  EXPECT_THAT(Resources(), ElementsAre(EROICA_CPU, EROICA_CPU_WAIT));
  EXPECT_FALSE(std::filesystem::exists(files_.At("exchange/host-node-1.lock")));
}

TEST_F(HostSamplerTest, SwitchedOffItDoesNothing) {
  recorded_core::Reset(false);
  int opened = 0;
  HostSamplerOptions options = Options();
  options.open_gpu = [&] { return ++opened, nullptr; };
  HostSampler sampler(std::move(options));
  Run(sampler, 2);
  EXPECT_EQ(opened, 0);
  EXPECT_FALSE(std::filesystem::exists(files_.At("exchange")));
}

TEST_F(HostSamplerTest, TheDeviceIsOpenedOnceAndSaysWhatItKnows) {
  int opened = 0;
  HostSamplerOptions options = Options();
  options.open_gpu = [&] {
    ++opened;
    return std::make_unique<MadeUpGpu>(std::vector<GpuReading>{
        {.clock_share = 0.5, .throttled = true, .memory_errors = 7, .others_share = 0.25},
        {.clock_share = 7.0, .throttled = false, .memory_errors = 7, .others_share = {}},
        {.clock_share = {}, .throttled = {}, .memory_errors = 8, .others_share = {}}});
  };
  HostSampler sampler(std::move(options));
  Run(sampler, 10);
  EXPECT_EQ(opened, 1);
  EXPECT_THAT(Samples(EROICA_GPU_CLOCK), ElementsAre(0.5f, 1.0f));
  EXPECT_THAT(Samples(EROICA_GPU_THROTTLED), ElementsAre(1.0f, 0.0f));
  EXPECT_THAT(Samples(EROICA_GPU_OTHERS), ElementsAre(0.25f));
  EXPECT_THAT(Samples(EROICA_GPU_ERRORS), ElementsAre(0.0f, 1.0f));
}

TEST_F(HostSamplerTest, NoDeviceNoSamples) {
  HostSamplerOptions options = Options();
  options.open_gpu = [] { return std::unique_ptr<GpuDevice>(); };
  HostSampler sampler(std::move(options));
  Run(sampler, 5);
  EXPECT_THAT(Samples(EROICA_GPU_CLOCK), IsEmpty());
}

TEST_F(HostSamplerTest, WhereThereIsNoMemoryToStartNothingIsSampledAndThatIsSaid) {
  HostSamplerOptions options = Options();
  ::testing::internal::CaptureStderr();
  const auto make = [&] {
    const FailingNew no_memory(FailingNew::Where::kThisThread);
    return HostSampler(std::move(options));
  };
  HostSampler sampler = make();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("the sampler of the host records no more: an exception of a library "
                        "(std::bad_alloc"));
  Run(sampler, 5);
  EXPECT_THAT(recorded_core::Read().samples, IsEmpty());
}

// Of memory, or of whatever else: the rank goes on, the sampler does not.
// Throws at producers/host/host_sampler.cc: the sampler of the host
TEST_F(HostSamplerTest, AnErrorThatNobodyExpectsSwitchesItOff) {
  HostSamplerOptions options = Options();
  options.open_gpu = []() -> std::unique_ptr<GpuDevice> { throw std::bad_alloc(); };
  HostSampler sampler(std::move(options));
  Run(sampler, 1);
  const size_t before = recorded_core::Read().samples.size();
  Run(sampler, 2);
  EXPECT_EQ(recorded_core::Read().samples.size(), before);
}

// One core shared with a program that is not of the job, in made-up files.
TEST_F(HostSamplerTest, SoDoesWhatIsThrownAndIsNoException) {
  HostSamplerOptions options = Options();
  options.open_gpu = []() -> std::unique_ptr<GpuDevice> { throw 7; };
  HostSampler sampler(std::move(options));
  Run(sampler, 1);
  const size_t samples = recorded_core::Read().samples.size();
  Run(sampler, 5);
  EXPECT_EQ(recorded_core::Read().samples.size(), samples);
}

// Its own numbers: those of the thread that trains are made up, the main thread has none.
TEST_F(HostSamplerTest, FollowsTheThreadThatTrains) {
  HostSamplerOptions options = Options();
  options.proc_root = files_.At("proc");
  options.sys_root = files_.At("sys");
  options.exchange_folder = "";
  HostSampler sampler(std::move(options));
  Run(sampler, 1);
  EXPECT_THAT(Samples(EROICA_CPU), IsEmpty());
  pid_t trainer = 0;
  std::thread([&] {
    trainer = gettid();
    eroica_step(now_ns_);
  }).join();
  const std::string schedstat = "proc/self/task/" + std::to_string(trainer) + "/schedstat";
  for (int64_t i = 0; i < 40; ++i) {
    files_.Write(schedstat, std::to_string(i * 20 * kNsPerMs) + " 0 1\n");
    sampler.Tick(now_ns_ += 50 * kNsPerMs);
  }
  EXPECT_THAT(Samples(EROICA_CPU), Contains(FloatNear(0.4f, 1e-4f)));
}

TEST_F(HostSamplerTest, TheMainThreadStandsInForAThreadThatHasEnded) {
  std::promise<void> trains, end;
  std::thread trainer([&] {
    eroica_step(now_ns_);
    trains.set_value();
    end.get_future().wait();
  });
  trains.get_future().wait();
  HostSamplerOptions options = Options();
  options.exchange_folder = "";
  HostSampler sampler(std::move(options));
  Run(sampler, 1);
  EXPECT_NE(eroica_trainer().thread, getpid());
  end.set_value();
  trainer.join();
  Run(sampler, 1);
  EXPECT_EQ(eroica_trainer().thread, getpid());
  const size_t samples = Samples(EROICA_CPU).size();
  Run(sampler, 1);
  EXPECT_GT(Samples(EROICA_CPU).size(), samples);
}

TEST_F(HostSamplerTest, AWaitingThreadIsToldByWhomItsProcessorIsUsed) {
  HostSamplerOptions options = Options();
  options.proc_root = files_.At("proc");
  options.sys_root = files_.At("sys");
  options.exchange_folder = "";
  options.training_thread = 42;
  options.processors_of_host = 8;
  files_.Write("proc/self/task/42/status", "Cpus_allowed_list:\t3\n");
  HostSampler sampler(std::move(options));
  for (int64_t i = 0; i < 200; ++i) {
    files_.Write("proc/self/task/42/schedstat", std::to_string(i * 20 * kNsPerMs) + " " +
                                                    std::to_string(i * 30 * kNsPerMs) + " 1\n");
    files_.Write("proc/900/stat", "900 (stress-ng) R 1 1 1 0 -1 0 0 0 0 0 " +
                                      std::to_string(i * 3) +
                                      " 0 0 0 20 0 1 0 50 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 17 3 0\n");
    sampler.Tick(now_ns_ += 50 * kNsPerMs);
  }
  const auto taken = recorded_core::Read();
  ASSERT_EQ(taken.functions.size(), 2u);
  EXPECT_EQ(taken.functions[1].name, "(processor used by stress-ng)");
  EXPECT_THAT(Samples(EROICA_CPU_WAIT).back(), FloatNear(0.6f, 1e-4f));
  EXPECT_THAT(Samples(EROICA_CPU).back(), FloatNear(0.4f, 1e-4f));
}

}  // namespace
}  // namespace eroica
