#include "ops/alerts/webhook_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

WebhookMessage Message(const std::string& finding, const std::string& id, int64_t offset) {
  return {.id = id, .finding_id = finding, .body = {}, .headers = {}, .offset = offset};
}

TEST(WebhookQueue, OneThatIsNeverTakenHoldsUpNoOtherFinding) {
  WebhookQueue queue(10);
  queue.Push(Message("a", "a opened", 0));
  queue.Push(Message("a", "a resolved", 1));
  queue.Push(Message("b", "b opened", 2));
  EXPECT_EQ(queue.Next()->id, "a opened");
  queue.Rotate();
  EXPECT_EQ(queue.Next()->id, "b opened") << "a's next one must not overtake its first";
  queue.Remove();
  EXPECT_EQ(queue.Next()->id, "a opened");
  queue.Remove();
  EXPECT_EQ(queue.Next()->id, "a resolved");
  queue.Remove();
  EXPECT_EQ(queue.Next(), nullptr);
}

TEST(WebhookQueue, TheOldestGivesWay) {
  WebhookQueue queue(2);
  EXPECT_TRUE(queue.Push(Message("a", "1", 0)));
  EXPECT_TRUE(queue.Push(Message("b", "2", 1)));
  EXPECT_FALSE(queue.Push(Message("c", "3", 2)));
  EXPECT_EQ(queue.size(), 2U);
  EXPECT_EQ(queue.Next()->id, "2");
}

TEST(WebhookQueue, WhatWaitsIsNotHandled) {
  WebhookQueue queue(10);
  queue.Push(Message("a", "1", 7));
  queue.Push(Message("b", "2", 9));
  EXPECT_THAT(queue.Handled({{0, 20}, {1, 5}}), ElementsAre(Pair(0, 7), Pair(1, 5)));
  queue.Next();
  queue.Remove();
  EXPECT_THAT(queue.Handled({{0, 20}}), ElementsAre(Pair(0, 9)));
  queue.Forget(0);
  EXPECT_THAT(queue.Handled({{0, 20}}), ElementsAre(Pair(0, 20)));
}

}  // namespace
}  // namespace eroica
