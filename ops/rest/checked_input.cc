#include "ops/rest/checked_input.h"

#include <absl/strings/str_join.h>
#include <absl/time/time.h>
#include <fmt/format.h>

#include <algorithm>

#include "ops/rest/problem.h"

namespace eroica {
namespace {

// The years 0000 and 9999, which RFC 3339 begins and ends with, also where an offset leads beyond.
constexpr int64_t kFirstMs = -62'167'219'200'000;
constexpr int64_t kLastMs = 253'402'300'799'999;

}  // namespace

void CheckedInput::Require(bool given, const std::string& name) {
  if (!given) Fail(fmt::format("the {} {} is missing", kind_, name));
}

void CheckedInput::Fail(const std::string& what) {
  if (error_.empty()) error_ = what;
}

std::optional<int64_t> CheckedInput::ReadTimeMs(const std::string& name, const std::string& text) {
  absl::Time time;
  std::string error;
  const bool has_year_of_four_digits = text.find('-') == 4;
  if (has_year_of_four_digits && absl::ParseTime(absl::RFC3339_full, text, &time, &error))
    return std::clamp(absl::ToUnixMillis(time), kFirstMs, kLastMs);
  Fail(fmt::format("{} must be a time such as 2026-11-24T10:00:00Z", name));
  return std::nullopt;
}

std::optional<HttpResponse> CheckedInput::RefuseOf(const std::vector<std::string>& given) {
  for (const std::string& name : given) {
    if (read_.contains(name)) continue;
    Fail(fmt::format("there is no {} {} here; there are: {}", kind_, name,
                     read_.empty() ? "none" : absl::StrJoin(read_, ", ")));
  }
  if (error_.empty()) return std::nullopt;
  return Problem(ProblemType::kBadRequest, error_, target_);
}

}  // namespace eroica
