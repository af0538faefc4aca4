// Whether the network moves data more slowly than it did, whoever exchanges it, from the profiles
// of a job's windows (job_profile.h). Pure.
#pragma once

#include <optional>
#include <span>

#include "diagnosis/regression/job_change.h"
#include "schemas/pattern_batch.h"

namespace eroica {

struct NetworkChangeOptions {
  size_t min_past = 2;      // windows before the change
  double slow_share = 0.8;  // of the past's speed: less is slow
  double min_share = 0.01;  // of a step, that it costs at least
  // share of the busy time that kinds of connections have which are slower
  double everywhere = 0.9;
  // false where all ranks are on one host: no NIC lies between them, however they exchange data
  bool has_nics = true;
};

struct NetworkChange {
  Resource resource = Resource::kNic;
  size_t past_windows = 0;
  double past_speed = 0;  // bytes per ns, of the kind of connections that is busiest
  double now_speed = 0;
  double past_ns = 0;  // a step
  double now_ns = 0;
  double wait_ns = 0;      // a step, by which ranks wait longer
  double transfer_ns = 0;  // a step, by which collectives take longer
};

// The newest window and the one before it, both, against all earlier ones: connections of all kinds
// are slower than in any of these, by a fifth and beyond what the past varies. Steps vary more than
// speeds do, so that a network at half its speed is seen where the step hardly shows it.
std::optional<NetworkChange> FindNetworkChange(std::span<const PatternBatch> history,
                                               const PatternBatch& now,
                                               const NetworkChangeOptions& options);

// Whether collectives that take longer, by `growth` of what they took, do so for another reason:
// connections of that kind are known in the past and now, and none has become slower by half of it.
// Whoever waits in a collective for a rank that is slow makes it longer, too.
bool IsNetworkAsFast(std::span<const PatternBatch> past, const PatternBatch& now, double growth);

}  // namespace eroica
