// What a simulated training job is made of: its layout, its work, the fabric under it, its
// telemetry, and what is wrong with it. Plain values, all of them read from a scenario file. Times
// of the model are nanoseconds of true time, the same on every host; what is reported is the host's
// own clock.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/control.h"
#include "tests/evaluation/simulate/fault.h"
#include "tests/evaluation/simulate/parallel_layout.h"

namespace eroica::simulate {

// Sigma of the logarithm of a duration's noise.
struct Jitter {
  double kernel = 0.01;
  double host = 0.08;
  double transfer = 0.03;
};

// What happens once in a while; every = 0: never. In the last step of each `every` steps.
struct Occasion {
  uint32_t every = 0;
  int64_t duration_ns = 0;
};

// The training thread waits for its loaders now and then, on every rank, each in its own steps.
// Lengths lie between the two bounds, short ones more often: half as many for twice the length.
struct LoaderWait {
  double rate = 0;  // share of a rank's steps in which it waits
  int64_t shortest_ns = 1'000'000;
  int64_t longest_ns = 50'000'000;
};

struct Workload {
  uint32_t layers = 8;         // of the whole model, spread evenly over the pipeline
  uint32_t micro_batches = 4;  // of one step
  // device time of one layer and micro batch on one rank; the backward pass takes twice that
  int64_t layer_forward_ns = 2'000'000;
  double embedding_layers = 0.2;   // what the first stage has more, in layers
  double head_layers = 0.6;        // what the last stage has more
  uint32_t kernels_per_layer = 6;  // of the forward pass; capture cost follows from it
  uint64_t activation_bytes = uint64_t{32} << 20;  // of one micro batch between layers and stages
  uint64_t parameter_bytes = uint64_t{256} << 20;  // of one layer on one rank
  uint32_t gradient_buckets = 2;  // all-reduces (or reduce-scatters) of gradients a step
  // > 0: every so many layers is a mixture of experts, with its two all-to-alls
  uint32_t expert_every = 0;
  // sigma of the log of the tokens that an expert gets, drawn anew each step
  double routing_spread = 0.1;
  // sigma of the log of a micro batch's sequence length, drawn for each data rank and step
  double length_spread = 0;
  // sigma of the log of each micro batch's length, of mean 1, drawn anew each step; for all ranks
  // together, or for each data replica its own
  double micro_batch_spread = 0;
  bool micro_batches_shared = false;
  // share of the attention kernels' time that grows with the square of the length
  double attention_squares = 0;
  int64_t data_ns = 1'000'000;       // the training thread takes a batch from the loader
  int64_t launch_ns = 5'000;         // of one kernel on the training thread
  int64_t optimizer_ns = 4'000'000;  // device time
  uint32_t warmup_steps = 0;         // the first steps are slower, less so each step
  double warmup_factor = 3;
  Occasion checkpoint;
  Occasion evaluation;
  Occasion garbage_collection;  // on all ranks at once
  LoaderWait loader_wait;
  uint32_t pause_at_step = 0;  // > 0: the job rests between two steps
  int64_t pause_ns = 0;
  Jitter jitter;
};

// Bytes per nanosecond (GB/s) of one direction.
struct Fabric {
  double nvlink = 450;
  double nic = 45;
  double pcie = 25;
  double dram = 3'350;  // of a device's memory, reads and writes together
  int64_t hop_latency_ns = 6'000;
  // Channels of a collective: ring r leaves a host by the NIC of the group's member there number r
  // modulo their count. Fewer rings than ranks on a host leave some NICs idle where groups fill
  // hosts.
  uint32_t rings = 8;
  uint32_t hosts_per_rack = 4;
  // a slot's speed in shares of that of the NIC behind it; large where the NIC has its own slot
  double slot_over_nic = 1.25;
};

// Share of a kernel's time that the device's memory bounds, by what it does.
struct MemoryBound {
  double matrix = 0.1;
  double attention = 0.1;
  double elementwise = 0.9;
  double experts = 0.2;
  double embedding = 0.9;
  double optimizer = 0.95;
};

// By how much machines of one kind differ for good, as the standard deviation of the logarithm of a
// speed. None is farther from its kind than two of them: what is, acceptance tests sort out.
struct Hardware {
  double device_spread = 0;     // what a device's clock bounds
  double memory_spread = 0;     // what its memory bounds
  double processor_spread = 0;  // training threads of one host against those of others
  double core_spread = 0;       // training threads of a host among each other
  double link_spread = 0;       // NVLink of a device, its NIC sending, its NIC receiving
  MemoryBound memory_bound;
  // how much of a lower clock is felt by what the memory bounds, and by copies
  double clock_on_memory = 1;
  double clock_on_copies = 1;
};

// What noise is like, beyond its size (Jitter): its tails, and what a whole step shares.
struct Noise {
  // Student's t of so many degrees of freedom instead of the normal distribution; 0: normal
  uint32_t tail_degrees = 0;
  // sigma of the log of what a step's kernels, thread work and transfers have in common, on a rank
  // or in a communicator
  double step_kernel = 0;
  double step_host = 0;
  double step_transfer = 0;
  double correlation = 0;  // of that with the step before: AR(1)
};

struct Telemetry {
  CaptureLevel level = CaptureLevel::kEvents;
  uint32_t window_steps = 4;
  bool launches = false;  // launch calls of the training thread, one an operation on the device
  int64_t sample_period_ns = 1'000'000;  // of resource samples; 0: none
  int64_t clock_offset_ns = 10'000'000;  // hosts' clocks are off by up to this
  double clock_drift_ppm = 20;           // and drift by up to this
  double loss = 0;          // share of batches that are lost on every rank, and reported as lost
  bool connections = true;  // what each connection carried, once a step
  bool roles = false;       // producers say their pipeline stage
};

// Before the step all processes end; the job goes on with so many data replicas after the pause.
// Rank numbers go to other places of the layout, as they do in a job that is started anew.
struct Resize {
  uint32_t step = 0;
  uint32_t data = 1;
  int64_t pause_ns = 0;
};

struct SimulatedJob {
  std::string job = "simulated";
  ParallelLayout layout;
  Workload workload;
  Fabric fabric;
  Hardware hardware;
  Noise noise;
  Telemetry telemetry;
  std::vector<Fault> faults;
  std::vector<Resize> resizes;  // by step
  uint64_t seed = 1;
  uint32_t steps = 24;
};

// Says which number is out of range, and its range.
absl::Status Check(const SimulatedJob& job);

}  // namespace eroica::simulate
