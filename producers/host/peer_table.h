// Which rank is at the other end of a connection: an end that one rank lists as its own is another
// rank's other end. What the importer of `ss` output and the live sampler share. Owner: one thread.
//
// A connection within one host passes no NIC and no network, whatever its two addresses are: the
// kernel delivers what is sent to any of its own addresses over loopback. A connection is within
// one host where either address is a loopback address, where the peer's address is one that the
// rank itself has ends at, or where both ranks are in one network namespace.
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
    kElsewhere,  // no rank's end, or an end on the rank's own host: no network between them
    kAmbiguous,  // the rank's own end is listed by several ranks, as by those of a whole host
  };
  struct Found {
    Place place = Place::kElsewhere;
    uint32_t peer = 0;  // where it is kPeer
  };

  // end: a local end of a connection of the rank.
  void Add(uint32_t rank, std::string_view end);
  // name: the same for ranks in one network namespace of one kernel; empty: not known.
  void SetNetworkNamespace(uint32_t rank, std::string_view name);
  // rank no longer lists any of its ends, and its namespace is not known any more.
  void Remove(uint32_t rank);
  Found Find(uint32_t rank, std::string_view local, std::string_view peer) const;
  // Ends that several ranks list.
  uint64_t ambiguous() const;

 private:
  bool IsWithinAHost(uint32_t rank, std::string_view local, std::string_view peer) const;
  bool ShareNamespace(uint32_t rank, uint32_t other) const;

  std::map<std::string, std::set<uint32_t>, std::less<>> owners_;
  std::map<uint32_t, std::set<std::string, std::less<>>> addresses_;  // of the ends of each rank
  std::map<uint32_t, std::string> namespaces_;
};

// Adds what a connection carried to what those to the same peer did; nothing overflows.
void AddConnection(const TcpConnection& connection, ConnectionSample* sum);

}  // namespace eroica
