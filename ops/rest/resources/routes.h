// The resources of the API, as ops/rest/openapi.json describes them: each adds its routes. What a
// source is must outlive the router.
#pragma once

#include "ops/rest/router.h"
#include "ops/rest/sources.h"

namespace eroica {

void AddJobRoutes(Router& router, const RestSources& sources);           // jobs, windows
void AddStepRoutes(Router& router, const RestSources& sources);          // step times
void AddFunctionRoutes(Router& router, const RestSources& sources);      // functions
void AddHeatMapRoutes(Router& router, const RestSources& sources);       // functions by ranks
void AddRankRoutes(Router& router, const RestSources& sources);          // ranks
void AddCommunicatorRoutes(Router& router, const RestSources& sources);  // communicators, waits
void AddLinkRoutes(Router& router, const RestSources& sources);          // links
void AddFindingRoutes(Router& router, const RestSources& sources);       // findings
void AddControlRoutes(Router& router, const RestSources& sources);       // control actions, audit
void AddReplayRoutes(Router& router, const RestSources& sources);        // replays
void AddProcessRoutes(Router& router, const RestSources& sources);       // liveness, metrics
void AddStatusRoutes(Router& router, const RestSources& sources);        // ready, status, openapi

void AddDashboardRoutes(Router& router);  // its files

}  // namespace eroica
