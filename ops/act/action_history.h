// What has been done, as far as limits ask: which findings, and how often of late for whom. From
// the journal. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

namespace eroica {

struct PastAction {
  int64_t at_ms = 0;
  std::string finding_id;
  std::string job;
  std::vector<std::string> hosts;
};

class ActionHistory {
 public:
  void Add(PastAction action);
  bool HasActedOn(const std::string& finding_id) const { return findings_.contains(finding_id); }
  // Since a moment; job and host: of those alone where they are not empty.
  int64_t CountSince(int64_t since_ms, const std::string& job, const std::string& host) const;

 private:
  static constexpr int64_t kKeptMs = int64_t{7} * 24 * 3'600'000;  // cool-downs are no longer

  std::set<std::string> findings_;
  std::deque<PastAction> actions_;  // in order
};

}  // namespace eroica
