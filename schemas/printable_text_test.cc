#include "schemas/printable_text.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace eroica {
namespace {

TEST(Printable, LeavesNamesAsTheyAre) {
  for (const char* name :
       {"", "train.py(53): extra_attention_layer", "C:\\jobs\\a/b", "größe µ 模型"})
    EXPECT_EQ(Printable(name), name);
}

TEST(Printable, NoControlCharacterReachesATerminal) {
  EXPECT_EQ(Printable("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(Printable("one\nline\r\tonly"), "one\\nline\\r\\tonly");
  EXPECT_EQ(Printable(std::string("nul\0del\x7f", 8)), "nul\\x00del\\x7f");
  EXPECT_EQ(Printable("C1 \u009b31m"), "C1 \\u009b31m") << "a terminal takes it for an escape, too";
}

TEST(Printable, NoNameReversesTheReadingDirection) {
  EXPECT_EQ(Printable("gpj\u202eexe.\u2066x\u2028"), "gpj\\u202eexe.\\u2066x\\u2028");
}

TEST(Printable, IsValidUtf8WhateverTheBytes) {
  EXPECT_EQ(Printable("\xff\xc3("), "\\xff\\xc3(");
  EXPECT_EQ(Printable("cut \xe2\x82"), "cut \\xe2\\x82");
  EXPECT_EQ(Printable("overlong \xc0\xaf \xe0\x80\xaf"), "overlong \\xc0\\xaf \\xe0\\x80\\xaf");
  EXPECT_EQ(Printable("surrogate \xed\xa0\x80"), "surrogate \\xed\\xa0\\x80");
  EXPECT_EQ(Printable("beyond \xf4\x90\x80\x80"), "beyond \\xf4\\x90\\x80\\x80");
}

TEST(PrintableJson, IsTheSameDocumentWithoutWhatDrivesATerminal) {
  EXPECT_EQ(PrintableJson("{\n \"a\\n\": \"\u00b5 \u009b2J\x7f\u202e\"}"),
            "{\n \"a\\n\": \"\u00b5 \\u009b2J\\u007f\\u202e\"}");
}

TEST(PercentEncoded, LeavesWhatNeedsNothing) {
  EXPECT_EQ(PercentEncoded("night/3 µ"), "night/3 µ");
}

TEST(PercentEncoded, KeepsDifferentNamesApart) {
  const std::vector<std::string> names = {
      "a\nb",  "a%0Ab", "a%b", "a%25b", std::string("a\0b", 3), std::string("a\xff") + "b",
      "a\\nb", "ab"};
  std::set<std::string> encoded;
  for (const std::string& name : names) {
    encoded.insert(PercentEncoded(name));
    EXPECT_EQ(Printable(PercentEncoded(name)), PercentEncoded(name));
  }
  EXPECT_EQ(encoded.size(), names.size());
  EXPECT_EQ(PercentEncoded("a\nb\x1b%"), "a%0Ab%1B%25");
}

TEST(IsUtf8Test, TakesTextAndRefusesWhatOnlyLooksLikeIt) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"));
  EXPECT_FALSE(IsUtf8("a\xc0\xaf")) << "overlong";
  EXPECT_FALSE(IsUtf8("\xed\xa0\x80")) << "a surrogate";
  EXPECT_FALSE(IsUtf8("\xf4\x90\x80\x80")) << "beyond Unicode";
  EXPECT_FALSE(IsUtf8("\xe2\x82")) << "cut";
}

TEST(CharacterCountTest, CountsCharactersAndNotBytes) {
  EXPECT_EQ(CharacterCount(""), 0U);
  EXPECT_EQ(CharacterCount("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"), 4U);
}

}  // namespace
}  // namespace eroica
