// A recorder of its own for every test, behind a function table of one version, with the core in
// memory and a process that is rank 0 of 4. The test plays NCCL through harness().
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "producers/core/producer_core.h"
#include "producers/core/testing/recorded_core.h"
#include "producers/nccl/abi_adapters.h"
#include "producers/nccl/testing/nccl_harness.h"

namespace eroica::nccl {

class RecorderFixture : public ::testing::TestWithParam<int> {
 protected:
  RecorderFixture() {
    recorded_core::Reset();
    const EroicaAttachOptions job = {
        .component = "test", .rank = 0, .world_size = 4, .role = nullptr, .device = 0};
    eroica_attach(&job);
    UseOptions({});
  }
  ~RecorderFixture() override { SetProcessRecorder(nullptr); }

  void UseOptions(const NcclOptions& options, const RecorderLimits& limits = {}) {
    recorder_ = std::make_unique<CollectiveRecorder>(options, limits);
    SetProcessRecorder(recorder_.get());
    const int version = GetParam();
    const std::array<void*, 5> tables = {&v3_, &v4_, &v5_, &v6_, &v7_};
    harness_ = MakeNcclHarness(version, tables[static_cast<size_t>(version - 3)]);
  }

  NcclHarness& harness() { return *harness_; }
  RecorderStatistics statistics() const { return recorder_->statistics(); }

  HarnessCommunicator Open(uint64_t id = 7, const char* name = "tp") {
    HarnessCommunicator communicator = {.id = id, .name = name, .nodes = 2, .ranks = 4, .rank = 0};
    EXPECT_EQ(harness().Init(&communicator), 0);
    EXPECT_NE(communicator.context, nullptr);
    return communicator;
  }

  // A point-to-point operation.
  static HarnessOperation Send(int peer) {
    return {.func = "Send", .count = 100, .point_to_point = true, .peer = peer, .channels = 1};
  }
  void* StartChannel(const HarnessCommunicator& communicator, void* operation,
                     uint8_t channel = 0) {
    return harness().StartKernelChannel(communicator, operation, channel, Now());
  }
  void StopChannel(void* channel) { harness().StopKernelChannel(channel, Now() + 1); }
  // All channels of an operation: they start, then they stop.
  void RunAll(const HarnessCommunicator& communicator, void* operation, uint8_t channels = 2) {
    std::vector<void*> running;
    for (uint8_t i = 0; i < channels; ++i) {
      running.push_back(StartChannel(communicator, operation, i));
    }
    for (void* channel : running) StopChannel(channel);
  }
  // The device's timer, as if it were the host's clock.
  static uint64_t Now() { return static_cast<uint64_t>(eroica_now_ns()); }

 private:
  ProfilerV3 v3_ = MakeProfilerV3();
  ProfilerV4 v4_ = MakeProfilerV4();
  ProfilerV5 v5_ = MakeProfilerV5();
  ProfilerV6 v6_ = MakeProfilerV6();
  ProfilerV7 v7_ = MakeProfilerV7();
  std::unique_ptr<CollectiveRecorder> recorder_;
  std::unique_ptr<NcclHarness> harness_;
};

}  // namespace eroica::nccl
