// NCCL's calls in a process whose memory has run out: they succeed, whatever is missing, and a
// communicator that is not recorded is said once. Behind the plugin lies the empty core: what
// allocates is the plugin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "producers/nccl/abi_adapters.h"
#include "producers/nccl/testing/empty_core.h"
#include "producers/nccl/testing/nccl_harness.h"
#include "schemas/testing/failing_new.h"

namespace eroica::nccl {
namespace {

using ::testing::HasSubstr;

class NcclWithoutMemory : public ::testing::Test {
 protected:
  ~NcclWithoutMemory() override {
    const std::unique_ptr<CollectiveRecorder> made(ProcessRecorder());
    SetProcessRecorder(nullptr);
  }

  // Init, where the plugin's allocation of this number fails. False: it needed fewer.
  bool InitFailingAt(int64_t spared) {
    const FailingNew no_memory(FailingNew::Where::kThisThread, spared, 1);
    EXPECT_EQ(harness_->Init(&communicator_), 0);
    return no_memory.failed() > 0;
  }

  ProfilerV7 table_ = MakeProfilerV7();
  std::unique_ptr<NcclHarness> harness_ = MakeNcclHarness(7, &table_);
  HarnessCommunicator communicator_{.id = 7, .name = "world", .ranks = 4};
};

// Throws at producers/nccl/abi_adapters.cc: the making of the process' recorder
TEST_F(NcclWithoutMemory, EveryInitSucceedsAndTheFirstThatRecordsNothingIsSaid) {
  std::string said;
  int failures = 0;
  for (bool failed = true; failed; ++failures) {
    ASSERT_LT(failures, 1'000);
    ::testing::internal::CaptureStderr();
    failed = InitFailingAt(failures);
    said += ::testing::internal::GetCapturedStderr();
    const bool is_recorded = communicator_.context != nullptr;
    EXPECT_EQ(is_recorded, !failed) << failures;
    const uint64_t launched = EmptyCoreLaunched();
    void* const operation = harness_->Start(communicator_, {});
    EXPECT_EQ(operation != nullptr, is_recorded);
    EXPECT_EQ(EmptyCoreLaunched() - launched, is_recorded ? 1U : 0U);
    EXPECT_EQ(harness_->Stop(operation), 0);
    EXPECT_EQ(harness_->Finalize(communicator_.context), 0);
  }
  EXPECT_GT(failures, 5) << "allocations of an init";
  EXPECT_THAT(said, HasSubstr("std::bad_alloc"));
  EXPECT_EQ(said.find('\n'), said.size() - 1) << said;
}

// No other call has a boundary: nothing in it can throw. This one fails if a call allocates.
TEST_F(NcclWithoutMemory, NoOtherCallTakesAny) {
  ASSERT_EQ(harness_->Init(&communicator_), 0);
  const FailingNew no_memory(FailingNew::Where::kThisThread);
  for (uint64_t sequence = 0; sequence < 100; ++sequence) {
    void* const operation = harness_->Start(communicator_, {.sequence = sequence});
    void* const channel = harness_->StartKernelChannel(communicator_, operation, 0, 1);
    void* const proxy = harness_->StartProxyOp(communicator_, operation, {});
    void* const step = harness_->StartOfType(communicator_, kProxyStepEvent, proxy);
    for (void* const handle : {step, proxy, channel, operation}) {
      EXPECT_EQ(harness_->Record(handle, kKernelChStop, 2), 0);
      EXPECT_EQ(harness_->Record(handle, kProxyStepSendWait, 2), 0);
      EXPECT_EQ(harness_->Stop(handle), 0);
    }
    harness_->StartOfType(communicator_, kGroupEvent, nullptr);
  }
  EXPECT_TRUE(harness_->PassNulls(communicator_));
  EXPECT_EQ(harness_->Finalize(communicator_.context), 0);
  EXPECT_EQ(no_memory.failed(), 0);
}

}  // namespace
}  // namespace eroica::nccl
