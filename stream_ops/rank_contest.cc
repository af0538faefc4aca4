#include "stream_ops/rank_contest.h"

#include <algorithm>
#include <set>

namespace eroica {
namespace {

constexpr uint32_t kWindowsThatShowLife = 2;

}  // namespace

bool RankContest::Accepts(const RankClaimant& process, int64_t start_ns, int64_t end_ns,
                          const RankClaimant* holder) {
  const auto known = std::ranges::find(known_, process, &Known::process);
  if (known == known_.end()) {
    Meet(process, end_ns);
    return true;
  }
  if (known->refused) return false;
  if (known->followed_ns >= 0 && start_ns >= known->followed_ns && end_ns > known->end_ns &&
      ++known->further >= kWindowsThatShowLife)
    Decide(static_cast<size_t>(known - known_.begin()), holder);
  known->end_ns = std::max(known->end_ns, end_ns);
  return !known->refused;
}

bool RankContest::IsRefused(const RankClaimant& process) const {
  const auto known = std::ranges::find(known_, process, &Known::process);
  return known != known_.end() && known->refused;
}

std::optional<ContestedRank> RankContest::Of(uint32_t rank) const {
  if (contestants_.empty()) return std::nullopt;
  std::set<std::string> hosts;
  for (const RankClaimant& process : contestants_) {
    if (!process.host.empty()) hosts.insert(process.host);
  }
  return ContestedRank{.rank = rank,
                       .processes = static_cast<uint32_t>(contestants_.size()),
                       .hosts = {hosts.begin(), hosts.end()}};
}

void RankContest::Meet(const RankClaimant& process, int64_t end_ns) {
  for (Known& before : known_) {
    if (before.followed_ns < 0) before.followed_ns = before.end_ns;
  }
  if (known_.size() == kMostProcesses) {
    const auto oldest = std::ranges::find(known_, false, &Known::refused);
    known_.erase(oldest == known_.end() ? known_.begin() : oldest);
  }
  known_.push_back({.process = process, .end_ns = end_ns});
}

void RankContest::Decide(size_t first, const RankClaimant* holder) {
  const auto is_holder = [holder](const Known& known) {
    return !known.refused && known.process == *holder;
  };
  const auto begin = known_.begin() + static_cast<ptrdiff_t>(first);
  const auto held = holder != nullptr ? std::find_if(begin, known_.end(), is_holder) : known_.end();
  Known& rank = held != known_.end() ? *held : *begin;
  if (contestants_.empty()) contestants_.push_back(rank.process);
  for (auto other = begin; other != known_.end(); ++other) {
    if (&*other == &rank || other->refused) continue;
    other->refused = true;
    contestants_.push_back(other->process);
  }
  rank.followed_ns = -1;
  rank.further = 0;
}

}  // namespace eroica
