#include "producers/core/place_note.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "stream_ops/recording/scratch_directory.h"

namespace eroica {
namespace {

RankStanding Standing(int64_t step, std::string function = "train.py(1): main") {
  RankStanding standing;
  standing.job = JobId{"job"};
  standing.rank = RankId{3};
  standing.world_size = 4;
  standing.step = step;
  standing.function = std::move(function);
  return standing;
}

class PlaceNoteTest : public ::testing::Test {
 protected:
  const ScratchDirectory folder_;
  const std::string path_ = folder_.path() + "/rank-3.place";
};

TEST_F(PlaceNoteTest, TheLastOneIsRead) {
  EXPECT_EQ(ReadPlaceNote(folder_.path(), 3), std::nullopt);
  PlaceNote note(folder_.path(), 3);
  EXPECT_EQ(ReadPlaceNote(folder_.path(), 3), std::nullopt) << "nothing is noted yet";
  note.Write(Standing(1, std::string(500, 'f')), 0);
  note.Write(Standing(2), 1);
  EXPECT_EQ(ReadPlaceNote(folder_.path(), 3), Standing(2));
  EXPECT_EQ(ReadPlaceNote(folder_.path(), 2), std::nullopt) << "another rank's";
}

TEST_F(PlaceNoteTest, IsRenewedTwiceASecond) {
  PlaceNote note(folder_.path(), 3);
  EXPECT_TRUE(note.IsDue(PlaceNote::kPeriodNs));
  note.Write(Standing(1), PlaceNote::kPeriodNs);
  EXPECT_FALSE(note.IsDue(2 * PlaceNote::kPeriodNs - 1));
  EXPECT_TRUE(note.IsDue(2 * PlaceNote::kPeriodNs));
}

TEST_F(PlaceNoteTest, ANewProcessTakesTheOldNoteAway) {
  PlaceNote(folder_.path(), 3).Write(Standing(1), 0);
  const PlaceNote note(folder_.path(), 3);
  EXPECT_EQ(ReadPlaceNote(folder_.path(), 3), std::nullopt);
}

TEST_F(PlaceNoteTest, WhatIsNoNoteIsNotRead) {
  PlaceNote(folder_.path(), 3).Write(Standing(1), 0);
  std::string whole;
  {
    std::ifstream file(path_);
    whole.assign(std::istreambuf_iterator<char>(file), {});
  }
  for (size_t cut = 0; cut < whole.size(); ++cut) {
    std::ofstream(path_, std::ios::trunc) << whole.substr(0, cut);
    EXPECT_EQ(ReadPlaceNote(folder_.path(), 3), std::nullopt) << cut;
  }
  std::filesystem::remove(path_);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(ReadPlaceNote(folder_.path(), 3), std::nullopt) << "and nobody waits for its writer";
  PlaceNote note(folder_.path(), 3);
  EXPECT_FALSE(note.IsDue(PlaceNote::kPeriodNs)) << "there is nowhere to write to";
}

}  // namespace
}  // namespace eroica
