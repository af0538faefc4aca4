// Whether Eroica's NCCL profiler plugin is at work in this process: it sees the operations behind
// NCCL's kernels, with communicator and sequence number, and so the kernels are its business.
#pragma once

#include <functional>

namespace eroica {

// What to ask, by EROICA_CUPTI_COLLECTIVES as it is now: "on" - always no, take the kernels; "off"
// - always yes, leave them out; else whether the process has loaded the plugin, which NCCL does
// with its first communicator. The answer takes the loader's lock for a moment; the environment is
// read here, because a host may change it while other threads read it.
std::function<bool()> NcclPluginQuestion();

}  // namespace eroica
