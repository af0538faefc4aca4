#include "producers/python/debug_offsets.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "producers/python/frame_layout.h"

namespace eroica {
namespace {

// A table of CPython 3.14 whose numbers are their own places.
class MadeTable {
 public:
  MadeTable() : numbers_(100) {
    for (size_t place = 0; place < numbers_.size(); ++place) numbers_[place] = place;
    SayCookie("xdebugpy");
    Set(1, 0x030E0AF0);  // 3.14.10
    Set(2, 0);
  }
  void SayCookie(std::string_view text) { std::memcpy(numbers_.data(), text.data(), 8); }
  void Set(size_t place, uint64_t number) { numbers_[place] = number; }
  std::span<const std::byte> Memory(size_t bytes) const {
    return std::as_bytes(std::span(numbers_)).first(bytes);
  }
  std::span<const std::byte> Memory() const { return std::as_bytes(std::span(numbers_)); }

 private:
  std::vector<uint64_t> numbers_;
};

TEST(DebugOffsetsTest, SayWhereFramesCodeAndTextLie) {
  const std::optional<FrameLayout> layout = ParseDebugOffsets(14, MadeTable().Memory());
  ASSERT_TRUE(layout.has_value());
  EXPECT_EQ(layout->thread_frame, 26);
  EXPECT_EQ(layout->thread_number, 29 - 8);  // right before the chunk of the stack
  EXPECT_EQ(layout->c_frame, -1);
  EXPECT_EQ(layout->frame_previous, 32);
  EXPECT_EQ(layout->frame_code, 33);
  EXPECT_EQ(layout->frame_owner, 36);
  EXPECT_EQ(layout->code_file, 40);
  EXPECT_EQ(layout->code_name, 41);
  EXPECT_EQ(layout->code_line, 44);
  EXPECT_EQ(layout->type, 51);
  EXPECT_EQ(layout->text_state, 78);
  EXPECT_EQ(layout->text_length, 79);
  EXPECT_EQ(layout->ascii_text, 80);
  EXPECT_EQ(layout->compact_text, 96);
}

TEST(DebugOffsetsTest, OfAFreeThreadedBuildAreNotRead) {
  MadeTable table;
  table.Set(2, 1);
  EXPECT_FALSE(ParseDebugOffsets(14, table.Memory()).has_value());
}

TEST(DebugOffsetsTest, OfAnotherVersionAreNotRead) {
  EXPECT_FALSE(ParseDebugOffsets(13, MadeTable().Memory()).has_value());
  EXPECT_FALSE(ParseDebugOffsets(15, MadeTable().Memory()).has_value());
  MadeTable next;
  next.Set(1, 0x031000F0);  // 3.16: its table is not known
  EXPECT_FALSE(ParseDebugOffsets(16, next.Memory()).has_value());
}

TEST(DebugOffsetsTest, ThatAreNoneOrCannotBeAreNotRead) {
  EXPECT_FALSE(ParseDebugOffsets(14, {}).has_value());
  MadeTable other;
  other.SayCookie("xdebugpx");
  EXPECT_FALSE(ParseDebugOffsets(14, other.Memory()).has_value());
  MadeTable far;
  far.Set(40, uint64_t{1} << 40);
  EXPECT_FALSE(ParseDebugOffsets(14, far.Memory()).has_value());
  MadeTable short_of_a_number;
  short_of_a_number.Set(29, 7);  // no thread's number fits before it
  EXPECT_FALSE(ParseDebugOffsets(14, short_of_a_number.Memory()).has_value());
}

TEST(DebugOffsetsTest, ThatEndTooEarlyAreNotRead) {
  const MadeTable table;
  EXPECT_TRUE(ParseDebugOffsets(14, table.Memory(81 * 8)).has_value());
  EXPECT_FALSE(ParseDebugOffsets(14, table.Memory(80 * 8)).has_value());
  EXPECT_FALSE(ParseDebugOffsets(14, table.Memory(16)).has_value());
}

TEST(FrameLayoutTest, IsKnownOfEachVersionThatIsServed) {
  for (const int minor : {9, 10, 11, 12}) EXPECT_TRUE(FindFrameLayout(minor).has_value()) << minor;
  EXPECT_FALSE(FindFrameLayout(8).has_value());
  EXPECT_FALSE(FindFrameLayout(13).has_value());  // this program is no CPython, which would say it
}

}  // namespace
}  // namespace eroica
