// Where a server is to listen, as the configuration says it. Pure functions, any thread.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace eroica {

struct ListenAddress {
  std::string address;  // IPv4 or IPv6, without brackets
  uint16_t port = 0;    // 0: any that is free
  bool IsLoopback() const;
  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

inline constexpr uint16_t kDefaultPort = 8470;

// "127.0.0.1:8470" or "[::1]:8470". kInvalidArgument names what is understood.
absl::StatusOr<ListenAddress> ParseListenAddress(std::string_view text);

}  // namespace eroica
