#include "ops/cli/dead_letter_filter.h"

#include <algorithm>

namespace eroica {

bool DeadLetterFilter::Takes(const DeadLetter& letter) const {
  if (!job.empty() && letter.job != job) return false;
  if (!reasons.empty() && std::ranges::find(reasons, letter.reason) == reasons.end()) return false;
  return letter.record.timestamp_ms >= from_ms && letter.record.timestamp_ms < to_ms;
}

}  // namespace eroica
