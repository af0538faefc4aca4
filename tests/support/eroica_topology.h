// The real three stages, as a node wires them, without a clock: what the tests over whole jobs run.
#pragma once

#include "stream_ops/job_ages.h"
#include "stream_ops/runtime/topology.h"

namespace eroica::testing {

// jobs: how long they are known once they are over. pools: what each stage counts its memory by.
Topology EroicaTopology(const JobRetention& jobs = {}, const StagePools& pools = {});

}  // namespace eroica::testing
