// The declarations of all keys of a job. A new one is a row here and a member with its default in
// tests/evaluation/simulate.
#include <utility>

#include "tests/evaluation/score/scenario_binding.h"

namespace eroica {
namespace {

using Keys = std::vector<FileKey<Scenario>>;

constexpr double kMicrosecond = 1e3;
constexpr double kMillisecond = 1e6;
constexpr double kMebibyte = 1024.0 * 1024.0;

#define JOB(path) EROICA_MEMBER_OF(Scenario, job.path, #path)

// seeds = 3 stands for [1, 2, 3].
FileKey<Scenario> Seeds() {
  FileKey<Scenario> key;
  key.name = key.member = "seeds";
  key.doc = "Each seed is a run of its own. A number N stands for the seeds 1 to N.";
  key.takes_number = true;
  key.get = [](const Scenario& scenario) {
    std::vector<std::string> seeds;
    for (const uint64_t seed : scenario.seeds) seeds.push_back(fmt::format("{}", seed));
    return OptionValue(seeds.empty() ? std::vector<std::string>{"1"} : seeds);
  };
  key.set = [](Scenario* scenario, OptionValue value) {
    std::vector<std::string> texts;
    if (const auto* count = std::get_if<int64_t>(&value)) {
      texts.push_back(fmt::format("1-{}", *count));
    } else {
      texts = std::get<std::vector<std::string>>(std::move(value));
    }
    std::vector<uint32_t> seeds;
    if (absl::Status status = ParseNumbers(texts, &seeds); !status.ok()) return status;
    if (seeds.empty()) return absl::InvalidArgumentError("seeds must not be empty");
    scenario->seeds.assign(seeds.begin(), seeds.end());
    return absl::OkStatus();
  };
  return key;
}

void AddHead(Keys* keys) {
  keys->push_back(
      Plain({"family", "",
             "The line of the score's table that it counts for: \"gpu slow\", \"healthy\"."},
            EROICA_MEMBER(Scenario, family)));
  keys->back().required = true;
  keys->push_back(
      Plain({"about", "", "What happens in it, in a sentence."}, EROICA_MEMBER(Scenario, about)));
  keys->back().required = true;
  keys->push_back(Seeds());
  keys->push_back(Plain({"traces", "",
                         "Of a real job instead of a simulated one: files and folders below the "
                         "folder that `eroica-lab score --traces` names."},
                        EROICA_MEMBER(Scenario, traces)));
  keys->push_back(Plain({"steps", "", "Training steps."}, JOB(steps)));
}

void AddLayout(Keys* keys) {
  keys->push_back(Plain(
      {"layout.tensor", "ranks", "Tensor parallelism: the fastest dimension of the rank numbers."},
      JOB(layout.tensor)));
  keys->push_back(Plain({"layout.context", "ranks", "Context parallelism."}, JOB(layout.context)));
  keys->push_back(Plain({"layout.data", "ranks", "Data parallelism."}, JOB(layout.data)));
  keys->push_back(
      Plain({"layout.pipeline", "stages", "Pipeline parallelism: the slowest dimension."},
            JOB(layout.pipeline)));
  keys->push_back(Plain({"layout.expert", "ranks", "Expert parallelism; divides layout.data."},
                        JOB(layout.expert)));
  keys->push_back(Plain(
      {"layout.virtual_stages", "", "Model chunks a rank; more than 1: the interleaved schedule."},
      JOB(layout.virtual_stages)));
  keys->push_back(Plain(
      {"layout.sharded", "",
       "FSDP over the data dimension: parameters gathered layer by layer, gradients scattered."},
      JOB(layout.sharded)));
  keys->push_back(
      Plain({"layout.ranks_per_host", "ranks", "Devices of a host."}, JOB(layout.ranks_per_host)));
}

void AddModel(Keys* keys) {
  keys->push_back(
      Plain({"workload.layers", "", "Of the whole model, spread evenly over the pipeline."},
            JOB(workload.layers)));
  keys->push_back(
      Plain({"workload.micro_batches", "", "Of one step."}, JOB(workload.micro_batches)));
  keys->push_back(Scaled(
      {"workload.layer_forward_us", "us",
       "Device time of one layer and micro batch on one rank. The backward pass takes twice that."},
      kMicrosecond, JOB(workload.layer_forward_ns)));
  keys->push_back(Plain({"workload.embedding_layers", "layers", "What the first stage has more."},
                        JOB(workload.embedding_layers)));
  keys->push_back(Plain({"workload.head_layers", "layers", "What the last stage has more."},
                        JOB(workload.head_layers)));
  keys->push_back(
      Plain({"workload.kernels_per_layer", "", "Kernels of the forward pass of a layer."},
            JOB(workload.kernels_per_layer)));
  keys->push_back(Scaled({"workload.activation_mib", "MiB",
                          "Activations of one micro batch between layers and stages."},
                         kMebibyte, JOB(workload.activation_bytes)));
  keys->push_back(Scaled({"workload.parameter_mib", "MiB", "Parameters of one layer on one rank."},
                         kMebibyte, JOB(workload.parameter_bytes)));
  keys->push_back(Plain({"workload.gradient_buckets", "", "Reductions of gradients a step."},
                        JOB(workload.gradient_buckets)));
  keys->push_back(Plain({"workload.expert_every", "layers",
                         "Every so many layers is a mixture of experts; 0: none is."},
                        JOB(workload.expert_every)));
  keys->push_back(
      Plain({"workload.routing_spread", "",
             "Sigma of the log of the tokens that an expert gets, drawn anew each step."},
            JOB(workload.routing_spread)));
  keys->push_back(Plain(
      {"workload.length_spread", "",
       "Sigma of the log of a micro batch's sequence length, drawn for each data rank and step."},
      JOB(workload.length_spread)));
  keys->push_back(Plain({"workload.micro_batch_spread", "",
                         "Sigma of the log of the length of each micro batch, of mean 1, drawn "
                         "anew each step; 0 to 1."},
                        JOB(workload.micro_batch_spread)));
  keys->push_back(Plain({"workload.micro_batches_shared", "",
                         "All ranks have micro batches of the same lengths; else each data replica "
                         "has its own."},
                        JOB(workload.micro_batches_shared)));
  keys->push_back(Plain({"workload.attention_squares", "",
                         "Share of the attention kernels' time that grows with the square of the "
                         "length; 0 to 1."},
                        JOB(workload.attention_squares)));
}

void AddHostWork(Keys* keys) {
  keys->push_back(
      Scaled({"workload.data_us", "us", "The training thread takes a batch from the loader."},
             kMicrosecond, JOB(workload.data_ns)));
  keys->push_back(
      Scaled({"workload.launch_us", "us", "Launch of one kernel on the training thread."},
             kMicrosecond, JOB(workload.launch_ns)));
  keys->push_back(Scaled({"workload.optimizer_us", "us", "Device time of the optimizer."},
                         kMicrosecond, JOB(workload.optimizer_ns)));
  keys->push_back(
      Plain({"workload.warmup_steps", "steps", "The first steps are slower, less so each step."},
            JOB(workload.warmup_steps)));
  keys->push_back(Plain({"workload.warmup_factor", "", "How much slower the first of them is."},
                        JOB(workload.warmup_factor)));
  keys->push_back(Plain({"workload.pause_at_step", "", "The job rests before this step; 0: never."},
                        JOB(workload.pause_at_step)));
  keys->push_back(Scaled({"workload.pause_ms", "ms", "For how long it rests."}, kMillisecond,
                         JOB(workload.pause_ns)));
}

void AddOccasions(Keys* keys) {
  keys->push_back(Plain({"workload.jitter.kernel", "", "Sigma of the log of a kernel's duration."},
                        JOB(workload.jitter.kernel)));
  keys->push_back(Plain({"workload.jitter.host", "", "The same of the training thread's work."},
                        JOB(workload.jitter.host)));
  keys->push_back(Plain({"workload.jitter.transfer", "", "The same of transfers."},
                        JOB(workload.jitter.transfer)));
  keys->push_back(Plain({"workload.checkpoint.every", "steps",
                         "A checkpoint in the last of so many steps; 0: never."},
                        JOB(workload.checkpoint.every)));
  keys->push_back(Scaled({"workload.checkpoint.duration_ms", "ms", "How long it takes."},
                         kMillisecond, JOB(workload.checkpoint.duration_ns)));
  keys->push_back(Plain({"workload.evaluation.every", "steps",
                         "An evaluation in the last of so many steps; 0: never."},
                        JOB(workload.evaluation.every)));
  keys->push_back(Scaled({"workload.evaluation.duration_ms", "ms", "How long it takes."},
                         kMillisecond, JOB(workload.evaluation.duration_ns)));
  keys->push_back(Plain(
      {"workload.garbage_collection.every", "steps",
       "Python collects garbage on all ranks at once in the last of so many steps; 0: never."},
      JOB(workload.garbage_collection.every)));
  keys->push_back(Scaled({"workload.garbage_collection.duration_ms", "ms", "How long it takes."},
                         kMillisecond, JOB(workload.garbage_collection.duration_ns)));
  keys->push_back(Plain({"workload.loader_wait.rate", "",
                         "Share of its steps in which a rank waits for its data loaders, each rank "
                         "in its own; 0 to 1."},
                        JOB(workload.loader_wait.rate)));
  keys->push_back(Scaled({"workload.loader_wait.shortest_ms", "ms",
                          "The shortest such wait. Of twice the length are half as many."},
                         kMillisecond, JOB(workload.loader_wait.shortest_ns)));
  keys->push_back(Scaled({"workload.loader_wait.longest_ms", "ms", "The longest."}, kMillisecond,
                         JOB(workload.loader_wait.longest_ns)));
}

void AddFabric(Keys* keys) {
  keys->push_back(
      Plain({"fabric.nvlink_gb_per_s", "GB/s", "NVLink, one direction."}, JOB(fabric.nvlink)));
  keys->push_back(Plain({"fabric.nic_gb_per_s", "GB/s", "A NIC, one direction."}, JOB(fabric.nic)));
  keys->push_back(
      Plain({"fabric.pcie_gb_per_s", "GB/s", "PCIe, one direction."}, JOB(fabric.pcie)));
  keys->push_back(
      Plain({"fabric.dram_gb_per_s", "GB/s", "A device's memory, reads and writes together."},
            JOB(fabric.dram)));
  keys->push_back(Scaled({"fabric.hop_latency_us", "us", "From one rank to the next."},
                         kMicrosecond, JOB(fabric.hop_latency_ns)));
  keys->push_back(Plain({"fabric.rings", "",
                         "Channels of a collective. Ring r leaves a host by the NIC of its device "
                         "r mod ranks_per_host."},
                        JOB(fabric.rings)));
  keys->push_back(Plain({"fabric.hosts_per_rack", "hosts", "That share a switch."},
                        JOB(fabric.hosts_per_rack)));
  keys->push_back(Plain({"fabric.slot_over_nic", "",
                         "Speed of a device's PCIe slot in shares of that of the NIC behind it, 1 "
                         "to 100; 100: the NIC has a slot of its own."},
                        JOB(fabric.slot_over_nic)));
}

// How far machines of one kind are from each other, and what bounds their kernels.
void AddHardware(Keys* keys) {
  keys->push_back(Plain({"hardware.device_spread", "",
                         "Devices differ for good: standard deviation of the log of what a "
                         "device's clock bounds; 0 to 0.3, and none beyond two of it."},
                        JOB(hardware.device_spread)));
  keys->push_back(Plain({"hardware.memory_spread", "", "The same of what its memory bounds."},
                        JOB(hardware.memory_spread)));
  keys->push_back(Plain({"hardware.processor_spread", "",
                         "The same of the training threads of one host against those of others."},
                        JOB(hardware.processor_spread)));
  keys->push_back(Plain(
      {"hardware.core_spread", "", "The same of the training threads of a host among each other."},
      JOB(hardware.core_spread)));
  keys->push_back(Plain({"hardware.link_spread", "",
                         "The same of links: a device's NVLink, its NIC sending, its NIC "
                         "receiving."},
                        JOB(hardware.link_spread)));
  keys->push_back(Plain({"hardware.clock_on_memory", "",
                         "How much of a lower clock is felt by what the memory bounds: 0 nothing, "
                         "1 all of it."},
                        JOB(hardware.clock_on_memory)));
  keys->push_back(Plain({"hardware.clock_on_copies", "", "The same by copies to the device."},
                        JOB(hardware.clock_on_copies)));
  keys->push_back(Plain({"hardware.memory_bound.matrix", "",
                         "Share of a matrix product's time that the memory bounds; 0 to 1."},
                        JOB(hardware.memory_bound.matrix)));
  keys->push_back(Plain({"hardware.memory_bound.attention", "", "The same of attention."},
                        JOB(hardware.memory_bound.attention)));
  keys->push_back(Plain({"hardware.memory_bound.elementwise", "",
                         "The same of norms, activations and other kernels element by element."},
                        JOB(hardware.memory_bound.elementwise)));
  keys->push_back(Plain({"hardware.memory_bound.experts", "", "The same of experts."},
                        JOB(hardware.memory_bound.experts)));
  keys->push_back(Plain({"hardware.memory_bound.embedding", "", "The same of the embedding."},
                        JOB(hardware.memory_bound.embedding)));
  keys->push_back(Plain({"hardware.memory_bound.optimizer", "", "The same of the optimizer."},
                        JOB(hardware.memory_bound.optimizer)));
}

void AddNoise(Keys* keys) {
  keys->push_back(Plain({"noise.tail_degrees", "",
                         "Tails of all noise: Student's t of so many degrees of freedom, 3 to 100; "
                         "0: the normal distribution."},
                        JOB(noise.tail_degrees)));
  keys->push_back(Plain({"noise.step_kernel", "",
                         "Sigma of the log of what a rank's kernels of one step have in common; 0 "
                         "to 0.5."},
                        JOB(noise.step_kernel)));
  keys->push_back(Plain({"noise.step_host", "", "The same of the training thread's work."},
                        JOB(noise.step_host)));
  keys->push_back(Plain({"noise.step_transfer", "", "The same of the transfers of a communicator."},
                        JOB(noise.step_transfer)));
  keys->push_back(Plain({"noise.correlation", "",
                         "Of what a step has in common with the step before, AR(1); 0 to 0.95."},
                        JOB(noise.correlation)));
}

FileKey<Scenario> Level() {
  FileKey<Scenario> key;
  key.name = key.member = "telemetry.level";
  key.doc =
      "What producers report. 0: marks and collectives; 1: patterns summarized at the edge; 2: "
      "every event.";
  key.get = [](const Scenario& scenario) {
    return OptionValue(static_cast<int64_t>(scenario.job.telemetry.level));
  };
  key.set = [](Scenario* scenario, OptionValue value) {
    const auto level = std::get<int64_t>(value);
    if (level < 0 || level >= kCaptureLevelCount) {
      return absl::InvalidArgumentError(fmt::format(
          "telemetry.level is {}; it must be between 0 and {}", level, kCaptureLevelCount - 1));
    }
    scenario->job.telemetry.level = static_cast<CaptureLevel>(level);
    return absl::OkStatus();
  };
  return key;
}

void AddTelemetry(Keys* keys) {
  keys->push_back(Level());
  keys->push_back(Plain({"telemetry.window_steps", "steps", "Training steps compared at once."},
                        JOB(telemetry.window_steps)));
  keys->push_back(
      Plain({"telemetry.launches", "", "Launch calls of the training thread are reported."},
            JOB(telemetry.launches)));
  keys->push_back(Scaled({"telemetry.sample_period_us", "us", "Of resource samples; 0: none."},
                         kMicrosecond, JOB(telemetry.sample_period_ns)));
  keys->push_back(
      Scaled({"telemetry.clock_offset_us", "us", "The hosts' clocks are off by up to this."},
             kMicrosecond, JOB(telemetry.clock_offset_ns)));
  keys->push_back(Plain({"telemetry.clock_drift_ppm", "ppm", "And drift by up to this."},
                        JOB(telemetry.clock_drift_ppm)));
  keys->push_back(Plain({"telemetry.loss", "",
                         "Share of the batches that are lost on every rank, and reported as lost."},
                        JOB(telemetry.loss)));
  keys->push_back(
      Plain({"telemetry.connections", "", "Producers report what each connection carried."},
            JOB(telemetry.connections)));
  keys->push_back(
      Plain({"telemetry.roles", "", "Producers say their pipeline stage."}, JOB(telemetry.roles)));
}

#undef JOB

}  // namespace

const std::vector<FileKey<Scenario>>& ScenarioKeys() {
  static const Keys keys = [] {
    Keys all;
    AddHead(&all);
    AddLayout(&all);
    AddModel(&all);
    AddHostWork(&all);
    AddOccasions(&all);
    AddFabric(&all);
    AddHardware(&all);
    AddNoise(&all);
    AddTelemetry(&all);
    return all;
  }();
  return keys;
}

}  // namespace eroica
