// The real three stages, as a node wires them, without a clock: what the tests over whole jobs run.
#pragma once

#include "stream_ops/runtime/topology.h"

namespace eroica::testing {

Topology EroicaTopology();

}  // namespace eroica::testing
