// The process's own TCP sockets, as the kernel counts them. A seam: tests give a made-up one.
//
// The race with the application, which opens and closes sockets meanwhile. Nothing is duplicated: a
// second descriptor would keep a connection open that the application closes, and closing it last
// could block. Only calls that change nothing are made (fstat, getsockname, getpeername,
// getsockopt), by number, so at worst they tell of another socket: each is made between two looks
// at the inode of the number, and what is not of the socket that was asked for is thrown away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "producers/host/tcp_connection.h"

namespace eroica {

class SocketTable {
 public:
  virtual ~SocketTable() = default;
  // All descriptors are below.
  virtual int DescriptorsEnd(int64_t now_ns) = 0;
  // Of the socket that the descriptor is; 0 where it is none.
  virtual uint64_t InodeOf(int descriptor) = 0;
  // The ends of a connected TCP socket; false where it is another, or not the one of that inode.
  virtual bool ReadEnds(int descriptor, uint64_t inode, TcpConnection* connection) = 0;
  // Its counters, likewise; the ends stay as they are. False also where the kernel does not count.
  virtual bool ReadCounters(int descriptor, uint64_t inode, TcpConnection* connection) = 0;
};

// The sockets of this process. proc_root: where its own status is read, for the number of
// descriptors.
std::unique_ptr<SocketTable> OwnSockets(const std::string& proc_root);

// The counters of a TCP_INFO of any length; false where it is too short to hold all of them (Linux
// before 4.10, which neither counts busy time nor that without room at the receiver).
bool CountersOfTcpInfo(std::span<const std::byte> info, TcpConnection* connection);

}  // namespace eroica
