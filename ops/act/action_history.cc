#include "ops/act/action_history.h"

#include <algorithm>
#include <utility>

namespace eroica {

void ActionHistory::Add(PastAction action) {
  findings_.insert(action.finding_id);
  while (!actions_.empty() && actions_.front().at_ms < action.at_ms - kKeptMs) actions_.pop_front();
  actions_.push_back(std::move(action));
}

int64_t ActionHistory::CountSince(int64_t since_ms, const std::string& job,
                                  const std::string& host) const {
  return std::ranges::count_if(actions_, [&](const PastAction& action) {
    return action.at_ms >= since_ms && (job.empty() || action.job == job) &&
           (host.empty() || std::ranges::find(action.hosts, host) != action.hosts.end());
  });
}

}  // namespace eroica
