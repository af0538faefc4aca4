#include "producers/core/emitter_thread.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <new>
#include <string>

namespace eroica {
namespace {

// Throws at producers/core/emitter_thread.cc: the emitter
TEST(EmitterThread, WhatALibraryThrowsSwitchesTheCollectionOffOnce) {
  CoreState state(RingPool::Make());
  std::promise<std::string> reason;  // setting it twice throws
  EmitterThread::Parts parts;
  parts.state = &state;
  parts.config.null_transport = true;
  parts.periodic = [](int64_t) { throw std::bad_alloc(); };
  parts.give_up = [&](const std::string& why) { reason.set_value(why); };
  EmitterThread thread(std::move(parts));
  ASSERT_TRUE(thread.Start().ok());
  std::future<std::string> said = reason.get_future();
  ASSERT_EQ(said.wait_for(std::chrono::minutes(1)), std::future_status::ready);
  EXPECT_EQ(said.get(), "an exception ended the emitter: std::bad_alloc: std::bad_alloc");
  EXPECT_TRUE(thread.Stop(std::chrono::minutes(1))) << "it has ended in good order";
}

}  // namespace
}  // namespace eroica
