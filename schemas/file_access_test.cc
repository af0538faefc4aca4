#include "schemas/file_access.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace eroica {
namespace {

using ::testing::HasSubstr;

class FileAccessTest : public ::testing::Test {
 protected:
  FileAccessTest() : folder_(::testing::TempDir() + "eroica-file-access-XXXXXX") {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    umask_ = ::umask(022);
  }
  ~FileAccessTest() override {
    ::umask(umask_);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string In(const std::string& name) const { return folder_ + "/" + name; }
  int Open(const std::string& path, int flags) {
    const int fd = OpenFile(path, flags);
    error_ = errno;
    if (fd >= 0) ::close(fd);
    return fd;
  }
  static mode_t ModeOf(const std::string& path) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
  }

  std::string folder_;
  mode_t umask_ = 0;
  int error_ = 0;
};

TEST_F(FileAccessTest, APipeWithNobodyAtItsOtherEndIsRefusedAtOnce) {
  ASSERT_EQ(::mkfifo(In("pipe").c_str(), 0600), 0);
  ASSERT_EQ(::symlink("pipe", In("link").c_str()), 0);
  for (const int flags : {O_RDONLY, O_WRONLY, O_RDWR, O_RDWR | O_CREAT, O_WRONLY | O_TRUNC}) {
    for (const char* name : {"pipe", "link"}) {
      EXPECT_LT(Open(In(name), flags), 0);
      EXPECT_EQ(error_, ENXIO);
    }
  }
  EXPECT_THAT(OpenErrorText(ENXIO), HasSubstr("pipe"));
}

TEST_F(FileAccessTest, FoldersDevicesAndSocketsAreNoFiles) {
  EXPECT_LT(Open(folder_, O_RDONLY), 0);
  EXPECT_EQ(error_, EISDIR);
  EXPECT_LT(Open("/dev/zero", O_RDONLY), 0);
  EXPECT_EQ(error_, ENXIO);
  const int server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  In("socket").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(server, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_LT(Open(In("socket"), O_RDONLY), 0);
  EXPECT_EQ(error_, ENXIO);
  ::close(server);
}

TEST_F(FileAccessTest, AFileIsReadWholeOrNotAtAll) {
  const std::string content(10'000, 'a');
  const int fd = OpenFile(In("file"), O_WRONLY | O_CREAT);
  ASSERT_EQ(::write(fd, content.data(), content.size()), static_cast<ssize_t>(content.size()));
  ::close(fd);
  EXPECT_EQ(ReadFile(In("file"), content.size()), content);
  EXPECT_FALSE(ReadFile(In("file"), content.size() - 1).has_value());
  EXPECT_EQ(errno, EFBIG);
  ASSERT_EQ(::mkfifo(In("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(ReadFile(In("pipe"), 10).has_value());
}

TEST_F(FileAccessTest, ALinkThatLeadsToItselfIsAnError) {
  ASSERT_EQ(::symlink("loop", In("loop").c_str()), 0);
  EXPECT_LT(Open(In("loop"), O_RDONLY), 0);
  EXPECT_EQ(error_, ELOOP);
}

TEST_F(FileAccessTest, WhatItMakesIsItsOwnersAloneWhateverTheUmask) {
  for (const mode_t mask : {mode_t{0}, mode_t{022}, mode_t{077}}) {
    ::umask(mask);
    const std::string folder = In("a" + std::to_string(mask));
    ASSERT_FALSE(MakeFolders(folder + "/b/c"));
    ASSERT_GE(Open(folder + "/b/file", O_WRONLY | O_CREAT), 0);
    ASSERT_GE(Open(folder + "/b/new", O_WRONLY | O_CREAT | O_EXCL), 0);
    for (const char* made : {"", "/b", "/b/c"}) EXPECT_EQ(ModeOf(folder + made), mode_t{0700});
    for (const char* made : {"/b/file", "/b/new"}) EXPECT_EQ(ModeOf(folder + made), mode_t{0600});
  }
  EXPECT_LT(Open(In("a0/b/new"), O_WRONLY | O_CREAT | O_EXCL), 0);
  EXPECT_EQ(error_, EEXIST);
}

TEST_F(FileAccessTest, AFolderWithTheSetgidBitIsSharedWithItsGroup) {
  const std::string shared = In("shared");
  ASSERT_EQ(::mkdir(shared.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(shared.c_str(), 02770), 0);
  ASSERT_FALSE(MakeFolders(shared + "/topic/0"));
  ASSERT_GE(Open(shared + "/topic/0/segment", O_WRONLY | O_CREAT), 0);
  EXPECT_EQ(ModeOf(shared + "/topic/0"), mode_t{02770});
  EXPECT_EQ(ModeOf(shared + "/topic/0/segment"), mode_t{0660});
  EXPECT_FALSE(OthersMayRead(shared));
  ASSERT_EQ(::chmod(shared.c_str(), 02750), 0);
  ASSERT_GE(Open(shared + "/read-only", O_WRONLY | O_CREAT), 0);
  EXPECT_EQ(ModeOf(shared + "/read-only"), mode_t{0640});
}

TEST_F(FileAccessTest, FoldersThatAreThereKeepTheirMode) {
  ASSERT_EQ(::mkdir(In("mine").c_str(), 0755), 0);
  ASSERT_FALSE(MakeFolders(In("mine/inner/")));
  EXPECT_EQ(ModeOf(In("mine")), mode_t{0755});
  EXPECT_EQ(ModeOf(In("mine/inner")), mode_t{0700});
  EXPECT_TRUE(OthersMayRead(In("mine")));
  EXPECT_FALSE(OthersMayRead(In("mine/inner")));
  EXPECT_FALSE(OthersMayRead(In("nowhere")));
}

TEST_F(FileAccessTest, AFileInTheWayOfAFolderIsNamedAsSuch) {
  ASSERT_GE(Open(In("file"), O_WRONLY | O_CREAT), 0);
  EXPECT_EQ(MakeFolders(In("file")).value(), ENOTDIR);
  EXPECT_EQ(MakeFolders(In("file/inner")).value(), ENOTDIR);
}

}  // namespace
}  // namespace eroica
