#include "ops/dashboard/assets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "schemas/testing/not_empty.h"

namespace eroica {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
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

// What is made of the modules and the sheets names each of them.
void ExpectToHoldAllFiles(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    const std::string kind = entry.path().extension();
    if (kind == ".js") {
      EXPECT_THAT(FindAsset("/assets/main.js")->bytes, HasSubstr("// " + name + "\n"));
    }
    if (kind == ".css" && name != "dashboard.css") {
      EXPECT_THAT(FindAsset("/assets/dashboard.css")->bytes, HasSubstr("/* " + name + " */\n"));
    }
  }
}

TEST(Assets, AVisitAsksForFourFiles) {
  std::vector<std::string_view> paths;
  for (const Asset& asset : Assets()) paths.push_back(asset.path);
  ASSERT_THAT(paths,
              ElementsAre("/", "/assets/dashboard.css", "/assets/icon.svg", "/assets/main.js"));
  EXPECT_EQ(FindAsset("/assets/main.js")->content_type, "text/javascript; charset=utf-8");
  EXPECT_EQ(FindAsset("/assets/icon.svg")->bytes, FileContent("ops/dashboard/icon.svg"));
  ExpectToHoldAllFiles("ops/dashboard");
  ExpectToHoldAllFiles("ops/dashboard/third_party/uplot");
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
  for (const Asset& asset : NotEmpty(Assets())) {
    EXPECT_THAT(asset.etag, AllOf(StartsWith("\""), EndsWith("\""))) << asset.path;
    EXPECT_EQ(asset.etag.size(), 34U) << asset.path;
    EXPECT_TRUE(tags.insert(asset.etag).second) << asset.path;
  }
}

// What the page loads is embedded, and that loads nothing more.
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
  EXPECT_EQ(references, 3U);
  for (const Asset& asset : NotEmpty(Assets())) {
    EXPECT_THAT(asset.bytes, AllOf(Not(HasSubstr("from \"")), Not(HasSubstr("@import"))))
        << asset.path;
  }
}

}  // namespace
}  // namespace eroica
