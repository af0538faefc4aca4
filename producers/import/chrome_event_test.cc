#include "producers/import/chrome_event.h"

#include <gtest/gtest.h>

#include <string>

#include "producers/import/json_members.h"

namespace eroica {
namespace {

std::string Padded(std::string text) { return text + std::string(kJsonPadding, '\0'); }

int64_t Microseconds(std::string_view text) {
  int64_t ns = -1;
  EXPECT_TRUE(ParseMicroseconds(text, &ns)) << text;
  return ns;
}

TEST(ParseMicroseconds, KeepsEveryNanosecond) {
  EXPECT_EQ(Microseconds("4401701946331.626"), 4'401'701'946'331'626);
  EXPECT_EQ(Microseconds("1694128201435604"), 1'694'128'201'435'604'000);
  EXPECT_EQ(Microseconds("0"), 0);
  EXPECT_EQ(Microseconds("-1.5"), -1'500);
  EXPECT_EQ(Microseconds("607904.0"), 607'904'000);
}

TEST(ParseMicroseconds, RoundsWhatIsBelowANanosecond) {
  EXPECT_EQ(Microseconds("848671.6747283936"), 848'671'675);
  EXPECT_EQ(Microseconds("0.0005"), 1);
  EXPECT_EQ(Microseconds("0.00049999999999999999999"), 0);
  EXPECT_EQ(Microseconds("0.0000000000000000000000000000001"), 0);
}

TEST(ParseMicroseconds, ReadsExponents) {
  EXPECT_EQ(Microseconds("1.5e3"), 1'500'000);
  EXPECT_EQ(Microseconds("15E-1"), 1'500);
  EXPECT_EQ(Microseconds("0e999999999999"), 0);
}

TEST(ParseMicroseconds, RefusesWhatIsNoTime) {
  int64_t ns = 0;
  for (const char* text : {"", "-", ".5", "1.2.3", "1e", "NaN", "1e30", "99999999999999999999999",
                           "0x10", "1 ", "true", "1e+"}) {
    EXPECT_FALSE(ParseMicroseconds(text, &ns)) << text;
  }
}

TEST(DecodeJsonString, ResolvesEscapes) {
  EXPECT_EQ(DecodeJsonString(R"(a\"b\\c\/d\n\u0041\u00e9)"), "a\"b\\c/d\nA\xC3\xA9");
  EXPECT_EQ(DecodeJsonString(R"(\ud83d\ude00)"), "\xF0\x9F\x98\x80");
}

TEST(DecodeJsonString, ReplacesWhatIsNoText) {
  const std::string replacement = "\xEF\xBF\xBD";
  EXPECT_EQ(DecodeJsonString("a\xFF"), "a" + replacement);
  EXPECT_EQ(DecodeJsonString("\xC0\x80"), replacement + replacement);  // overlong
  EXPECT_EQ(DecodeJsonString("\xED\xA0\x80"),
            replacement + replacement + replacement);  // a surrogate
  EXPECT_EQ(DecodeJsonString(R"(\ud83d)"), replacement);
  EXPECT_EQ(DecodeJsonString(R"(\ud83dx)"), replacement + "x");
  EXPECT_EQ(DecodeJsonString(R"(\uZZZZ)"), replacement + "ZZZZ");
  EXPECT_EQ(DecodeJsonString("\\"), replacement);
}

TEST(ParseChromeEvent, TakesFieldsInAnyOrder) {
  const std::string text = Padded(
      R"( {"args": {"a": "}\"{", "b": [1, {"c": 2}]}, "dur" : 2.5 ,"ts":1,"ph":"X","name":"n\"m","tid":"t","pid":7,"cat":"k"})");
  ChromeEvent event;
  const std::string_view object(text.data() + 1, text.size() - 1 - kJsonPadding);
  ASSERT_TRUE(ParseChromeEvent(object, &event));
  EXPECT_EQ(event.phase, 'X');
  EXPECT_EQ(event.name, "n\\\"m");
  EXPECT_EQ(event.category, "k");
  EXPECT_EQ(event.pid, "7");
  EXPECT_EQ(event.tid, "t");
  EXPECT_EQ(event.start_ns, 1'000);
  EXPECT_EQ(event.duration_ns, 2'500);
  EXPECT_EQ(event.args, R"({"a": "}\"{", "b": [1, {"c": 2}]})");
}

TEST(ParseChromeEvent, RefusesBrokenObjects) {
  for (const char* broken : {"{", "{}x", "[]", "17", R"({"ph")", R"({"ph":})", R"({"ph":"X",})",
                             R"({"ph":"X" "ts":1})", R"({ph:"X"})", R"({"ph":"X)"}) {
    const std::string text = Padded(broken);
    ChromeEvent event;
    EXPECT_FALSE(ParseChromeEvent({text.data(), text.size() - kJsonPadding}, &event)) << broken;
  }
}

TEST(FindBracketEnd, MatchesAcrossBlocks) {
  for (size_t filler = 0; filler < 200; ++filler) {
    const std::string inside = std::string(filler, ' ') + R"("}\\\"]" , [[{}]], "\\")";
    const std::string value = "{" + inside + "}";
    const std::string text = Padded(value + "}}}");
    EXPECT_EQ(FindBracketEnd(text.data(), 0, text.size() - kJsonPadding), value.size()) << filler;
    EXPECT_EQ(FindBracketEnd(text.data(), 0, value.size() - 1), value.size())
        << filler;  // cut off: one behind the end
  }
}

TEST(FindStringEnd, TellsEscapes) {
  bool escaped = false;
  const std::string text = Padded("\"0123456789012345\\\"x\"y");
  EXPECT_EQ(FindStringEnd(text.data(), 0, text.size() - kJsonPadding, &escaped), 21u);
  EXPECT_TRUE(escaped);
}

}  // namespace
}  // namespace eroica
