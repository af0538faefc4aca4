#include "ops/rest/listen_address.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

TEST(ListenAddressTest, ReadsAddressesOfBothKinds) {
  EXPECT_EQ(*ParseListenAddress("127.0.0.1:8470"), (ListenAddress{"127.0.0.1", 8470}));
  EXPECT_EQ(*ParseListenAddress("[::1]:0"), (ListenAddress{"::1", 0}));
  EXPECT_TRUE(ParseListenAddress("127.9.9.9:1")->IsLoopback());
  EXPECT_TRUE(ParseListenAddress("[::1]:1")->IsLoopback());
  EXPECT_FALSE(ParseListenAddress("0.0.0.0:1")->IsLoopback());
  EXPECT_FALSE(ParseListenAddress("[::]:1")->IsLoopback());
}

TEST(ListenAddressTest, RefusesWhatIsNone) {
  for (const std::string text : {"", "8470", "localhost:8470", "127.0.0.1", "127.0.0.1:",
                                 "127.0.0.1:65536", "127.0.0.1:-1", "::1:8470", "[127.0.0.1]:1"})
    EXPECT_FALSE(ParseListenAddress(text).ok()) << text;
}

}  // namespace
}  // namespace eroica
