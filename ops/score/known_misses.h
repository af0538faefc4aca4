// The scenarios that are known not to come out right, each with the reason: a list to be shortened. One a line, "name: reason"; lines that begin with # are for people.
// A reason that begins with "cannot be told: " says that nothing in the telemetry tells it, and what would.
#pragma once

#include <absl/status/statusor.h>

#include <map>
#include <string>
#include <string_view>

namespace eroica {

using KnownMisses = std::map<std::string, std::string>;  // reason by scenario

bool CannotBeTold(const KnownMisses& known, const std::string& scenario);

// kInvalidArgument, with the line, for a line without a reason and for a name that comes twice.
absl::StatusOr<KnownMisses> ParseKnownMisses(std::string_view text);
absl::StatusOr<KnownMisses> ReadKnownMisses(const std::string& path);

}  // namespace eroica
