#include "producers/cupti/activity_collector.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "producers/core/testing/recorded_core.h"
#include "producers/cupti/testing/fake_cupti_api.h"
#include "schemas/drop_reason.h"

namespace eroica {
namespace {

constexpr int64_t kT = 1'700'000'000'000'000'000;  // some moment
// One buffer for all records: the fake writes into it, the tests read from it.
std::vector<uint8_t> buffer_memory;

class ActivityCollectorTest : public testing::Test {
 protected:
  ActivityCollectorTest() { recorded_core::Reset(); }

  void Use(FakeCuptiApi& api, size_t buffer_bytes = 1 << 16) {
    buffer_memory.assign(buffer_bytes, 0);
    api.RegisterCallbacks(
        [](uint8_t** buffer, size_t* bytes, size_t* max_records) {
          *buffer = buffer_memory.data();
          *bytes = buffer_memory.size();
          *max_records = 0;
        },
        [](uint8_t*, size_t, size_t valid_bytes) { buffer_memory.resize(valid_bytes); });
    for (const auto kind :
         {ActivityKind::kConcurrentKernel, ActivityKind::kMemcpy, ActivityKind::kPeerMemcpy,
          ActivityKind::kMemset, ActivityKind::kSynchronization}) {
      api.Enable(kind);
    }
  }
  // What the fake has written, into the collector.
  void Collect(FakeCuptiApi& api, ActivityCollector& collector) {
    api.FlushAll(true);
    // Exactly what is valid: a sanitizer sees a byte read behind it.
    std::vector<uint8_t> exact(buffer_memory);
    exact.shrink_to_fit();
    collector.Collect(exact.data(), exact.size());
  }
  // "function on lane: start + duration" of every interval.
  static std::vector<std::string> Taken() {
    const recorded_core::Recorded all = recorded_core::Read();
    EXPECT_EQ(all.misuse, 0u);
    std::vector<std::string> lines;
    for (const auto& interval : all.intervals) {
      lines.push_back(all.functions[interval.function].name + " on " +
                      all.lanes[interval.lane].name + ": " +
                      std::to_string(interval.start_ns - kT) + " + " +
                      std::to_string(interval.end_ns - interval.start_ns));
    }
    return lines;
  }

  bool plugin_ = false;
  int asked_ = 0;
  std::function<bool()> Question() {
    return [this] {
      ++asked_;
      return plugin_;
    };
  }
};

TEST_F(ActivityCollectorTest, ReadsEveryVersionsRecords) {
  for (const auto& sizes :
       {FakeCuptiApi::Cuda7(), FakeCuptiApi::Cuda12(), FakeCuptiApi::Cuda135()}) {
    recorded_core::Reset();
    FakeCuptiApi api(sizes);
    Use(api);
    ActivityCollector collector(api, Question());
    api.Kernel("_Z4gemmPf", kT + 100, kT + 350, 21, 3);
    api.Memcpy(1, 2, 3, kT + 400, kT + 410);
    api.Memcpy(10, 3, 3, kT + 420, kT + 430, ActivityKind::kPeerMemcpy);
    api.Memset(3, kT + 500, kT + 501);
    api.Synchronize(SynchronizationType::kStreamSynchronize, kT, kT + 600'000);
    Collect(api, collector);
    EXPECT_EQ(Taken(), (std::vector<std::string>{
                           "gemm(float*) on stream 21 of device 3: 100 + 250",
                           "Memcpy HtoD (Pinned -> Device) on stream 7 of device 0: 400 + 10",
                           "Memcpy PtoP (Device -> Device) on stream 7 of device 0: 420 + 10",
                           "Memset (Device) on stream 7 of device 0: 500 + 1",
                           "cudaStreamSynchronize on host waits for the device: 0 + 600000"}));
    const auto all = recorded_core::Read();
    std::vector<int> classes;
    for (const auto& function : all.functions) classes.push_back(function.function_class);
    EXPECT_EQ(classes, (std::vector<int>{EROICA_GPU_COMPUTE, EROICA_MEMORY_OP, EROICA_MEMORY_OP,
                                         EROICA_MEMORY_OP, EROICA_CPU_OP}));
    EXPECT_EQ(all.functions.back().wait, EROICA_WAIT_PEER);
    EXPECT_EQ(all.lanes[0].kind, EROICA_DEVICE_STREAM);
    EXPECT_EQ(all.lanes.back().kind, EROICA_HOST_THREAD);
  }
}

TEST_F(ActivityCollectorTest, WhatCannotBeUsedIsCountedAndReportedOnce) {
  FakeCuptiApi api;
  Use(api);
  ActivityCollector collector(api, Question());
  api.Kernel("gemm", 0, 0);             // CUPTI has no times
  api.Kernel("gemm", kT + 10, kT + 5);  // ends before it starts
  api.Kernel("gemm", -5, kT);           // before the clock's beginning
  api.Unknown(77, 24);                  // a newer CUPTI's
  api.Unknown(5, 48);                   // RUNTIME: another client asked for it
  api.Kernel("gemm", kT + 1, kT + 1);   // took no time that can be measured: still a kernel
  Collect(api, collector);
  EXPECT_EQ(Taken(), (std::vector<std::string>{"gemm on stream 7 of device 0: 1 + 0"}));
  const auto& counts = collector.counts();
  EXPECT_EQ(counts.without_times, 2u);
  EXPECT_EQ(counts.negative, 1u);
  EXPECT_EQ(counts.other_kinds, 2u);
  EXPECT_EQ(counts.records, 6u);
  collector.ReportLosses(3);
  collector.ReportLosses(0);
  std::vector<std::pair<int, uint64_t>> losses;
  for (const auto& loss : recorded_core::Read().losses) {
    EXPECT_EQ(loss.kind, EROICA_LOST_INTERVAL);
    losses.emplace_back(loss.reason, loss.count);
  }
  EXPECT_EQ(losses, (std::vector<std::pair<int, uint64_t>>{
                        {static_cast<int>(DropReason::kQueueFull), 3},
                        {static_cast<int>(DropReason::kTimeOutOfRange), 2},
                        {static_cast<int>(DropReason::kNegativeDuration), 1}}));
}

TEST_F(ActivityCollectorTest, ABufferCutOffAnywhereIsReadUpToThere) {
  FakeCuptiApi api;
  Use(api);
  for (int i = 0; i < 3; ++i) api.Kernel("k", kT + i, kT + i + 1);
  api.FlushAll(true);
  const std::vector<uint8_t> whole = buffer_memory;
  const size_t record = FakeCuptiApi::Cuda12().at(10);
  for (size_t valid = 0; valid <= whole.size(); ++valid) {
    recorded_core::Reset();
    ActivityCollector collector(api, Question());
    std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<int64_t>(valid));
    cut.shrink_to_fit();
    collector.Collect(cut.data(), cut.size());
    const size_t rest = valid % record;
    EXPECT_EQ(Taken().size(),
              valid / record + (rest >= activity_layout::KernelFields::kPrefix ? 1 : 0));
  }
}

// A library that walks in circles, backwards or out of the buffer.
class LostCuptiApi : public FakeCuptiApi {
 public:
  explicit LostCuptiApi(int64_t stride) : stride_(stride) {}
  int NextRecord(uint8_t* buffer, size_t, uint8_t** record) override {
    ++calls_;
    *record = (*record == nullptr ? buffer : *record) + stride_;
    return kCuptiSuccess;
  }
  int calls_ = 0;

