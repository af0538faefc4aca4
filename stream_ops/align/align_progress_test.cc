#include "stream_ops/align/align_progress.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace eroica {
namespace {

TEST(AlignProgress, KeysAndValuesReadBack) {
  const AlignKey key{JobId(std::string("a\0b", 3)), CommId(~uint64_t{0}), WindowKind::kSteps};
  const std::pair<ProgressFamily, std::string> keys[] = {
      {ProgressFamily::kAligned, AlignedKey(key)},
      {ProgressFamily::kCarried, CarriedKey(key, RankId(3))},
      {ProgressFamily::kMembers, MembersKey(key)}};
  for (const auto& [family, bytes] : keys) {
    const auto row = DecodeAlignKey(bytes);
    ASSERT_TRUE(row.has_value());
    EXPECT_EQ(row->family, family);
    EXPECT_EQ(row->key, key);
    EXPECT_FALSE(DecodeAlignKey(bytes + "x").has_value());
    EXPECT_FALSE(DecodeAlignKey(bytes.substr(0, bytes.size() - 1)).has_value());
  }
  const std::vector<uint32_t> members{0, 9, 70'000};
  EXPECT_EQ(DecodeMembers(EncodeMembers(members)), members);
  EXPECT_EQ(DecodeMembers(EncodeMembers(members) + "x"), std::nullopt);
  EXPECT_FALSE(DecodeAlignKey("").has_value());
  for (const AlignProgress& progress :
       {AlignProgress{-5, {}}, AlignProgress{7, {RankId(0), RankId(9)}}}) {
    EXPECT_EQ(DecodeProgress(EncodeProgress(progress)), progress);
    EXPECT_EQ(DecodeProgress(EncodeProgress(progress) + "x"), std::nullopt);
  }
}

}  // namespace
}  // namespace eroica
