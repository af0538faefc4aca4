// The topology of the program: the three stages, with the options that the configuration gives
// them and what watches them.
#pragma once

#include "ops/config/node_config.h"
#include "stream_ops/runtime/node_health.h"
#include "stream_ops/runtime/stage_threads.h"
#include "stream_ops/runtime/topology.h"

namespace eroica {

// kBounded: the input ends, and one rank may deliver all its windows before the next begins, so
// that nothing is closed for being too much.
enum class RunLength { kBounded, kEndless };

Topology EroicaTopology(const NodeConfig& config, RunLength length);
StageThreadsOptions ThreadOptions(const NodeConfig& config);
NodeHealthOptions HealthOptions(const NodeConfig& config);

}  // namespace eroica
