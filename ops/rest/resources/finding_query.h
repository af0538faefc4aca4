// Which findings are asked for, as the query of /v1/findings and of its stream says.
#pragma once

#include "ops/findings/finding_index.h"
#include "ops/rest/parameters.h"
#include "ops/rest/resources/finding_json.h"

namespace eroica {

// All parameters of /v1/findings but view, limit and cursor. now_ms is left to the caller.
FindingQuery ReadFindingQuery(Parameters& parameters);
// Of the stream: job and severity.
FindingQuery ReadStreamQuery(Parameters& parameters);
// How the findings are shown; of both.
FindingView ReadFindingView(Parameters& parameters);

}  // namespace eroica
