// What the rank's own sockets carry to other ranks: eroica_connection of each peer, some times a
// second, from TCP_INFO. Says what the importer of `ss` output says (producers/host/peer_table.h),
// of stretches instead of whole lives. Owner: the thread that samples. Times: eroica_now_ns.
//
// Descriptors are walked by number, some a tick, a new walk every second at most, so that a process
// with a million of them costs no more a tick than one with a hundred. A socket that was there when
// the first walk began counts from then on; a later one from when it was made. What a socket
// carried before its peer was known is told once it is.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "producers/host/endpoint_exchange.h"
#include "producers/host/socket_table.h"

namespace eroica {

struct ConnectionWatchOptions {
  uint32_t rank = 0;
  int descriptors_a_tick = 128;
  size_t readings_a_tick = 128;
  size_t most_sockets = 1'024;      // followed; further ones are counted as lost samples
  int64_t walk_ns = 1'000'000'000;  // from the beginning of a walk to that of the next
  int64_t sample_ns = 500'000'000;  // likewise of the readings
};

class ConnectionWatch {
 public:
  // Both are kept and must outlive the watch.
  ConnectionWatch(ConnectionWatchOptions options, SocketTable* sockets, EndpointExchange* exchange);
  void Tick(int64_t now_ns);
  size_t sockets() const { return followed_.size(); }

 private:
  struct Followed {
    uint64_t inode = 0;
    TcpConnection told;  // its ends, and its counters as they were told
    uint64_t walk = 0;   // that saw it last
  };
  void Walk(int64_t now_ns);
  void Meet(int descriptor, uint64_t inode);
  void EndWalk();
  void Sample(int64_t now_ns);
  void ReadOne(int descriptor, Followed& socket);
  void Report(int64_t now_ns);

  ConnectionWatchOptions options_;
  SocketTable* sockets_;
  EndpointExchange* exchange_;
  std::map<int, Followed> followed_;  // by descriptor
  bool changed_ = true;               // sockets came or went since the exchange was asked
  uint64_t walk_ = 0;
  bool in_walk_ = false;
  int64_t walk_begun_ns_ = 0;
  int next_descriptor_ = 0;
  int descriptors_end_ = 0;
  uint64_t too_many_ = 0;
  bool in_sample_ = false;
  int64_t sample_begun_ns_ = 0;
  int next_reading_ = 0;
  std::map<uint32_t, ConnectionSample> sums_;  // by peer
};

}  // namespace eroica
