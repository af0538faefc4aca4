// A C++ host with its own runtime, beside the library's: its exceptions and the ends of its threads
// pass through frames of the library, and what lies on them is destroyed.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace eroica {
namespace {

using Call = void(void (*)(void*), void*);
using FramesLeft = int();

class UnwoundFramesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    void* const library = dlopen(EROICA_UNWOUND_FRAMES, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    call_ = reinterpret_cast<Call*>(dlsym(library, "eroica_test_call"));
    frames_left_ = reinterpret_cast<FramesLeft*>(dlsym(library, "eroica_test_frames_left"));
    ASSERT_TRUE(call_ != nullptr && frames_left_ != nullptr);
    before_ = frames_left_();
  }
  int FramesLeftSince() const { return frames_left_() - before_; }

  Call* call_ = nullptr;
  FramesLeft* frames_left_ = nullptr;
  int before_ = 0;
};

TEST_F(UnwoundFramesTest, AnExceptionOfTheHostsIsCaughtByTheHost) {
  for (int i = 1; i <= 100; ++i) {
    std::string caught;
    try {
      call_([](void*) { throw std::runtime_error("the host's own"); }, nullptr);
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
    ASSERT_EQ(caught, "the host's own");
    ASSERT_EQ(FramesLeftSince(), i);
  }
}

TEST_F(UnwoundFramesTest, AThreadEndsBelowThem) {
  for (int i = 1; i <= 20; ++i) {
    pthread_t thread{};
    ASSERT_EQ(pthread_create(
                  &thread, nullptr,
                  [](void* call) -> void* {
                    reinterpret_cast<Call*>(call)([](void*) { pthread_exit(nullptr); }, nullptr);
                    return call;
                  },
                  reinterpret_cast<void*>(call_)),
              0);
    void* returned = &thread;
    ASSERT_EQ(pthread_join(thread, &returned), 0);
    ASSERT_EQ(returned, nullptr) << "it returned";
    ASSERT_EQ(FramesLeftSince(), i);
  }
}

}  // namespace
}  // namespace eroica
