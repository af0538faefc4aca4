// The row of ProgressFamily::kFailure: that a job failed, and that the order in which its processes
// ended does not say why. Without a finding such a job is not well.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/process_end.h"

namespace eroica {

struct UnexplainedFailure {
  int32_t signal = 0;  // that ended its ranks together, where JobFailure::ranks says so
  JobFailure failure;
  friend bool operator==(const UnexplainedFailure&, const UnexplainedFailure&) = default;
};

// Nothing where the process is known to have ended first, or where its end is a failure by itself.
std::optional<UnexplainedFailure> UnexplainedBy(const ProcessEnd& end);

std::string EncodeFailureRow(const UnexplainedFailure& failure);
// Nothing where it is no such row.
std::optional<UnexplainedFailure> DecodeFailureRow(std::string_view row);

}  // namespace eroica
