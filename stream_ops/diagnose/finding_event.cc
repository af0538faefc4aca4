#include "stream_ops/diagnose/finding_event.h"

#include <absl/time/time.h>
#include <fmt/format.h>

#include <string>

#include "schemas/finding_version.h"
#include "schemas/printable_text.h"

namespace eroica {

Headers FindingEventHeaders(const Finding& finding, FindingFormat format, std::string_view source) {
  const bool is_json = format == FindingFormat::kJson;
  Headers headers = {
      {"ce_specversion", "1.0"},
      {"ce_id", PercentEncoded(FindingVersionId(finding))},
      {"ce_source", std::string(source)},
      {"ce_type", fmt::format("eroica.finding.{}", ToString(finding.state))},
      {"ce_subject", PercentEncoded(fmt::format("{}/{}", finding.job.value, finding.id))},
      {"ce_dataschema", std::string(is_json ? kFindingJsonSchema : kFindingFlatBuffersSchema)},
      {"ce_kind", std::string(ToString(finding.kind))},
      {"ce_severity", std::string(ToString(finding.severity))},
      {"content-type",
       is_json ? "application/json" : "application/vnd.eroica.finding+flatbuffers"}};
  if (finding.emitted_at_ns > 0) {
    headers.emplace_back("ce_time", absl::FormatTime("%Y-%m-%dT%H:%M:%E*SZ",
                                                     absl::FromUnixNanos(finding.emitted_at_ns),
                                                     absl::UTCTimeZone()));
  }
  return headers;
}

}  // namespace eroica
