// Which rank of a job speaks for its host: the one that holds a lock on a file of the folder that
// its ranks share. When its process ends, however it ends, the kernel lets the lock go, and another
// rank takes it at its next try. Owner: the thread that samples.
//
// A record lock (fcntl), not flock: one of flock lives as long as any child that was forked and
// holds the descriptor, and data loaders outlive the rank that made them. A record lock belongs to
// the process alone. It is lost when the process closes any descriptor of the file, so it is asked
// for again at every try, which is free where it is still held.
#pragma once

#include <cstdint>
#include <string>

namespace eroica {

class HostElection {
 public:
  // path: one a host and job; empty: nobody is elected.
  explicit HostElection(std::string path) : path_(std::move(path)) {}
  ~HostElection();
  HostElection(const HostElection&) = delete;
  HostElection& operator=(const HostElection&) = delete;

  // Whether this process speaks for the host; tried anew every five seconds.
  bool Holds(int64_t now_ns);

 private:
  bool Try();
  bool IsOurs() const;

  std::string path_;
  int fd_ = -1;
  uint64_t inode_ = 0;
  uint64_t device_ = 0;
  bool tried_ = false;
  int64_t tried_ns_ = 0;
  bool holds_ = false;
};

}  // namespace eroica
