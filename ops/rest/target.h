// The target of a request, such as /v1/jobs/night%2F7/windows?limit=10, in its parts. Strict:
// whatever is no well-formed path and query is refused, so that nothing behind it meets
// half-decoded names. Pure functions, any thread.
#pragma once

#include <absl/status/statusor.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace eroica {

inline constexpr size_t kTargetBytesMax = 8'192;

struct Target {
  std::vector<std::string> path;             // decoded segments; none of them is empty, "." or ".."
  std::map<std::string, std::string> query;  // decoded; a name stands once
};

// kInvalidArgument: what is wrong with it. Decoded text is valid UTF-8 without a zero byte. A slash
// in a segment stands as %2F.
absl::StatusOr<Target> ParseTarget(std::string_view target);

// The bytes of a path segment or a value of a query, all but unreserved ones as %XX.
std::string EncodeComponent(std::string_view text);

}  // namespace eroica
