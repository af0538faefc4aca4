#include "producers/python/process_memory.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace eroica {
namespace {

constexpr size_t kPageBytes = 4096;

// Two pages, of which the second is not there.
class HalfMapped : public ::testing::Test {
 protected:
  void SetUp() override {
    void* mapped =
        mmap(nullptr, 2 * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    begin_ = static_cast<char*>(mapped);
    ASSERT_EQ(munmap(begin_ + kPageBytes, kPageBytes), 0);
  }
  void TearDown() override { munmap(begin_, kPageBytes); }

  uintptr_t AddressOf(size_t offset) const { return reinterpret_cast<uintptr_t>(begin_) + offset; }

  char* begin_ = nullptr;
  ProcessMemory memory_;
};

TEST_F(HalfMapped, ReadsUpToTheEndOfWhatIsMappedAndSaysWhereItIsNot) {
  std::memcpy(begin_ + kPageBytes - 8, "the end.", 8);
  std::string text(8, '\0');
  EXPECT_TRUE(memory_.Read(AddressOf(kPageBytes - 8), text.size(), text.data()));
  EXPECT_EQ(text, "the end.");
  EXPECT_FALSE(memory_.Read(AddressOf(kPageBytes - 7), text.size(), text.data()));
  EXPECT_FALSE(memory_.Read(AddressOf(kPageBytes), text.size(), text.data()));
  EXPECT_FALSE(memory_.Read(0, text.size(), text.data()));
}

TEST_F(HalfMapped, SeesAPageAtOneMomentUntilItIsForgotten) {
  begin_[0] = 'a';
  char seen = 0;
  ASSERT_TRUE(memory_.Read(AddressOf(0), &seen));
  begin_[0] = 'b';
  ASSERT_TRUE(memory_.Read(AddressOf(0), &seen));
  EXPECT_EQ(seen, 'a');
  memory_.Forget();
  ASSERT_TRUE(memory_.Read(AddressOf(0), &seen));
  EXPECT_EQ(seen, 'b');
}

TEST(ProcessMemory, ReadsAcrossMorePagesThanItKeeps) {
  std::vector<uint32_t> numbers(100 * kPageBytes / sizeof(uint32_t));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<uint32_t>(i);
  ProcessMemory memory;
  std::vector<uint32_t> read(numbers.size());
  ASSERT_TRUE(memory.Read(reinterpret_cast<uintptr_t>(numbers.data()),
                          numbers.size() * sizeof(uint32_t), read.data()));
  EXPECT_EQ(read, numbers);
}

// A child writes into its own copy of the parent's memory.
TEST_F(HalfMapped, ReadsAnotherProcessWhereItIsFollowed) {
  begin_[0] = 'p';
  int written[2];
  ASSERT_EQ(pipe(written), 0);
  const pid_t child = fork();
  if (child == 0) {
    begin_[0] = 'c';
    if (write(written[1], "w", 1) == 1) pause();
    _exit(0);
  }
  ASSERT_GT(child, 0);
  char byte = 0;
  ASSERT_EQ(read(written[0], &byte, 1), 1);
  char seen = 0;
  ASSERT_TRUE(memory_.Read(AddressOf(0), &seen));
  EXPECT_EQ(seen, 'p');
  memory_.Follow(child);
  EXPECT_TRUE(memory_.Read(AddressOf(0), &seen));
  EXPECT_EQ(seen, 'c');
  memory_.Forget();
  EXPECT_TRUE(memory_.Read(AddressOf(0), &seen));
  EXPECT_EQ(seen, 'c') << "still the child's";
  memory_.Follow(0);
  EXPECT_TRUE(memory_.Read(AddressOf(0), &seen));
  EXPECT_EQ(seen, 'p');
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  memory_.Follow(child);
  EXPECT_FALSE(memory_.Read(AddressOf(0), &seen)) << "it has ended";
  close(written[0]);
  close(written[1]);
}

}  // namespace
}  // namespace eroica
