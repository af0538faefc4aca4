// Which findings are asked for, as the query of /v1/findings and of its stream says.
#pragma once

#include "ops/findings/finding_index.h"
#include "ops/rest/parameters.h"

namespace eroica {

// All parameters of /v1/findings but limit and cursor. now_ms is left to the caller.
FindingQuery ReadFindingQuery(Parameters& parameters);
// Of the stream: job and severity.
FindingQuery ReadStreamQuery(Parameters& parameters);

}  // namespace eroica
