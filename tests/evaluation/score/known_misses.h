// The scenarios that are known not to come out right, each with the reason: a list to be shortened.
// One a line, "name: reason"; lines that begin with # are for people.
// A reason that begins with "cannot be told: " says that nothing in the telemetry tells it, and
// what would; one that begins with "more than two windows: ", that two windows cannot tell it, and
// why. That may be said of a family of faults, too: "family NAME: more than two windows: reason".
#pragma once

#include <absl/status/statusor.h>

#include <map>
#include <string>
#include <string_view>

namespace eroica {

using KnownMisses = std::map<std::string, std::string>;  // reason by scenario

bool CannotBeTold(const KnownMisses& known, const std::string& scenario);

// Why two windows do not tell it; empty where nothing says that they do not.
std::string WhyMoreWindows(const KnownMisses& known, const std::string& scenario,
                           const std::string& family);

// kInvalidArgument, with the line, for a line without a reason and for a name that comes twice.
absl::StatusOr<KnownMisses> ParseKnownMisses(std::string_view text);
absl::StatusOr<KnownMisses> ReadKnownMisses(const std::string& path);

}  // namespace eroica
