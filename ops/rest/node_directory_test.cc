#include "ops/rest/node_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "stream_ops/log/memory_log.h"

namespace eroica {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class NodeDirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(
        log_.admin()
            .CreateTopic(
                {.name = "eroica.nodes", .partitions = 1, .config = {}, .replication_factor = 1})
            .ok());
  }
  std::unique_ptr<NodeDirectory> Start(const std::string& name) {
    auto directory =
        std::make_unique<NodeDirectory>(log_, "eroica", [this] { return now_ms_.load(); });
    directory->Start(name, "http://" + name + ":8470");
    return directory;
  }

  MemoryLog log_;
  std::atomic<int64_t> now_ms_ = 1'000;
};

TEST_F(NodeDirectoryTest, NodesLearnOfEachOtherAndForgetWhoGoes) {
  const auto a = Start("a");
  auto b = Start("b");
  while (a->Others().size() != 1 || b->Others().size() != 1) std::this_thread::yield();
  EXPECT_EQ(a->Others()[0].url, "http://b:8470");
  EXPECT_EQ(b->Others()[0].name, "a");
  b = nullptr;
  while (!a->Others().empty()) std::this_thread::yield();
}

TEST_F(NodeDirectoryTest, WhoIsSilentIsForgotten) {
  const auto producer = *log_.NewProducer();
  ASSERT_TRUE(producer
                  ->Append({.topic = "eroica.nodes",
                            .key = "dead",
                            .value = EncodeNode({"dead", "http://dead:1", 1'000}),
                            .headers = {},
                            .partition = std::nullopt})
                  .ok());
  const auto a = Start("a");
  while (a->Others().empty()) std::this_thread::yield();
  now_ms_ = 1'000 + NodeDirectory::kForgottenAfterMs;
  EXPECT_THAT(a->Others(), IsEmpty());
}

TEST(KnownNodeTest, IsReadAsItWasWrittenAndNothingElseIs) {
  const KnownNode node{.name = "a\n", .url = "http://a:1", .announced_ms = 7};
  EXPECT_EQ(DecodeNode(EncodeNode(node)), node);
  for (const std::string text :
       {"", "[]", "{}", R"({"node":1,"url":"","announced_ms":1})", R"({"node":"a","url":"b"})"})
    EXPECT_FALSE(DecodeNode(text)) << text;
  EXPECT_FALSE(DecodeNode(EncodeNode({std::string(1'000, 'x'), "u", 1})));
}

TEST(NodeUrlTest, IsHttpWithHostAndPort) {
  const auto url = ParseNodeUrl("https://[::1]:8470");
  ASSERT_TRUE(url);
  EXPECT_TRUE(url->tls);
  EXPECT_EQ(url->host, "::1");
  EXPECT_EQ(url->port, "8470");
  for (const std::string text : {"", "ftp://a:1", "http://a", "http://:1", "http://a:", "a:1",
                                 "http://user@a:1", "http://a/b:1"})
    EXPECT_FALSE(ParseNodeUrl(text)) << text;
}

}  // namespace
}  // namespace eroica
