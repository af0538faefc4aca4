#include "stream_ops/align/align_progress.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

TEST(AlignProgress, KeysAndValuesReadBack) {
  const AlignKey key{JobId(std::string("a\0b", 3)), CommId(~uint64_t{0}), WindowKind::kSteps};
  EXPECT_EQ(DecodeAlignKey(ProgressKey(key)), key);
  EXPECT_EQ(DecodeAlignKey(CarriedKey(key, RankId(3))), key);
  EXPECT_EQ(DecodeAlignKey(MembersKey(key)), key);
  EXPECT_TRUE(ProgressKey(key).starts_with(ProgressPrefix()));
  EXPECT_TRUE(CarriedKey(key, RankId(3)).starts_with(CarriedPrefix()));
  EXPECT_EQ(DecodeAlignKey(ProgressKey(key) + "x"), std::nullopt);
  EXPECT_TRUE(MembersKey(key).starts_with(MembersPrefix()));
  const std::vector<uint32_t> members{0, 9, 70'000};
  EXPECT_EQ(DecodeMembers(EncodeMembers(members)), members);
  EXPECT_EQ(DecodeMembers(EncodeMembers(members) + "x"), std::nullopt);
  EXPECT_EQ(DecodeAlignKey(""), std::nullopt);
  for (const AlignProgress& progress :
       {AlignProgress{-5, {}}, AlignProgress{7, {RankId(0), RankId(9)}}}) {
    EXPECT_EQ(DecodeProgress(EncodeProgress(progress)), progress);
    EXPECT_EQ(DecodeProgress(EncodeProgress(progress) + "x"), std::nullopt);
  }
}

}  // namespace
}  // namespace eroica
