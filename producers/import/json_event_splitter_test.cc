#include "producers/import/json_event_splitter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace eroica {
namespace {

// Content in pieces of a given size, and what a damaged file would say at its end.
class PieceSource final : public ByteSource {
 public:
  PieceSource(std::string content, size_t piece, std::string damage = "")
      : content_(std::move(content)), piece_(piece), at_end_(std::move(damage)) {}
  size_t Read(char* out, size_t size) override {
    const size_t read = std::min({size, piece_, content_.size() - at_});
    content_.copy(out, read, at_);
    at_ += read;
    if (read == 0) damage_ = at_end_;
    return read;
  }

 private:
  std::string content_;
  size_t piece_;
  std::string at_end_;
  size_t at_ = 0;
};

struct Split {
  std::vector<std::string> events;
  std::vector<std::string> metadata;
  JsonEventSplitter::Outcome outcome{};
  std::string complaint;
  bool inside_event = false;
};

Split SplitAll(const std::string& content, size_t piece = 1 << 20, const std::string& damage = "") {
  PieceSource source(content, piece, damage);
  JsonEventSplitter splitter(source);
  Split split;
  for (auto item = splitter.Next(); item != JsonEventSplitter::Item::kEnd; item = splitter.Next()) {
    if (item == JsonEventSplitter::Item::kEvent) {
      split.events.emplace_back(splitter.value());
    } else {
      split.metadata.push_back(splitter.key().data() == nullptr
                                   ? ""
                                   : std::string(splitter.key()) + "=" +
                                         std::string(splitter.value()));
    }
  }
  split.outcome = splitter.outcome();
  split.complaint = splitter.complaint();
  split.inside_event = splitter.ended_inside_event();
  return split;
}

using Outcome = JsonEventSplitter::Outcome;

TEST(JsonEventSplitter, FindsHeaderEventsAndTrailer) {
  const std::string content = R"(
    {"schemaVersion": 1, "distributedInfo": {"rank": 3, "traceEvents": []}, "s": "a,}b",
     "traceEvents": [ {"a": 1}, {"b": "]"} ,{"c": {}}], "baseTimeNanoseconds": 5,"traceName":"x"} )";
  for (const size_t piece : {size_t{1}, size_t{3}, size_t{64}, size_t{1} << 20}) {
    const Split split = SplitAll(content, piece);
    EXPECT_EQ(split.outcome, Outcome::kComplete) << split.complaint;
    EXPECT_EQ(split.events,
              (std::vector<std::string>{R"({"a": 1})", R"({"b": "]"})", R"({"c": {}})"}));
    EXPECT_EQ(split.metadata.size(), 5u);
    EXPECT_EQ(split.metadata[1], R"(distributedInfo={"rank": 3, "traceEvents": []})");
    EXPECT_EQ(split.metadata[3], "baseTimeNanoseconds=5");
  }
}

TEST(JsonEventSplitter, TakesABareArray) {
  const Split whole = SplitAll(R"([{"a":1},{"b":2}])");
  EXPECT_EQ(whole.outcome, Outcome::kComplete);
  EXPECT_EQ(whole.events.size(), 2u);
  const Split open = SplitAll("[{\"a\":1},\n{\"b\":2},\n");  // legal: a writer that was killed
  EXPECT_EQ(open.outcome, Outcome::kComplete);
  EXPECT_EQ(open.events.size(), 2u);
}

TEST(JsonEventSplitter, DeliversWhatWasWholeBeforeTheCut) {
  const std::string content =
      R"({"traceEvents": [{"a": 1}, {"b": 2}, {"c": 3}], "traceName": "x"})";
  for (size_t cut = 1; cut < content.size(); ++cut) {
    const Split split = SplitAll(content.substr(0, cut), 7);
    EXPECT_NE(split.outcome, Outcome::kComplete) << cut;
    EXPECT_FALSE(split.complaint.empty());
    size_t whole = 0;
    for (const char* event : {"{\"a\": 1}", "{\"b\": 2}", "{\"c\": 3}"})
      whole += content.substr(0, cut).find(event) != std::string::npos ? 1 : 0;
    EXPECT_EQ(split.events.size(), whole) << cut;
  }
  EXPECT_TRUE(SplitAll(R"({"traceEvents": [{"a": 1}, {"b")").inside_event);
}

TEST(JsonEventSplitter, SaysWhyItEnded) {
  const Split split = SplitAll(R"({"traceEvents": [{"a": 1}, )", 5, "the gzip data is cut off");
  EXPECT_EQ(split.outcome, Outcome::kTruncated);
  EXPECT_NE(split.complaint.find("the gzip data is cut off"), std::string::npos) << split.complaint;
}

TEST(JsonEventSplitter, TellsWhatIsNoTrace) {
  for (const char* content : {"", "   ", "hello", "\x89PNG", "{\"a\": 1}", "{}", "17"}) {
    const Split split = SplitAll(content);
    EXPECT_EQ(split.outcome, Outcome::kNoTrace) << content;
    EXPECT_TRUE(split.events.empty());
  }
}

TEST(JsonEventSplitter, SurvivesGarbage) {
  for (const char* content :
       {"{\"a\" 1}", "{:}", "{\"traceEvents\":[}]}", "{\"traceEvents\":[:]}",
        "{\"traceEvents\":[1,null,\"x\",[2],{}]}", "[[[[[[", "{\"traceEvents\":{}}",
        "{\"traceEvents\":[,,,]}", "{\"a\":,\"traceEvents\":[]}", "{\"a\":]}"}) {
    SplitAll(content, 1);
  }
  EXPECT_EQ(SplitAll("{\"traceEvents\":[1,null,\"x\",[2],{}]}").events.size(), 5u);
}

TEST(JsonEventSplitter, GivesUpOnAValueWithoutEnd) {
  const Split split = SplitAll("{\"traceEvents\":[{\"a\": \"" +
                               std::string(JsonEventSplitter::kMaxValueBytes + 10, 'x'));
  EXPECT_EQ(split.outcome, Outcome::kTruncated);
  EXPECT_TRUE(split.inside_event);
}

}  // namespace
}  // namespace eroica
