// A published version of a finding as a CloudEvent 1.0: the attributes, as headers of a record by
// the Kafka protocol binding in binary mode (the record's value is the data). Pure; any thread.
#pragma once

#include <string_view>

#include "schemas/finding.h"
#include "stream_ops/log/log.h"

namespace eroica {

enum class FindingFormat { kFlatBuffers, kJson };

// Where the schema of the data is known by its name.
inline constexpr std::string_view kFindingJsonSchema = "urn:eroica:schema:finding:1";
inline constexpr std::string_view kFindingFlatBuffersSchema = "urn:eroica:schema:FND1";

// ce_specversion, ce_id (FindingVersionId), ce_source, ce_type (eroica.finding.opened, .updated,
// .resolved), ce_subject (JOB/FINDING), ce_time where the finding has one, ce_dataschema,
// content-type; and the extensions ce_kind and ce_severity, to filter by without reading the data.
// Names in them are percent-encoded. source: a URI reference, the same on all nodes.
Headers FindingEventHeaders(const Finding& finding, FindingFormat format, std::string_view source);

}  // namespace eroica
