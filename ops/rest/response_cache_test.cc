#include "ops/rest/response_cache.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

std::shared_ptr<const CachedResponse> OfSize(size_t bytes) {
  auto cached = std::make_shared<CachedResponse>();
  cached->response = JsonResponse(std::string(bytes, 'x'));
  return cached;
}

TEST(ResponseCacheTest, HoldsUntilTheSourcesChange) {
  ResponseCache cache(100'000);
  const auto kept = OfSize(10);
  cache.Keep("/a", 1, kept);
  EXPECT_EQ(cache.Find("/a", 1), kept);
  EXPECT_EQ(cache.Find("/b", 1), nullptr);
  EXPECT_EQ(cache.Find("/a", 2), nullptr);
  EXPECT_EQ(cache.Find("/a", 1), nullptr) << "it has left";
  EXPECT_EQ(cache.hits(), 1U);
}

TEST(ResponseCacheTest, WhatNobodyAsksForLeavesFirst) {
  ResponseCache cache(10'000);
  cache.Keep("/a", 1, OfSize(3'000));
  cache.Keep("/b", 1, OfSize(3'000));
  EXPECT_NE(cache.Find("/a", 1), nullptr);
  cache.Keep("/c", 1, OfSize(3'000));
  EXPECT_NE(cache.Find("/a", 1), nullptr);
  EXPECT_EQ(cache.Find("/b", 1), nullptr);
  EXPECT_NE(cache.Find("/c", 1), nullptr);
}

TEST(ResponseCacheTest, WhatWouldPushOutAllOthersIsNotKept) {
  ResponseCache cache(10'000);
  cache.Keep("/a", 1, OfSize(3'000));
  cache.Keep("/large", 1, OfSize(6'000));
  EXPECT_EQ(cache.Find("/large", 1), nullptr);
  EXPECT_NE(cache.Find("/a", 1), nullptr);
  cache.Keep("/a", 2, OfSize(10));
  EXPECT_NE(cache.Find("/a", 2), nullptr);
}

}  // namespace
}  // namespace eroica
