// A finding as JSON, for REST, the CLI and subscribers without FlatBuffers. Deterministic: fixed
// key order, numbers in shortest round-trip form. Whatever the names hold, it is valid UTF-8, and
// no control character is in it (PrintableJson).
#pragma once

#include <string>

#include "schemas/finding.h"

namespace eroica {

// Times of day are RFC 3339, in UTC; where nobody knows one, it is left out.
//
// emitted_at, also as emitted_at_ns, is the only field that two runs over the same input may differ
// in; leave it out to compare them byte for byte.
enum class JsonTimes : uint8_t { kInclude, kOmit };
std::string ToJson(const Finding& finding, JsonTimes times = JsonTimes::kInclude);

}  // namespace eroica
