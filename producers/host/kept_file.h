// A file of the kernel that is kept open and read from its beginning again and again. Owner: one
// thread. No call throws or waits for more than the kernel's own making of the text.
//
// The host process may close every descriptor it does not know (daemons do), and the number may
// then be a file of its own: before each read and before it is closed the descriptor is compared
// with the file that was opened, and let go where it is another one. A file that is not there is
// looked for again, at most every ten seconds.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace eroica {

class KeptFile {
 public:
  explicit KeptFile(std::string path) : path_(std::move(path)) {}
  ~KeptFile() { Close(); }
  KeptFile(KeptFile&& other) noexcept;
  KeptFile& operator=(KeptFile&& other) noexcept;
  KeptFile(const KeptFile&) = delete;
  KeptFile& operator=(const KeptFile&) = delete;

  // What the file says at this moment, at most as much as fits; empty where it cannot be read.
  std::string_view Read(std::span<char> into, int64_t now_ns);
  // What it spoke of is no more (a thread, a process): reading it said ESRCH.
  bool ended() const { return ended_; }

 private:
  bool Open(int64_t now_ns);
  bool IsOurs() const;
  void Close();

  std::string path_;
  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  bool ended_ = false;
  bool tried_ = false;
  int64_t tried_ns_ = 0;
};

}  // namespace eroica
