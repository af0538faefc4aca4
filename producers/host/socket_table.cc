#include "producers/host/socket_table.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>

#include "producers/host/kept_file.h"
#include "producers/host/kernel_text.h"

namespace eroica {
namespace {

constexpr int kMostDescriptors = 1 << 20;
constexpr uint64_t kNsPerUs = 1'000;

// As `ss` prints it, but for brackets and interfaces; empty where it is no address of the internet.
std::string EndOf(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text;
  if (address.ss_family == AF_INET) {
    sockaddr_in in;
    std::memcpy(&in, &address, sizeof in);
    if (inet_ntop(AF_INET, &in.sin_addr, text.data(), text.size()) == nullptr) return {};
    return std::string(text.data()) + ":" + std::to_string(ntohs(in.sin_port));
  }
  if (address.ss_family != AF_INET6) return {};
  sockaddr_in6 in;
  std::memcpy(&in, &address, sizeof in);
  const bool mapped = IN6_IS_ADDR_V4MAPPED(&in.sin6_addr);
  const void* bytes = mapped ? static_cast<const void*>(&in.sin6_addr.s6_addr[12]) : &in.sin6_addr;
  if (inet_ntop(mapped ? AF_INET : AF_INET6, bytes, text.data(), text.size()) == nullptr) return {};
  return std::string(text.data()) + ":" + std::to_string(ntohs(in.sin6_port));
}

template <typename T>
T Field(std::span<const std::byte> info, size_t offset) {
  T value;
  std::memcpy(&value, info.data() + offset, sizeof value);
  return value;
}

int64_t NsOf(uint64_t us) {
  constexpr uint64_t kMostUs =
      static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) / kNsPerUs;
  return static_cast<int64_t>(std::min(us, kMostUs) * kNsPerUs);
}

class OwnSocketTable final : public SocketTable {
 public:
  explicit OwnSocketTable(const std::string& proc_root) : status_(proc_root + "/self/status") {}

  int DescriptorsEnd(int64_t now_ns) override {
    std::array<char, 4096> text;
    std::optional<std::string_view> size = AfterKey(status_.Read(text, now_ns), "FDSize:");
    const std::optional<uint64_t> slots = size ? TakeNumber(&*size) : std::nullopt;
    if (slots) return static_cast<int>(std::min<uint64_t>(*slots, kMostDescriptors));
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
    return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 4096));
  }

  uint64_t InodeOf(int descriptor) override {
    struct stat status {};
    return fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode) ? status.st_ino : 0;
  }

  bool ReadEnds(int descriptor, uint64_t inode, TcpConnection* connection) override {
    int protocol = 0;
    socklen_t length = sizeof protocol;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) != 0 ||
        protocol != IPPROTO_TCP)
      return false;
    sockaddr_storage local{};
    sockaddr_storage peer{};
    length = sizeof local;
    if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&local), &length) != 0) return false;
    length = sizeof peer;
    if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &length) != 0) return false;
    if (InodeOf(descriptor) != inode) return false;
    connection->local = EndOf(local);
    connection->peer = EndOf(peer);
    return !connection->local.empty() && !connection->peer.empty();
  }

  bool ReadCounters(int descriptor, uint64_t inode, TcpConnection* connection) override {
    std::array<std::byte, sizeof(tcp_info)> info;
    socklen_t length = sizeof info;
    if (InodeOf(descriptor) != inode) return false;
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, info.data(), &length) != 0) return false;
    if (InodeOf(descriptor) != inode) return false;
    return CountersOfTcpInfo(std::span(info).first(std::min<size_t>(length, info.size())),
                             connection);
  }

 private:
  KeptFile status_;
};

}  // namespace

bool CountersOfTcpInfo(std::span<const std::byte> info, TcpConnection* connection) {
  if (info.size() < offsetof(tcp_info, tcpi_rwnd_limited) + sizeof(tcp_info::tcpi_rwnd_limited))
    return false;
  connection->bytes = Field<__u64>(info, offsetof(tcp_info, tcpi_bytes_acked));
  connection->SetBusy(NsOf(Field<__u64>(info, offsetof(tcp_info, tcpi_busy_time))),
                      NsOf(Field<__u64>(info, offsetof(tcp_info, tcpi_rwnd_limited))));
  connection->retransmits = Field<__u32>(info, offsetof(tcp_info, tcpi_total_retrans));
  return true;
}

std::unique_ptr<SocketTable> OwnSockets(const std::string& proc_root) {
  return std::make_unique<OwnSocketTable>(proc_root);
}

}  // namespace eroica
