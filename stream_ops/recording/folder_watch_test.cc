#include "stream_ops/recording/folder_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string>

#include "stream_ops/recording/scratch_directory.h"

namespace eroica {
namespace {

void WriteInto(const std::string& folder) {
  std::ofstream(folder + "/file", std::ios::app) << "more" << std::flush;
}

class FolderWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto watch = FolderWatch::Start();
    if (!watch.ok()) GTEST_SKIP() << watch.status();
    watch_ = *std::move(watch);
    for (const char* name : {"/a", "/b"}) std::filesystem::create_directory(scratch_.path() + name);
  }

  bool Watch(const std::string& folder) {
    return watch_->Watch(folder, [this, folder] {
      const std::lock_guard lock(mutex_);
      written_.insert(folder);
      heard_.notify_all();
    });
  }

  std::string Folder(const char* name) const { return scratch_.path() + "/" + name; }

  // Whether it is heard of writes into the folder, before so long has passed.
  bool Hears(const std::string& folder, std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    return heard_.wait_for(lock, patience, [&] { return written_.contains(folder); });
  }

  const ScratchDirectory scratch_;
  std::mutex mutex_;
  std::condition_variable heard_;
  std::set<std::string> written_;
  std::unique_ptr<FolderWatch> watch_;  // ends before what it calls
};

TEST_F(FolderWatchTest, HearsOfWritesIntoTheFoldersThatItWatchesAndOfNoOthers) {
  ASSERT_TRUE(Watch(Folder("a")));
  WriteInto(Folder("b"));
  WriteInto(Folder("a"));
  EXPECT_TRUE(Hears(Folder("a"), std::chrono::minutes(1)));
  EXPECT_FALSE(Hears(Folder("b"), std::chrono::milliseconds(20)));
}

TEST_F(FolderWatchTest, AFolderThatIsGoneIsForgottenAndCanBeWatchedAnew) {
  ASSERT_TRUE(Watch(Folder("a")));
  std::filesystem::remove_all(Folder("a"));
  EXPECT_TRUE(Hears(Folder("a"), std::chrono::minutes(1)));
  EXPECT_FALSE(Watch(Folder("a")));
  std::filesystem::create_directory(Folder("a"));
  ASSERT_TRUE(Watch(Folder("a")));
  {
    const std::lock_guard lock(mutex_);
    written_.clear();
  }
  WriteInto(Folder("a"));
  EXPECT_TRUE(Hears(Folder("a"), std::chrono::minutes(1)));
}

TEST_F(FolderWatchTest, AFileIsNoFolder) {
  WriteInto(Folder("a"));
  EXPECT_FALSE(Watch(Folder("a") + "/file"));
  EXPECT_FALSE(Watch(Folder("none")));
}

// Throws at stream_ops/recording/folder_watch.cc: whoever follows a recording
TEST_F(FolderWatchTest, AFollowerThatThrowsIsCalledAgain) {
  int calls = 0;
  ::testing::internal::CaptureStdout();  // where the log goes here
  ASSERT_TRUE(watch_->Watch(Folder("a"), [&] {
    const std::lock_guard lock(mutex_);
    heard_.notify_all();
    if (++calls == 1) throw std::bad_alloc();
  }));
  for (const int wanted : {1, 2}) {
    std::unique_lock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (calls < wanted && std::chrono::steady_clock::now() < deadline) {
      WriteInto(Folder("a"));
      heard_.wait_for(lock, std::chrono::milliseconds(10));
    }
    EXPECT_GE(calls, wanted);
  }
  EXPECT_THAT(::testing::internal::GetCapturedStdout(),
              ::testing::HasSubstr("an exception ended a word of new records not_logged=0 "
                                   "error=\"std::bad_alloc"));
}

}  // namespace
}  // namespace eroica
