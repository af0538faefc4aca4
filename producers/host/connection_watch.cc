#include "producers/host/connection_watch.h"

#include <algorithm>
#include <set>
#include <utility>

#include "producers/core/producer_core.h"
#include "producers/host/kernel_text.h"
#include "schemas/drop_reason.h"

namespace eroica {

ConnectionWatch::ConnectionWatch(ConnectionWatchOptions options, SocketTable* sockets,
                                 EndpointExchange* exchange)
    : options_(options), sockets_(sockets), exchange_(exchange) {}

void ConnectionWatch::Tick(int64_t now_ns) {
  Walk(now_ns);
  Sample(now_ns);
}

void ConnectionWatch::Walk(int64_t now_ns) {
  if (!in_walk_) {
    if (walk_ > 0 && now_ns - walk_begun_ns_ < options_.walk_ns) return;
    in_walk_ = true;
    ++walk_;
    walk_begun_ns_ = now_ns;
    next_descriptor_ = 0;
    descriptors_end_ = sockets_->DescriptorsEnd(now_ns);
    too_many_ = 0;
  }
  const int end = static_cast<int>(
      std::min<int64_t>(descriptors_end_, int64_t{next_descriptor_} + options_.descriptors_a_tick));
  for (; next_descriptor_ < end; ++next_descriptor_) {
    const uint64_t inode = sockets_->InodeOf(next_descriptor_);
    if (inode != 0) Meet(next_descriptor_, inode);
  }
  if (next_descriptor_ >= descriptors_end_) EndWalk();
}

void ConnectionWatch::Meet(int descriptor, uint64_t inode) {
  const auto known = followed_.find(descriptor);
  if (known != followed_.end() && known->second.inode == inode) {
    known->second.walk = walk_;
    return;
  }
  if (known != followed_.end()) {
    followed_.erase(known);
    changed_ = true;
  }
  Followed socket{.inode = inode, .told = {}, .walk = walk_};
  if (!sockets_->ReadEnds(descriptor, inode, &socket.told)) return;
  if (followed_.size() >= options_.most_sockets) {
    ++too_many_;
    return;
  }
  // Of a socket that was there before the rank was watched, what it carried until now is no news.
  if (walk_ == 1 && !sockets_->ReadCounters(descriptor, inode, &socket.told)) return;
  followed_[descriptor] = std::move(socket);
  changed_ = true;
}

void ConnectionWatch::EndWalk() {
  in_walk_ = false;
  changed_ =
      std::erase_if(followed_, [&](const auto& entry) { return entry.second.walk != walk_; }) > 0 ||
      changed_;
  if (too_many_ > 0)
    eroica_lost(EROICA_LOST_SAMPLE, static_cast<uint8_t>(DropReason::kLimitExceeded), too_many_);
  if (!std::exchange(changed_, false)) return;
  std::set<std::string> local;
  std::set<std::string> remote;
  for (const auto& [descriptor, socket] : followed_) {
    local.insert(socket.told.local);
    remote.insert(socket.told.peer);
  }
  exchange_->SetEnds(std::move(local), std::move(remote));
}

void ConnectionWatch::Sample(int64_t now_ns) {
  if (!in_sample_) {
    if (now_ns - sample_begun_ns_ < options_.sample_ns) return;
    in_sample_ = true;
    sample_begun_ns_ = now_ns;
    next_reading_ = 0;
    sums_.clear();
  }
  auto socket = followed_.lower_bound(next_reading_);
  for (size_t i = 0; i < options_.readings_a_tick && socket != followed_.end(); ++i) {
    ReadOne(socket->first, socket->second);
    next_reading_ = socket->first + 1;
    ++socket;
  }
  if (socket != followed_.end()) return;
  in_sample_ = false;
  Report(now_ns);
}

void ConnectionWatch::ReadOne(int descriptor, Followed& socket) {
  const PeerTable::Found found =
      exchange_->table().Find(options_.rank, socket.told.local, socket.told.peer);
  if (found.place != PeerTable::Place::kPeer) return;
  TcpConnection now = socket.told;
  if (!sockets_->ReadCounters(descriptor, socket.inode, &now)) return;
  const TcpConnection before = std::exchange(socket.told, now);
  const auto bytes = Growth(before.bytes, now.bytes);
  const auto retransmits = Growth(before.retransmits, now.retransmits);
  if (!bytes || !retransmits || now.busy_ns < before.busy_ns)
    return;  // a counter went back: from here anew
  const TcpConnection added{
      .bytes = *bytes, .busy_ns = now.busy_ns - before.busy_ns, .retransmits = *retransmits};
  const ConnectionSample none{.peer = found.peer, .resource = Resource::kNic};
  ConnectionSample& sum = sums_.try_emplace(found.peer, none).first->second;
  AddConnection(added, &sum);
  if (sum.channels < UINT8_MAX) ++sum.channels;
}

void ConnectionWatch::Report(int64_t now_ns) {
  for (const auto& [peer, sum] : sums_) {
    if (sum.bytes == 0 && sum.busy_ns == 0 && sum.retransmits == 0) continue;
    const EroicaConnection connection{.peer = peer,
                                      .resource = EROICA_NIC,
                                      .bytes = sum.bytes,
                                      .busy_ns = sum.busy_ns,
                                      .retransmits = sum.retransmits,
                                      .channels = sum.channels,
                                      .communicator = UINT16_MAX};
    eroica_connection(now_ns, &connection);
  }
  sums_.clear();
}

}  // namespace eroica
