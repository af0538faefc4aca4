#include "ops/cli/wrapped_text.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

TEST(Wrapped, BreaksBetweenWordsAndIndents) {
  EXPECT_EQ(Wrapped("one two three four", 12, 2), "one two\n  three four");
  EXPECT_EQ(Wrapped("one", 12, 2), "one");
  EXPECT_EQ(Wrapped("", 12, 2), "");
}

TEST(Wrapped, KeepsLongWordsWhole) {
  EXPECT_EQ(Wrapped("a abcdefghijklmnop b", 8, 1), "a\n abcdefghijklmnop\n b");
}

TEST(Wrapped, KeepsLineEndsAndTables) {
  EXPECT_EQ(Wrapped("a\nb", 80, 3), "a\n   b");
  EXPECT_EQ(Wrapped("culprit  peers  threshold", 10, 1), "culprit  peers  threshold");
}

TEST(Wrapped, NamesFromATraceCannotDriveTheTerminal) {
  EXPECT_EQ(Wrapped("a\x1b[31mb\r\x7f", 80, 0), "a\\x1b[31mb\\r\\x7f");
}

TEST(WrappedLines, EachLineByItself) {
  EXPECT_EQ(WrappedLines("one two three\nfour\n", 10, 2), "one two\n  three\nfour\n");
  EXPECT_EQ(WrappedLines("", 8, 2), "");
  EXPECT_EQ(WrappedLines("no end", 8, 2), "no end\n");
}

TEST(AlignedColumns, FirstLeftOthersRight) {
  EXPECT_EQ(AlignedColumns({{"", "peers"}, {"wait", "1"}}), "      peers\nwait      1");
  EXPECT_EQ(AlignedColumns({{"\u00b5", "a"}, {"bb", "b"}}), "\u00b5   a\nbb  b");
  EXPECT_EQ(AlignedColumns({}), "");
}

TEST(AlignedColumns, SeveralMayBeLeft) {
  EXPECT_EQ(AlignedColumns({{"a", "b", "c"}, {"aa", "bb", "12"}}, 2), "a   b    c\naa  bb  12");
}

TEST(AlignedColumns, NoLineEndsInBlanks) {
  EXPECT_EQ(AlignedColumns({{"a", "bb"}, {"aa", "b"}}, 2), "a   bb\naa  b");
}

TEST(CutTo, WhatHasNoRoomEndsInDots) {
  EXPECT_EQ(CutTo("abcdef", 6), "abcdef");
  EXPECT_EQ(CutTo("abcdefg", 6), "abc...");
  EXPECT_EQ(CutTo("\u00b5\u00b5\u00b5\u00b5\u00b5", 4), "\u00b5...");
  EXPECT_EQ(CutTo("abcdef", 2), "..");
  EXPECT_EQ(CutTo("abcdef", 0), "");
}

}  // namespace
}  // namespace eroica
