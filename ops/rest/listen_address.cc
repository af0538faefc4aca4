#include "ops/rest/listen_address.h"

#include <absl/strings/numbers.h>
#include <arpa/inet.h>
#include <fmt/format.h>

#include <limits>

#include "schemas/printable_text.h"

namespace eroica {

bool ListenAddress::IsLoopback() const { return address.starts_with("127.") || address == "::1"; }

absl::StatusOr<ListenAddress> ParseListenAddress(std::string_view text) {
  const size_t colon = text.rfind(':');
  ListenAddress parsed;
  uint32_t port = 0;
  bool understood = colon != std::string_view::npos &&
                    absl::SimpleAtoi(std::string(text.substr(colon + 1)), &port) &&
                    port <= std::numeric_limits<uint16_t>::max();
  if (understood) {
    const std::string_view address = text.substr(0, colon);
    const bool in_brackets = address.starts_with('[') && address.ends_with(']');
    parsed.address = in_brackets ? address.substr(1, address.size() - 2) : address;
    parsed.port = static_cast<uint16_t>(port);
    in6_addr ignored{};
    understood = inet_pton(in_brackets ? AF_INET6 : AF_INET, parsed.address.c_str(), &ignored) == 1;
  }
  if (understood) return parsed;
  return absl::InvalidArgumentError(
      fmt::format("{} is not ADDRESS:PORT, such as 127.0.0.1:8470, 0.0.0.0:8470 or [::1]:8470",
                  Printable(text)));
}

}  // namespace eroica
