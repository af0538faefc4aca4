#include "schemas/finding_version.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cinttypes>
#include <cstdio>

#include "schemas/finding_json.h"

namespace eroica {

std::string FindingVersionId(const Finding& finding) {
  const std::string content = ToJson(finding, JsonTimes::kOmit);
  std::array<char, 18> hash{};
  std::snprintf(hash.data(), hash.size(), "-%016" PRIx64,
                static_cast<uint64_t>(XXH3_64bits(content.data(), content.size())));
  return finding.id + hash.data();
}

}  // namespace eroica
