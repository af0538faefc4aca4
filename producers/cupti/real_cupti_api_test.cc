#include "producers/cupti/real_cupti_api.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "producers/core/testing/recorded_core.h"
#include "producers/cupti/cupti_capture.h"

namespace eroica {
namespace {

// NVIDIA's own library on a machine without a device: what it answers, and that we bear it.
TEST(RealCuptiApi, TheRealLibraryWithoutADevice) {
  const char* library = std::getenv("EROICA_TEST_CUPTI_LIBRARY");
  if (library == nullptr)
    GTEST_SKIP()
        << "needs NVIDIA's libcupti, which Debian has not: ops/cuda_headers.sh fetches it, "
           "EROICA_TEST_CUPTI_LIBRARY names it; the fake in its place is tested always";
  setenv("EROICA_CUPTI_LIBRARY", library, 1);
  recorded_core::Reset(true, 1);
  std::string why;
  const auto api = LoadCuptiApi(&why);
  ASSERT_NE(api, nullptr) << why;
  int64_t stamp = 0;
  size_t dropped = 0;
  uint8_t* record = nullptr;
  std::vector<uint8_t> buffer(256);
  RecordProperty("version", static_cast<int>(api->Version()));
  RecordProperty("record_unfinished_queries", api->RecordUnfinishedQueries(true));
  RecordProperty("timestamp", api->Timestamp(&stamp));
  RecordProperty("dropped_records", api->DroppedRecords(&dropped));
  RecordProperty("next_record", api->NextRecord(buffer.data(), 0, &record));
  RecordProperty("restore_clock", api->RestoreClock());
  const int probe = api->ProbeSubscriber();
  const int enable = api->Enable(ActivityKind::kConcurrentKernel);
  const int flush = api->FlushAll(false);
  RecordProperty("probe_subscriber", probe);
  RecordProperty("enable", enable);
  RecordProperty("flush_all", flush);
  RecordProperty("disable", api->Disable(ActivityKind::kConcurrentKernel));
  if (enable == kCuptiSuccess)
    GTEST_SKIP() << "libcupti found a device: what it answers without one cannot be tested here";
  // None of these is a function that we failed to find.
  EXPECT_NE(probe, kCuptiNoSuchFunction);
  EXPECT_NE(enable, kCuptiNoSuchFunction);
  EXPECT_NE(flush, kCuptiNoSuchFunction);
  std::vector<std::string> said;
  CuptiCapture::Options options;
  options.announce = [&](const std::string& line) { said.push_back(line); };
  CuptiCapture capture(*api, std::move(options));
  EXPECT_EQ(capture.Start(0), CuptiCapture::State::kOff);
  EXPECT_EQ(said.size(), 1u);
}

}  // namespace
}  // namespace eroica
