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

template <typename T>
T SaturatingAdd(T a, T b) {
  return a > std::numeric_limits<T>::max() - b ? std::numeric_limits<T>::max()
                                               : static_cast<T>(a + b);
}

}  // namespace

void PeerTable::Add(uint32_t rank, std::string_view end) {
  const auto known = owners_.find(end);
  (known != owners_.end() ? known->second : owners_[std::string(end)]).insert(rank);
}

void PeerTable::Remove(uint32_t rank) {
  for (auto entry = owners_.begin(); entry != owners_.end();) {
    entry->second.erase(rank);
    entry = entry->second.empty() ? owners_.erase(entry) : std::next(entry);
  }
}

PeerTable::Found PeerTable::Find(uint32_t rank, std::string_view local,
                                 std::string_view peer) const {
  const auto own = owners_.find(local);
  if (own != owners_.end() && own->second.size() > 1) return {.place = Place::kAmbiguous};
  const auto other = owners_.find(peer);
  const bool over_a_network = AddressOf(local) != AddressOf(peer);
  if (!over_a_network || other == owners_.end() || other->second.size() > 1)
    return {.place = Place::kElsewhere};
  const uint32_t found = *other->second.begin();
  return {.place = found == rank ? Place::kSelf : Place::kPeer, .peer = found};
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
