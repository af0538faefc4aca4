#include "producers/host/peer_table.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "schemas/codec.h"

namespace eroica {
namespace {

std::string_view AddressOf(std::string_view endpoint) {
  return endpoint.substr(0, endpoint.rfind(':'));
}

// RFC 1122, 3.2.1.3 and RFC 4291, 2.5.3.
bool IsLoopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1";
}

template <typename T>
T SaturatingAdd(T a, T b) {
  return a > std::numeric_limits<T>::max() - b ? std::numeric_limits<T>::max()
                                               : static_cast<T>(a + b);
}

}  // namespace

void PeerTable::Add(uint32_t rank, std::string_view end) {
  const auto known = owners_.find(end);
  (known != owners_.end() ? known->second : owners_[std::string(end)]).insert(rank);
  std::set<std::string, std::less<>>& addresses = addresses_[rank];
  const std::string_view address = AddressOf(end);
  if (!addresses.contains(address)) addresses.emplace(address);
}

void PeerTable::SetNetworkNamespace(uint32_t rank, std::string_view name) {
  namespaces_[rank] = name;
}

void PeerTable::Remove(uint32_t rank) {
  for (auto entry = owners_.begin(); entry != owners_.end();) {
    entry->second.erase(rank);
    entry = entry->second.empty() ? owners_.erase(entry) : std::next(entry);
  }
  addresses_.erase(rank);
  namespaces_.erase(rank);
}

bool PeerTable::IsWithinAHost(uint32_t rank, std::string_view local, std::string_view peer) const {
  if (local == peer || IsLoopback(local) || IsLoopback(peer)) return true;
  const auto own = addresses_.find(rank);
  return own != addresses_.end() && own->second.contains(peer);
}

bool PeerTable::ShareNamespace(uint32_t rank, uint32_t other) const {
  const auto one = namespaces_.find(rank);
  const auto two = namespaces_.find(other);
  return one != namespaces_.end() && two != namespaces_.end() && !one->second.empty() &&
         one->second == two->second;
}

PeerTable::Found PeerTable::Find(uint32_t rank, std::string_view local,
                                 std::string_view peer) const {
  const auto own = owners_.find(local);
  if (own != owners_.end() && own->second.size() > 1) return {.place = Place::kAmbiguous};
  const auto other = owners_.find(peer);
  if (other == owners_.end() || other->second.size() > 1 ||
      IsWithinAHost(rank, AddressOf(local), AddressOf(peer)))
    return {.place = Place::kElsewhere};
  const uint32_t found = *other->second.begin();
  if (found == rank) return {.place = Place::kSelf, .peer = found};
  if (ShareNamespace(rank, found)) return {.place = Place::kElsewhere};
  return {.place = Place::kPeer, .peer = found};
}

uint64_t PeerTable::ambiguous() const {
  return static_cast<uint64_t>(
      std::ranges::count_if(owners_, [](const auto& entry) { return entry.second.size() > 1; }));
}

void AddConnection(const TcpConnection& connection, ConnectionSample* sum) {
  sum->bytes = SaturatingAdd(sum->bytes, connection.bytes);
  sum->busy_ns = std::min(SaturatingAdd(sum->busy_ns, connection.busy_ns), CodecLimits::kMaxTimeNs);
  sum->retransmits = SaturatingAdd(sum->retransmits, connection.retransmits);
}

}  // namespace eroica
