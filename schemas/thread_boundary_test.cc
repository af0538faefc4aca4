#include "schemas/thread_boundary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <new>
#include <stdexcept>
#include <string>

#include "schemas/boundary_thread.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

struct Unknown {};

// What the boundary says of something that is thrown.
template <typename T>
std::string TextOf(T thrown) {
  return AtBoundary([&]() -> std::string { throw thrown; },
                    [](const Thrown& text) { return std::string(text.text()); });
}

TEST(AtBoundary, AnswersWhatTheWorkAnswers) {
  EXPECT_EQ(AtBoundary([] { return 7; }, [](const Thrown&) { return 0; }), 7);
}

TEST(AtBoundary, SaysWhatWasThrown) {
  EXPECT_EQ(TextOf(std::runtime_error("why")), "std::runtime_error: why");
  EXPECT_EQ(TextOf(std::bad_alloc()), "std::bad_alloc: std::bad_alloc");
  EXPECT_EQ(TextOf(7), "int");
  EXPECT_THAT(TextOf(Unknown{}), HasSubstr("Unknown"));
  EXPECT_EQ(TextOf(std::runtime_error(std::string(1'000, 'x'))).size(), 239U);
}

TEST(AtBoundary, ACoroutinesExceptionHasATextToo) {
  EXPECT_STREQ(Thrown::Of(std::make_exception_ptr(7)).text(), "int");
  EXPECT_STREQ(Thrown::Of(nullptr).text(), "");
}

TEST(RunAtBoundary, DropsWhatTheOwnerThrows) {
  bool called = false;
  RunAtBoundary([] { throw std::bad_alloc(); },
                [&](const Thrown&) {
                  called = true;
                  throw std::bad_alloc();
                });
  EXPECT_TRUE(called);
}

TEST(BoundaryThread, EndsWhereItsFunctionThrows) {
  std::string thrown;
  BoundaryThread([] { throw std::runtime_error("why"); },
                 [&](const Thrown& text) { thrown = text.text(); })
      .join();
  EXPECT_EQ(thrown, "std::runtime_error: why");
}

TEST(BoundaryThread, IsAskedToStopAndJoined) {
  std::atomic<bool> stopped = false;
  {
    const BoundaryThread thread(
        [&](const std::stop_token& stop) {
          while (!stop.stop_requested()) std::this_thread::yield();
          stopped = true;
        },
        [](const Thrown&) {});
  }
  EXPECT_TRUE(stopped);
}

// As CPython ends a thread that asks for the GIL of an interpreter that ends.
TEST(RunAtBoundary, LetsAForcedEndOfTheThreadPass) {
  static std::atomic<bool> said = false;
  pthread_t thread{};
  ASSERT_EQ(pthread_create(
                &thread, nullptr,
                [](void*) -> void* {
                  RunAtBoundary([] { pthread_exit(&said); }, [](const Thrown&) { said = true; });
                  return nullptr;
                },
                nullptr),
            0);
  void* result = nullptr;
  ASSERT_EQ(pthread_join(thread, &result), 0);
  EXPECT_EQ(result, &said);
  EXPECT_FALSE(said);
}

}  // namespace
}  // namespace eroica
