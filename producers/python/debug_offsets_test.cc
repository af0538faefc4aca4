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

// What free-threaded builds say, recorded: the numbers behind the cookie, as far as they are read.
constexpr uint64_t k313t[] = {
    0x30d0ff0, 1,    328384, 608, 632, 215616, 7272, 7264, 7344, 7400, 7664, 7648, 7656, 16, 7760,
    0,         7784, 7776,   312, 0,   8,      16,   72,   152,  160,  232,  32,   80,   8,  0,
    56,        72,   70,     224, 128, 136,    144,  152,  84,   68,   112,  120,  216,  32, 24,
    432,       40,   104,    184, 48,  40,     32,   56,   40,   32,   64,   48,   56,   40, 32,
    48,        32,   40,     56,  32,  48,     80,   48,   32,   56};  // 3.13.15
constexpr uint64_t k314t[] = {
    0x30e07f0, 1,    362368, 784,  808,  246720, 7280,  7272, 7344, 7360, 7408, 7712, 7696, 7704,
    16,        7808, 0,      7832, 7824, 8024,   17628, 832,  0,    8,    16,   72,   152,  160,
    232,       32,   88,     8,    0,    56,     80,    78,   64,   72,   240,  128,  136,  144,
    152,       84,   68,     112,  120,  232,    224,   32,   24,   432,  40,   104,  184,  56,
    48,        32,   56,     40,   32,   216,    40,    56,   48,   64,   48,   56,   40,   32,
    48,        32,   40,     56,   32,   48,     80,    48,   32,   56};  // 3.14.7
constexpr uint64_t k315t[] = {
    0x30f00c1, 1,    405760, 912,  936,  247104, 7272,  7264, 7336, 7352, 7400, 7592, 7576, 7584,
    16,        7744, 0,      7768, 7760, 7960,   17628, 888,  0,    8,    16,   72,   80,   88,
    96,        176,  184,    256,  32,   36,     40,    136,  288,  0,    88,   8,    0,    56,
    80,        78,   64,     72,   240,  128,    136,   144,  152,  84,   68,   112,  120,  232,
    224,       32,   24,     440,  40,   104,    184,   48,   304,  968,  904,  56,   48,   32,
    56,        40,   32,     216,  40,   56,     48,    64,   48,   56,   40,   32,   48,   32,
    40,        56,   32,     48,   80,   48,     32,    56};  // 3.15.0rc1

std::optional<FrameLayout> ParseRecorded(int minor, std::span<const uint64_t> numbers) {
  std::vector<uint64_t> table = {0};
  std::memcpy(table.data(), "xdebugpy", 8);
  table.insert(table.end(), numbers.begin(), numbers.end());
  return ParseDebugOffsets(minor, std::as_bytes(std::span(table)));
}

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

TEST(DebugOffsetsTest, SayOfAFreeThreadedBuildWhereItsKindsOfTextAre) {
  MadeTable table;
  EXPECT_EQ(ParseDebugOffsets(14, table.Memory())->text_kind_bit, 2);
  table.Set(2, 1);
  EXPECT_EQ(ParseDebugOffsets(14, table.Memory())->text_kind_bit, 8);
  table.Set(1, 0x030D0FF0);  // 3.13.15: `interned` was no byte of its own yet
  EXPECT_EQ(ParseDebugOffsets(13, table.Memory())->text_kind_bit, 2);
}

// Against Include/ of those releases: PyObject has 32 bytes there, PyASCIIObject 56.
void ExpectFreeThreaded(const std::optional<FrameLayout>& layout) {
  ASSERT_TRUE(layout.has_value());
  EXPECT_EQ(layout->type, 24);
  EXPECT_EQ(layout->text_length, 32);
  EXPECT_EQ(layout->text_state, 48);
  EXPECT_EQ(layout->ascii_text, 56);
  EXPECT_EQ(layout->compact_text, 72);
  EXPECT_EQ(layout->thread_frame, 72);
  EXPECT_EQ(layout->c_frame, -1);
  EXPECT_EQ(layout->frame_code, 0);
  EXPECT_EQ(layout->frame_previous, 8);
  EXPECT_EQ(layout->code_file, 128);
  EXPECT_EQ(layout->code_name, 136);
  EXPECT_EQ(layout->code_line, 84);
}

TEST(DebugOffsetsTest, OfFreeThreadedBuildsSayWhereFramesCodeAndTextLie) {
  const std::optional<FrameLayout> of_13 = ParseRecorded(13, k313t);
  ExpectFreeThreaded(of_13);
  EXPECT_EQ(of_13->thread_number, 224);
  EXPECT_EQ(of_13->frame_owner, 70);
  EXPECT_EQ(of_13->text_kind_bit, 2);
  const std::optional<FrameLayout> of_14 = ParseRecorded(14, k314t);
  ExpectFreeThreaded(of_14);
  EXPECT_EQ(of_14->thread_number, 224);
  EXPECT_EQ(of_14->frame_owner, 78);
  EXPECT_EQ(of_14->text_kind_bit, 8);
  const std::optional<FrameLayout> of_15 = ParseRecorded(15, k315t);
  ExpectFreeThreaded(of_15);
  EXPECT_EQ(of_15->thread_number, 248);
  EXPECT_EQ(of_15->frame_owner, 78);
  EXPECT_EQ(of_15->text_kind_bit, 8);
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

TEST(DebugOffsets, SayWhereTheThreadsOfTheMainInterpreterAre) {
  const MadeTable table;
  const std::optional<ThreadListLayout> layout = ParseThreadList(14, table.Memory());
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->first_interpreter, 5);
  EXPECT_EQ(layout->first_thread, 9);
  EXPECT_EQ(layout->next_thread, 24);
  EXPECT_EQ(layout->thread_id, 28);
  EXPECT_EQ(layout->thread_number, 21) << "before the stack's chunk";
  EXPECT_FALSE(ParseThreadList(13, table.Memory())) << "of another version";
  EXPECT_FALSE(ParseThreadList(14, table.Memory(100))) << "a part of it";
}

}  // namespace
}  // namespace eroica