 private:
  const int64_t stride_;
};

TEST_F(ActivityCollectorTest, NeverLeavesTheBufferWhateverTheLibrarySays) {
  for (const int64_t stride : {int64_t{0}, int64_t{-8}, int64_t{1} << 40}) {
    LostCuptiApi api(stride);
    ActivityCollector collector(api, Question());
    std::vector<uint8_t> bytes(512, 0xFF);
    collector.Collect(bytes.data(), bytes.size());
    EXPECT_LE(api.calls_, 2);
    EXPECT_LE(collector.counts().records, 1u);
  }
  FakeCuptiApi api;
  ActivityCollector collector(api, Question());
  collector.Collect(nullptr, 100);
  EXPECT_EQ(collector.counts().records, 0u);
}

TEST_F(ActivityCollectorTest, OnlyWaitsThatBlockTheHostAreWaits) {
  FakeCuptiApi api;
  Use(api);
  ActivityCollector collector(api, Question());
  const int64_t shortest = ActivityCollector::kShortestWaitNs;
  api.Synchronize(SynchronizationType::kEventSynchronize, kT, kT + shortest - 1);  // a query
  api.Synchronize(SynchronizationType::kEventSynchronize, kT, kT + shortest);
  api.Synchronize(SynchronizationType::kContextSynchronize, kT, kT + 50'000);
  api.Synchronize(SynchronizationType::kStreamWaitEvent, kT, kT + 90'000);  // the device waits
  api.Synchronize(static_cast<SynchronizationType>(9), kT, kT + 90'000);
  Collect(api, collector);
  EXPECT_EQ(Taken(), (std::vector<std::string>{
                         "cudaEventSynchronize on host waits for the device: 0 + 10000",
                         "cudaDeviceSynchronize on host waits for the device: 0 + 50000"}));
  EXPECT_EQ(collector.counts().no_waits, 3u);
}

TEST_F(ActivityCollectorTest, NcclKernelsAreCollectivesOnlyWhereNobodyKnowsMore) {
  const char* nccl = "_Z38ncclKernel_AllReduce_RING_LL_Sum_float12ncclWorkElem";
  FakeCuptiApi api;
  Use(api);
  ActivityCollector collector(api, Question());
  api.Kernel(nccl, kT, kT + 10);
  api.Kernel(nccl, kT + 20, kT + 30);
  Collect(api, collector);
  EXPECT_EQ(Taken().size(), 2u);
  EXPECT_EQ(recorded_core::Read().functions[0].function_class, EROICA_COLLECTIVE);
  EXPECT_EQ(asked_, 1);  // once a buffer
  plugin_ = true;        // NCCL has loaded it meanwhile
  for (int i = 0; i < 2; ++i) {
    Use(api);
    api.Kernel("gemm", kT + 40, kT + 50);
    api.Kernel(nccl, kT + 40, kT + 50);
    Collect(api, collector);
  }
  EXPECT_EQ(Taken().size(), 4u);
  EXPECT_EQ(collector.counts().left_to_plugin, 2u);
  EXPECT_EQ(asked_, 2);  // and no more once it is there
}

TEST_F(ActivityCollectorTest, StreamsWithoutEndStayBounded) {
  FakeCuptiApi api;
  Use(api, size_t{1} << 20);
  ActivityCollector collector(api, Question());
  for (uint32_t stream = 0; stream < 3'000; ++stream) api.Kernel("k", kT, kT + 1, stream % 200);
  Collect(api, collector);
  EXPECT_EQ(recorded_core::Read().lanes.size(), 200u);
  EXPECT_EQ(collector.counts().intervals, 3'000u);
}

}  // namespace
}  // namespace eroica
