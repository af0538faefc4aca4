// Which rank is at the other end of a connection: an end that one rank lists as its own is another
// rank's other end. What the importer of `ss` output and the live sampler share. Owner: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "producers/host/tcp_connection.h"
#include "schemas/event_batch.h"

namespace eroica {

class PeerTable {
 public:
  enum class Place {
    kPeer,       // another rank, over a network
    kSelf,       // the rank itself
    kElsewhere,  // no rank's end, or an address that both ends share: no network between them
    kAmbiguous,  // the rank's own end is listed by several ranks, as by those of a whole host
  };
  struct Found {
    Place place = Place::kElsewhere;
    uint32_t peer = 0;  // where it is kPeer
  };

  // end: a local end of a connection of the rank.
  void Add(uint32_t rank, std::string_view end);
  // rank no longer lists any of its ends.
  void Remove(uint32_t rank);
  Found Find(uint32_t rank, std::string_view local, std::string_view peer) const;
  // Ends that several ranks list.
  uint64_t ambiguous() const;

 private:
  std::map<std::string, std::set<uint32_t>, std::less<>> owners_;
};

// Adds what a connection carried to what those to the same peer did; nothing overflows.
void AddConnection(const TcpConnection& connection, ConnectionSample* sum);

}  // namespace eroica
