// A TCP connection as the kernel counts it, whether `ss -ti` printed it or the process asked for
// TCP_INFO itself: one meaning for both. Counters are since the connection was made:
//   bytes        that reached the other end (tcpi_bytes_acked)
//   busy         the time in which some were under way (tcpi_busy_time), without the time in which
//                the receiver had no room for more (tcpi_rwnd_limited, a part of it): a receiver
//                that is late to read makes no path slow
//   retransmits  segments (tcpi_total_retrans)
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace eroica {

struct TcpConnection {
  // "address:port"; an IPv4 address in IPv6 form is written as IPv4, interfaces are left out
  std::string local;
  std::string peer;
  uint64_t bytes = 0;
  int64_t busy_ns = 0;
  uint64_t retransmits = 0;
  // limited_ns: of the busy time, the part in which the receiver had no room.
  void SetBusy(int64_t all_ns, int64_t limited_ns) {
    busy_ns = std::max<int64_t>(0, all_ns - std::max<int64_t>(0, limited_ns));
  }
  friend bool operator==(const TcpConnection&, const TcpConnection&) = default;
};

}  // namespace eroica
