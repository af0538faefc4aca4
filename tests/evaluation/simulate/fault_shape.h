// How a fault shows where its kind leaves that open: how often, for how long, how deep. Each value
// concerns the kinds that its comment names, and the others do not read it.
#pragma once

#include <cstdint>

namespace eroica::simulate {

struct FaultShape {
  double fragmented_share = 0.5;   // memory_fragmentation: share of a rank's steps with retries
  double collecting_share = 0.1;   // garbage_collection: share of a rank's steps with one
  uint32_t collecting_places = 4;  // below so many callers
  double spike_share = 1.0 / 16;   // transient_spike: share of the steps that are slow
  // ecc_retries: the shortest pause, and how many lengths pauses have, each twice the one before;
  // one length a step
  int64_t pause_ns = 500'000;
  uint32_t pause_lengths = 1;
  // power_throttling: the same of pulses, and the share of the clock that one takes
  int64_t pulse_ns = 100'000;
  uint32_t pulse_lengths = 7;
  double pulse_loss = 2.0 / 3;
  // ecc_retries and power_throttling: they come as time passes, a long kernel is struck more often
  // and several times; else each kernel is struck once or not at all, a short one as often
  bool by_time = false;
  // power_throttling: for so long the same ranks show it, and so large a share of the ranks at a
  // time; 1: all of them always
  uint32_t turn_steps = 4;
  double turn_share = 0.5;
  uint32_t period_steps = 12;  // thermal_throttling: from one minimum to the next
  double flapping_loss = 0.9;  // nic_flapping: share of the speed that is lost meanwhile
  // nic_down: in shares of a NIC's speed, what the rank itself still gets, and what is left to the
  // neighbor that lends its own
  double own_nic_share = 0.4;
  double neighbor_nic_share = 0.5;
  double link_share = 1;     // gpu_shared: how much longer transfers get, of the severity
  double seen_share = 1;     // cpu_stolen: of what is stolen, what processor samples show
  double wait_spread = 0.5;  // storage and loaders: a wait differs from the mean by up to it
};

}  // namespace eroica::simulate
