#include "diagnosis/link_matrix/host_groups.h"

#include <algorithm>
#include <map>
#include <utility>

namespace eroica {
namespace {

// Hosts that are joined by pairs at full speed, each by the representative of its group.
class Groups {
 public:
  explicit Groups(std::span<const HostPair> pairs) {
    for (const HostPair& pair : pairs) {
      parent_.try_emplace(pair.one, pair.one);
      parent_.try_emplace(pair.other, pair.other);
      if (!pair.slow) parent_[Of(pair.one)] = Of(pair.other);
      Flatten(pair.one);
    }
    for (const auto& [host, unused] : parent_) members_[Of(host)].insert(host);
  }
  std::string_view Of(std::string_view host) const {
    while (parent_.at(host) != host) host = parent_.at(host);
    return host;
  }
  const std::map<std::string_view, std::set<std::string_view>>& members() const { return members_; }

 private:
  // Ways to the representative stay short.
  void Flatten(std::string_view host) {
    const std::string_view group = Of(host);
    while (host != group) host = std::exchange(parent_[host], group);
  }

  std::map<std::string_view, std::string_view> parent_;
  std::map<std::string_view, std::set<std::string_view>> members_;  // by group
};

}  // namespace

std::set<std::string_view> FindSlowSide(std::span<const HostPair> pairs,
                                        std::span<const std::string_view> order) {
  const Groups groups(pairs);
  size_t slow = 0;
  std::map<std::string_view, size_t> touching;  // slow pairs, by group
  for (const HostPair& pair : pairs) {
    if (!pair.slow) continue;
    if (groups.Of(pair.one) == groups.Of(pair.other)) return {};
    ++slow;
    ++touching[groups.Of(pair.one)];
    ++touching[groups.Of(pair.other)];
  }
  if (slow < 2) return {};
  const auto place = [order](const std::set<std::string_view>& side) {
    return std::find_if(order.begin(), order.end(),
                        [&side](std::string_view host) { return side.contains(host); }) -
           order.begin();
  };
  const size_t hosts = order.size();
  const std::set<std::string_view>* best = nullptr;
  for (const auto& [group, members] : groups.members()) {
    const auto found = touching.find(group);
    if (found == touching.end() || found->second != slow || members.size() < 2 ||
        hosts < members.size() + 2)
      continue;
    const bool better = best == nullptr || members.size() < best->size() ||
                        (members.size() == best->size() && place(members) < place(*best));
    if (better) best = &members;
  }
  return best != nullptr && 2 * best->size() <= hosts ? *best : std::set<std::string_view>{};
}

}  // namespace eroica
