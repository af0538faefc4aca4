// A disk of a few MiB, for tests that fill it up: a tmpfs that only this process and those that it
// starts can see. Needs no root where user namespaces are allowed.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

namespace eroica {

inline constexpr const char* kMayNotMountMessage =
    "mounting a small disk is allowed neither to this user nor in a user namespace of its own";

class SmallDisk {
 public:
  SmallDisk() = default;
  ~SmallDisk() {
    if (!folder_.empty()) umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  // folder is made. False: that is not allowed here. A user who is not root must ask for it before
  // the process has a second thread.
  bool Mount(const std::string& folder, int mib) {
    std::filesystem::create_directories(folder);
    const std::string size = "size=" + std::to_string(mib) + "m";
    if (!EnterNamespace() || mount("tmpfs", folder.c_str(), "tmpfs", 0, size.c_str()) != 0)
      return false;
    folder_ = folder;
    return true;
  }
  // Puts a file on it that leaves no more than so much, also of what was given back since.
  void Fill(size_t left_bytes = 0) const {
    const int ballast = open(Ballast().c_str(), O_CREAT | O_APPEND | O_WRONLY, 0600);
    const std::string page(4'096, 'x');
    while (std::filesystem::space(folder_).available > left_bytes &&
           write(ballast, page.data(), page.size()) > 0) {
    }
    close(ballast);
  }
  void MakeRoom() const { std::filesystem::remove(Ballast()); }

 private:
  std::string Ballast() const { return folder_ + "/ballast"; }

  // One in which this thread may mount, and nobody else sees it.
  static bool EnterNamespace() {
    const uid_t user = geteuid();
    const gid_t group = getegid();
    if (unshare(CLONE_NEWNS) != 0) {
      if (unshare(CLONE_NEWNS | CLONE_NEWUSER) != 0) return false;
      std::ofstream("/proc/self/setgroups") << "deny";
      std::ofstream("/proc/self/uid_map") << user << ' ' << user << " 1";
      std::ofstream("/proc/self/gid_map") << group << ' ' << group << " 1";
    }
    return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  }

  std::string folder_;
};

}  // namespace eroica
