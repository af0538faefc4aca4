// What the kernel says of a host's or a rank's TCP connections: the text of `ss -ti` (with any of
// -n, -e, -m, -p, -O, -H), two lines a connection, or one.
//
//   ESTAB 0 0 10.77.0.4:37922 10.77.0.3:44609
//        bbr wscale:10,10 rto:204 rtt:1.328/0.303 bytes_acked:71208969 busy:572ms retrans:0/1 ...
//
// Counters are since the connection was made. bytes_acked is what reached the other end, busy the
// time in which some of it was under way (Linux 4.10 and later).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "producers/host/tcp_connection.h"

namespace eroica {

struct TcpInfo {
  // in the order of the text; of one that is listed again the last
  std::vector<TcpConnection> connections;
  uint64_t malformed = 0;  // lines that are no connection's, or whose numbers cannot be read
  uint64_t truncated = 0;  // connections that the end of the text cuts off
};

// Takes any bytes.
TcpInfo ParseTcpInfo(std::string_view text);

}  // namespace eroica
