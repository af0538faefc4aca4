// What CUPTI and the driver call, where a library throws and where there is no memory. In place of
// the adapter to CUPTI (real_cupti_api.cc) stands one that throws, so that CUDA's headers are not
// needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "producers/core/testing/recorded_core.h"
#include "producers/cupti/capture_thread.h"
#include "producers/cupti/injection.h"
#include "producers/cupti/real_cupti_api.h"
#include "producers/cupti/testing/fake_cupti_api.h"
#include "schemas/testing/failing_new.h"

namespace eroica {

std::unique_ptr<CuptiApi> LoadCuptiApi(std::string*) { throw std::runtime_error("of a library"); }

namespace {

using ::testing::HasSubstr;

// Throws at producers/cupti/injection.cc: the start of the injection
TEST(InjectionBoundary, WhatALibraryThrowsAtTheStartIsOneLineAndCudaGoesOn) {
  recorded_core::Reset(true, 1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(InitializeInjection(), 1);
  EXPECT_EQ(InitializeInjection(), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "eroica: the capture of device work records no more: an exception of a library "
            "(std::runtime_error: of a library). Training goes on.\n");
  EXPECT_TRUE(eroica_cupti_yield(0));
  eroica_cupti_resume();
  EXPECT_EQ(eroica_cupti_state(), 0);
}

// Keeps CUPTI's callbacks for the test.
class CallbacksAlone final : public FakeCuptiApi {
 public:
  int RegisterCallbacks(BufferRequested requested_by, BufferCompleted completed_by) override {
    requested = requested_by;
    completed = completed_by;
    return kCuptiSuccess;
  }
  BufferRequested requested = nullptr;
  BufferCompleted completed = nullptr;
};

// CUPTI's two callbacks have no boundary: nothing in them can throw. This fails if one allocates.
TEST(InjectionBoundary, CuptisCallbacksTakeNoMemory) {
  recorded_core::Reset(true, 1);
  constexpr size_t kBuffers = 4;
  constexpr size_t kSpares = 2;
  CallbacksAlone api;
  int woken = 0;
  CuptiCapture::Options options;
  options.pool = {
      .buffer_bytes = 4'096, .buffers = kBuffers, .spare_bytes = 1'024, .spares = kSpares};
  options.wake = [&] { ++woken; };
  CuptiCapture capture(api, std::move(options));
  ASSERT_EQ(capture.Start(0), CuptiCapture::State::kCapturing);
  ASSERT_NE(api.requested, nullptr);
  std::vector<std::pair<uint8_t*, size_t>> buffers(kBuffers + kSpares + 1);
  const FailingNew no_memory(FailingNew::Where::kThisThread);
  for (auto& [buffer, bytes] : buffers) {
    size_t records = 1;
    api.requested(&buffer, &bytes, &records);
  }
  EXPECT_EQ(buffers.back().first, nullptr) << "they are used up";
  for (const auto& [buffer, bytes] : buffers) api.completed(buffer, bytes, 0);
  EXPECT_GT(woken, 0);
  EXPECT_EQ(no_memory.failed(), 0);
}

// Nor do the calls around another client's session, of threads of the host's.
TEST(InjectionBoundary, HandingCuptiOverTakesNoMemory) {
  constexpr uint32_t kTimeoutMs = 20'000;
  recorded_core::Reset(true, 1);
  FakeCuptiApi api;
  CaptureThread thread(5'000'000);
  CuptiCapture::Options options;
  options.wake = [&] { thread.Wake(); };
  CuptiCapture capture(api, std::move(options));
  capture.Start(0);
  ASSERT_TRUE(thread.Start(capture));
  const FailingNew no_memory(FailingNew::Where::kThisThread);
  EXPECT_TRUE(thread.Yield(kTimeoutMs));
  EXPECT_EQ(thread.state(), CuptiCapture::State::kYielded);
  thread.Resume();
  EXPECT_TRUE(thread.Stop(kTimeoutMs));
  EXPECT_EQ(no_memory.failed(), 0);
}

}  // namespace
}  // namespace eroica
