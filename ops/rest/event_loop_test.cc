#include "ops/rest/event_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace eroica::rest {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Throws at ops/rest/event_loop.h: a handler
TEST(RunLoop, WhatAHandlerThrowsStopsNoOther) {
  boost::asio::io_context io(1);
  int answered = 0;
  boost::asio::post(io, [] { throw std::bad_alloc(); });
  boost::asio::post(io, [&] { ++answered; });
  boost::asio::post(io, [] { throw 7; });
  boost::asio::post(io, [] { throw std::length_error("of a library"); });
  boost::asio::post(io, [&] { ++answered; });
  std::vector<std::string> thrown;
  RunLoop(io, [&](const Thrown& what) {
    thrown.emplace_back(what.text());
    return true;
  });
  EXPECT_EQ(answered, 2);
  EXPECT_THAT(thrown, ElementsAre("std::bad_alloc: std::bad_alloc", "int",
                                  "std::length_error: of a library"));
}

TEST(RunLoop, EndsWhereItsOwnerSaysSo) {
  boost::asio::io_context io(1);
  boost::asio::post(io, [] { throw std::bad_alloc(); });
  boost::asio::post(io, [] { throw std::bad_alloc(); });
  int thrown = 0;
  RunLoop(io, [&](const Thrown&) {
    ++thrown;
    return false;
  });
  EXPECT_EQ(thrown, 1);
}

TEST(RunLoop, TheLoopOutlivesALogThatThrows) {
  boost::asio::io_context io(1);
  bool answered = false;
  boost::asio::post(io, [] { throw std::bad_alloc(); });
  boost::asio::post(io, [&] { answered = true; });
  RunLoop(io, [](const Thrown&) -> bool { throw std::bad_alloc(); });
  EXPECT_TRUE(answered);
}

TEST(RunOneHandler, AnswersWhatWasThrown) {
  boost::asio::io_context io(1);
  boost::asio::post(io, [] { throw std::length_error("of a library"); });
  const absl::Status status = RunOneHandler(io, milliseconds(1'000));
  EXPECT_TRUE(absl::IsInternal(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("of a library"));
  EXPECT_TRUE(RunOneHandler(io, milliseconds(1)).ok());
}

}  // namespace
}  // namespace eroica::rest
