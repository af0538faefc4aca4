// Ranks as people type them: "0-3,7". Pure functions, any thread.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace eroica {

class RankSet {
 public:
  // Every rank.
  RankSet() = default;
  // kInvalidArgument: what it is and what is understood.
  static absl::StatusOr<RankSet> Parse(std::string_view text);

  bool Contains(uint32_t rank) const;

 private:
  std::vector<std::pair<uint32_t, uint32_t>> ranges_;  // both ends included; empty: every rank
};

}  // namespace eroica
