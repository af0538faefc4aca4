#include "ops/dashboard/assets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace eroica {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int kGzipWindow = 15 + 16;

std::string Unzip(std::string_view zipped) {
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) return "";
  std::string content(4 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(zipped.data()));
  stream.avail_in = static_cast<uInt>(zipped.size());
  stream.next_out = reinterpret_cast<Bytef*>(content.data());
  stream.avail_out = static_cast<uInt>(content.size());
  const int outcome = inflate(&stream, Z_FINISH);
  content.resize(outcome == Z_STREAM_END ? stream.total_out : 0);
  inflateEnd(&stream);
  return content;
}

std::string FileContent(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Assets, ThePageIsAtTheRoot) {
  const Asset* page = FindAsset("/");
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(page->content_type, "text/html; charset=utf-8");
  EXPECT_EQ(page->bytes, FileContent("ops/dashboard/index.html"));
}

TEST(Assets, FilesAreAsTheyLieInTheRepository) {
  const Asset* script = FindAsset("/assets/main.js");
  ASSERT_NE(script, nullptr);
  EXPECT_EQ(script->content_type, "text/javascript; charset=utf-8");
  EXPECT_EQ(script->bytes, FileContent("ops/dashboard/main.js"));
  const Asset* vendored = FindAsset("/assets/uplot.js");
  ASSERT_NE(vendored, nullptr);
  EXPECT_EQ(vendored->bytes, FileContent("ops/dashboard/third_party/uplot/uplot.js"));
}

TEST(Assets, GzipHoldsTheSameBytes) {
  ASSERT_FALSE(Assets().empty());
  for (const Asset& asset : Assets()) {
    EXPECT_EQ(Unzip(asset.gzip), asset.bytes) << asset.path;
    EXPECT_LT(asset.gzip.size(), asset.bytes.size() + 64) << asset.path;
  }
}

TEST(Assets, PathsAreFoundAndNothingElse) {
  for (const Asset& asset : Assets()) EXPECT_EQ(FindAsset(asset.path), &asset);
  for (const std::string_view path : {"", "/assets/", "/assets/none.js", "/index.html", "/assets",
                                      "/assets/../main.js", "/assets/main.js/", "/zzz"}) {
    EXPECT_EQ(FindAsset(path), nullptr) << path;
  }
}

TEST(Assets, EachHasAStrongTagOfItsOwn) {
  std::set<std::string_view> tags;
  for (const Asset& asset : Assets()) {
    EXPECT_THAT(asset.etag, AllOf(StartsWith("\""), EndsWith("\""))) << asset.path;
    EXPECT_EQ(asset.etag.size(), 34U) << asset.path;
    EXPECT_TRUE(tags.insert(asset.etag).second) << asset.path;
  }
}

// What the page and its modules load is embedded: nothing comes from elsewhere.
TEST(Assets, WhatIsLoadedIsThere) {
  const Asset* page = FindAsset("/");
  ASSERT_NE(page, nullptr);
  EXPECT_THAT(page->bytes, Not(HasSubstr("http")));
  const std::string_view mark = "\"/assets/";
  size_t references = 0;
  for (size_t at = page->bytes.find(mark); at != std::string_view::npos;
       at = page->bytes.find(mark, at + 1), ++references) {
    const std::string_view path =
        page->bytes.substr(at + 1, page->bytes.find('"', at + 1) - at - 1);
    EXPECT_NE(FindAsset(path), nullptr) << path;
  }
  EXPECT_GE(references, 5U);
  for (const Asset& asset : Assets()) {
    const std::string_view from = "from \"./";
    for (size_t at = asset.bytes.find(from); at != std::string_view::npos;
         at = asset.bytes.find(from, at + 1)) {
      const size_t begin = at + from.size();
      const std::string name(asset.bytes.substr(begin, asset.bytes.find('"', begin) - begin));
      EXPECT_NE(FindAsset("/assets/" + name), nullptr) << asset.path << " imports " << name;
    }
  }
}

// Modules that are found out one after the other cost a round trip for each level of imports.
TEST(Assets, ThePageAsksForAllModulesAtOnce) {
  const Asset* page = FindAsset("/");
  ASSERT_NE(page, nullptr);
  for (const Asset& asset : Assets()) {
    if (!asset.path.ends_with(".js")) continue;
    EXPECT_THAT(page->bytes, HasSubstr("\"" + std::string(asset.path) + "\"")) << asset.path;
  }
}

}  // namespace
}  // namespace eroica
