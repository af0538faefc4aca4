// From version 1 of the keys to version 2 (key_schema.h): rows of kProgress get the keys of their
// families. What summarize and align keep, which windows diagnose has closed and which stalled
// steps it has looked at are taken over; what it remembered of earlier windows as text or as
// records in disguise is left behind, so that its look-backs begin anew.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace eroica {

// Key and value of the row in version 2, task included; nothing where it is left behind.
std::optional<std::pair<std::string, std::string>> UpgradeProgressRow(std::string_view key,
                                                                      std::string_view value);

}  // namespace eroica
