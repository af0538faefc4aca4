// Which dead letters somebody asks for.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "stream_ops/runtime/dead_letter.h"

namespace eroica {

struct DeadLetterFilter {
  std::string job;                   // empty: of any
  std::vector<std::string> reasons;  // empty: any
  // Of the time that the letter bears on its topic; from included, to not.
  int64_t from_ms = std::numeric_limits<int64_t>::min();
  int64_t to_ms = std::numeric_limits<int64_t>::max();

  bool Takes(const DeadLetter& letter) const;
};

}  // namespace eroica
