#include "producers/cupti/activity_record.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace eroica {
namespace {

// As long as the oldest layout that we know, filled so that a field read from elsewhere shows.
std::vector<uint8_t> Record(ActivityKind kind, size_t bytes) {
  std::vector<uint8_t> record(bytes, 0xEE);
  std::memcpy(record.data(), &kind, sizeof(kind));
  return record;
}

TEST(ActivityRecord, NothingIsReadFromWhatIsTooShort) {
  struct Case {
    ActivityKind kind;
    size_t prefix;
  };
  for (const Case& one :
       {Case{ActivityKind::kConcurrentKernel, activity_layout::KernelFields::kPrefix},
        Case{ActivityKind::kMemcpy, activity_layout::MemcpyFields::kPrefix},
        Case{ActivityKind::kPeerMemcpy, activity_layout::MemcpyFields::kPrefix},
        Case{ActivityKind::kMemset, activity_layout::MemsetFields::kPrefix},
        Case{ActivityKind::kSynchronization, activity_layout::SynchronizationFields::kPrefix}}) {
    ActivityRecord read;
    for (size_t bytes = 0; bytes <= one.prefix; ++bytes) {
      // Exactly as much memory as is promised: a sanitizer sees a byte read behind it.
      std::vector<uint8_t> record = Record(one.kind, one.prefix);
      record.resize(bytes);
      record.shrink_to_fit();
      const RecordReading expected =
          bytes < one.prefix ? RecordReading::kTooShort : RecordReading::kRead;
      EXPECT_EQ(ReadActivityRecord(record.data(), bytes, &read), expected)
          << "kind " << static_cast<uint32_t>(one.kind) << ", " << bytes << " bytes";
    }
  }
}

TEST(ActivityRecord, KindsThatWeDidNotAskForAreOfNoUse) {
  ActivityRecord read;
  for (const uint32_t kind : {0u, 3u, 5u, 9u, 17u, 51u, 4'000'000'000u}) {
    const std::vector<uint8_t> record = Record(static_cast<ActivityKind>(kind), 256);
    EXPECT_EQ(ReadActivityRecord(record.data(), record.size(), &read), RecordReading::kOtherKind);
  }
}

TEST(ActivityRecord, FieldsOfAKernel) {
  using Layout = activity_layout::KernelFields;
  std::vector<uint8_t> record = Record(ActivityKind::kConcurrentKernel, 248);
  const char* symbol = "gemm";
  const int64_t start = 1'700'000'000'123'456'789;
  const int64_t end = start + 5;
  const uint32_t device = 3;
  const uint32_t stream = 21;
  std::memcpy(record.data() + Layout::kStart, &start, 8);
  std::memcpy(record.data() + Layout::kEnd, &end, 8);
  std::memcpy(record.data() + Layout::kDevice, &device, 4);
  std::memcpy(record.data() + Layout::kStream, &stream, 4);
  std::memcpy(record.data() + Layout::kName, &symbol, sizeof(void*));
  ActivityRecord read;
  ASSERT_EQ(ReadActivityRecord(record.data(), record.size(), &read), RecordReading::kRead);
  EXPECT_EQ(read.start_ns, start);
  EXPECT_EQ(read.end_ns, end);
  EXPECT_EQ(read.device, device);
  EXPECT_EQ(read.stream, stream);
  EXPECT_EQ(read.kernel_symbol, symbol);
}

}  // namespace
}  // namespace eroica
