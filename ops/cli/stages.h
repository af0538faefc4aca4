// The topology of the program: the three stages, with the options that the configuration gives
// them and what watches them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "ops/config/node_config.h"
#include "schemas/finding.h"
#include "stream_ops/diagnose/job_board.h"
#include "stream_ops/runtime/node_health.h"
#include "stream_ops/runtime/stage_threads.h"
#include "stream_ops/runtime/topology.h"

namespace eroica {

// kBounded: the input ends, and one rank may deliver all its windows before the next begins, so
// that nothing is closed for being too much.
enum class RunLength { kBounded, kEndless };

// wall_clock_ns: since 1970; where nothing is given, that of the machine. board: where the windows
// are shown to those who ask, if they are. on_published: hears of every version of a finding, on
// the thread of its stage.
Topology EroicaTopology(const NodeConfig& config, RunLength length,
                        std::function<int64_t()> wall_clock_ns = nullptr,
                        std::shared_ptr<JobBoard> board = nullptr,
                        std::function<void(const Finding&)> on_published = nullptr);
StageThreadsOptions ThreadOptions(const NodeConfig& config);
NodeHealthOptions HealthOptions(const NodeConfig& config);

}  // namespace eroica
