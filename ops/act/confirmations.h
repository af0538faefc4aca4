// In which windows a finding was reported: what "lasting" and "quorum" of a rule ask for. It takes
// every version in the order of the topic. Bounded. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "schemas/finding.h"

namespace eroica {

class Confirmations {
 public:
  static constexpr size_t kFindingsMax = 10'000;

  void Take(int32_t partition, const Finding& finding);
  void Forget(int32_t partition);

  // Windows in a row that say it, up to the newest one that does.
  int64_t InARow(const std::string& finding_id) const;
  // Of the newest `of` windows, how many say it.
  int64_t Within(const std::string& finding_id, int64_t of) const;

 private:
  static constexpr int64_t kWindowsKept = 64;

  struct Windows {
    int32_t partition = 0;
    uint64_t taken = 0;  // when it was last heard of
    std::set<int64_t> said;
  };
  void MakeRoom();

  uint64_t taken_ = 0;
  std::map<std::string, Windows> by_id_;
};

}  // namespace eroica
