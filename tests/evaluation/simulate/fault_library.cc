#include "tests/evaluation/simulate/fault_library.h"

#include <fmt/format.h>

#include <array>
#include <iterator>

namespace eroica::simulate {
namespace {

constexpr std::string_view kLonger = "Share by which kernels get longer; 0.03 to 1.";
constexpr std::string_view kSpeedLost = "Share of the speed that is lost; 0.1 to 0.9.";
constexpr std::string_view kShareOfStep =
    "Share of a healthy step that the function takes; 0.03 to 1.";
constexpr std::string_view kThreadOutlasts =
    "Share by which the rank's own part of a step gets longer, since its device waits for "
    "launches; 0.05 to 1.";
constexpr std::string_view kNoSeverity = "Not used.";

using enum FaultKind;
using Reach = FaultReach;

constexpr std::array<FaultDescription, kFaultKindCount> kDescriptions = {{
    {kGpuSlow, Reach::kRanks, "device", "All kernels of the rank take longer, at a lower clock.",
     kLonger, "Holmes (NSDI'25): GPU among the root devices"},
    {kThermalThrottling, Reach::kHosts, "device",
     "The same on all devices of a host, rising and falling again over `period_steps` steps.",
     "Share by which kernels get longer at the peak; 0.05 to 1.",
     "EROICA (NSDI'26), appendix A; operation of dense racks"},
    {kPowerThrottling, Reach::kRanks, "device",
     "Pulses at a part of the clock, lost: `pulse_loss`; of `pulse_us` or twice that, or four "
     "times, `pulse_lengths` of them. A share `turn_share` of the ranks shows it at a time; which "
     "ones changes every `turn_steps` steps.",
     "Share by which kernels get longer on the mean, while it shows; 0.05 to 0.5.",
     "EROICA (NSDI'26), appendix A, problem 1"},
    {kEccRetries, Reach::kRanks, "device",
     "Memory errors that are corrected: the device pauses at random, at its usual clock, for "
     "`pause_us` or twice that, or four times, `pause_lengths` of them.",
     "Share by which kernels get longer on the mean; 0.03 to 0.5.",
     "Holmes (NSDI'25): GPU among the root devices; error handling of HBM"},
    {kGpuShared, Reach::kRanks, "device",
     "Another process runs on the device: kernels of the rank take longer at the usual clock, and "
     "transfers by `link_share` of the same.",
     "Share by which kernels get longer; 0.03 to 0.5.",
     "EROICA (NSDI'26), appendix B: the case that it failed on"},
    {kMemorySlow, Reach::kRanks, "device",
     "The device's memory at a part of its speed: of each kernel gets longer what the memory "
     "bounds ([hardware.memory_bound]), at the usual clock.",
     "Share by which what the memory bounds gets longer; 0.1 to 1.",
     "issue 20: memory-bound kernels 30 to 40 % slower; thermal limits of HBM"},
    {kMemoryFragmentation, Reach::kRanks, "device",
     "The allocator finds no block, frees its cache and tries again: cudaFree and cudaMalloc "
     "before the first forward pass, in a share `fragmented_share` of the steps.",
     "Share of a healthy step that the calls take, where they come; 0.05 to 1.",
     "PyTorch's caching allocator: num_alloc_retries"},
    {kNicSlow, Reach::kRanks, "network", "A NIC at a part of its speed, both directions.",
     kSpeedLost, "Holmes (NSDI'25): NIC; C4 (HPCA'25): hot row and column"},
    {kNicSendSlow, Reach::kRanks, "network", "A NIC that sends at a part of its speed.", kSpeedLost,
     "C4 (HPCA'25): hot row of the latency matrix"},
    {kNicReceiveSlow, Reach::kRanks, "network", "A NIC that receives at a part of its speed.",
     kSpeedLost, "C4 (HPCA'25): hot column of the latency matrix"},
    {kNicFlapping, Reach::kRanks, "network",
     "A NIC that loses `flapping_loss` of its speed in some steps.",
     "Share of the steps in which it does; 0.1 to 0.5.", "issue 4: NIC flapping"},
    {kNicDown, Reach::kRanks, "network",
     "The NIC is gone. Its traffic takes that of the neighboring device, by way of the host's bus: "
     "`own_nic_share` of a NIC for the rank, `neighbor_nic_share` of one for the neighbor.",
     kNoSeverity, "EROICA (NSDI'26), case study 2, problem 2"},
    {kBondDegraded, Reach::kRanks, "network",
     "One of two bonded NICs is lost, for all ranks that share them.",
     "Share of the speed that is lost; 0.5.", "EROICA (NSDI'26), section 6.1"},
    {kLinkSlow, Reach::kPath, "network",
     "The path between two hosts. Harmless where no ring, pipeline or exchange uses it: take "
     "neighboring hosts.",
     kSpeedLost, "C4 (HPCA'25): hot cell of the latency matrix; Holmes (NSDI'25): link"},
    {kSwitchSlow, Reach::kRacks, "network", "All NICs below a switch, also among each other.",
     kSpeedLost, "Holmes (NSDI'25): switch among the root devices"},
    {kCongestedPath, Reach::kRacks, "network",
     "The ways between the rack and all others. Give a duty below 1 for congestion that comes and "
     "goes.",
     kSpeedLost, "Holmes (NSDI'25): congested path"},
    {kNvlinkSlow, Reach::kRanks, "network",
     "NVLink of a device at a part of its speed, both directions.", kSpeedLost,
     "issue 4: one slow NVLink"},
    {kNvlinkDown, Reach::kRanks, "network",
     "NVLink of a device is gone: what it exchanges with its host's other devices takes PCIe.",
     kNoSeverity, "EROICA (NSDI'26), appendix A, problem 2"},
    {kPcieDowngrade, Reach::kRanks, "network",
     "The slot of a device has fewer lanes: copies take longer, and so do transfers where the slot "
     "falls below its NIC's speed (fabric.slot_over_nic).",
     kSpeedLost, "issue 4: PCIe downgrade"},
    {kNetworkSlowEverywhere, Reach::kEveryone, "network",
     "All NICs of the job: flows of many ranks meet on few paths.",
     "Share of the speed that is lost; 0.1 to 0.7.", "EROICA (NSDI'26), case study 2, problem 1"},
    {kNcclSetting, Reach::kRanks, "network",
     "A wrong NCCL setting on a rank: whatever it takes part in moves at a part of the speed.",
     kSpeedLost, "EROICA (NSDI'26), table 2: misconfigured communication"},
    {kStorageSlow, Reach::kHosts, "host",
     "The training threads of a host wait for reads from storage, each time longer or shorter by "
     "up to `wait_spread`.",
     kShareOfStep, "EROICA (NSDI'26), case study 1, problem 1, on one host"},
    {kStorageSlowEverywhere, Reach::kEveryone, "host",
     "All training threads wait for reads from storage.", kShareOfStep,
     "EROICA (NSDI'26), case study 1, problem 1"},
    {kDataLoaderSlow, Reach::kRanks, "host",
     "The processes that load a rank's data do not keep up; the training thread waits for their "
     "queue.",
     kShareOfStep, "EROICA (NSDI'26), table 2: data loaders"},
    {kPinMemory, Reach::kRanks, "host", "Pinning memory takes long, under memory pressure.",
     kShareOfStep, "EROICA (NSDI'26), case study 2, problem 3"},
    {kGarbageCollection, Reach::kEveryone, "host",
     "Each rank collects garbage in a share `collecting_share` of its steps, each in its own, "
     "below whatever frame runs, of `collecting_places`.",
     "Share of a healthy step that one collection takes; 0.01 to 1.",
     "EROICA (NSDI'26), case study 1, problem 3"},
    {kGilContention, Reach::kRanks, "host",
     "Another thread holds the interpreter's lock: all that the training thread does takes longer.",
     kThreadOutlasts, "CPython's switch interval; issue 4"},
    {kCpuStolen, Reach::kHosts, "host",
     "Another process takes the host's cores: the same for all ranks there, and the processor is "
     "seen less busy for them, by `seen_share` of what is taken.",
     kThreadOutlasts, "Minder (NSDI'25): CPU among the faulty machine's metrics; issue 4"},
    {kCpuBoundForward, Reach::kEveryone, "code",
     "Python in the forward pass holds up the launches, on all ranks.", kShareOfStep,
     "EROICA (NSDI'26), case study 1, problem 2"},
    {kCodeRegression, Reach::kEveryone, "code",
     "A change makes the attention kernels slower on all ranks, from a step on.",
     "Share by which these kernels get longer; 0.1 to 2.", "Flare (arXiv 2502.05413): regressions"},
    {kSlowFunction, Reach::kRanks, "code",
     "A rank runs a function that the others do not, before its forward pass.", kShareOfStep,
     "EROICA (NSDI'26), table 2: inefficient user code"},
    {kSequenceImbalance, Reach::kDataReplicas, "load",
     "Data replicas get sequences of unequal length, the same replicas always: those given get "
     "longer ones, or where none are given each "
     "its own.",
     "Share by which the sequences are longer, or the sigma of the logarithm of the lengths; 0.05 "
     "to 0.5.",
     "EROICA (NSDI'26), case study 2, problem 4"},
    {kVaryingLengths, Reach::kEveryone, "load",
     "Micro-batches of unequal length on every data replica, other ones each step: a step is as "
     "long as its longest, and no rank is slower than the others.",
     "Sigma of the logarithm of the lengths, whose mean stays 1; 0.05 to 0.6.",
     "WLB-LLM (OSDI'25): documents of unequal length; issue 20"},
    {kStageImbalance, Reach::kStages, "load", "A pipeline stage has more work than the others.",
     "Share of work that the stage has more; 0.05 to 0.5.",
     "What-if analysis of stragglers (arXiv 2505.05713): uneven stages"},
    {kExpertImbalance, Reach::kExperts, "load",
     "Experts get unequally many tokens, the same experts always: those given get more and the "
     "others of their group less, or where none "
     "are given each its own share.",
     "Share of tokens that the hot experts get more, or the sigma of the logarithm of the shares; "
     "0.2 to 2.",
     "GShard (ICLR'21): uneven routing; issue 4"},
    {kCollectiveMismatch, Reach::kRanks, "hang",
     "The rank enters another collective than its peers.", kNoSeverity,
     "EROICA (NSDI'26), case study 3"},
    {kHostHang, Reach::kRanks, "hang",
     "The rank's training thread blocks on a full queue and never launches.", kNoSeverity,
     "EROICA (NSDI'26), case study 3; C4 (HPCA'25): non-communication hang"},
    {kCommunicationHang, Reach::kRanks, "hang",
     "All have launched, and a transfer of the rank stands still.", kNoSeverity,
     "C4 (HPCA'25): communication hang; Aegis (NSDI'25)"},
    {kRankDies, Reach::kRanks, "hang", "The rank's process is gone without a word.", kNoSeverity,
     "Aegis (NSDI'25): fewer launches than its peers"},
    {kTelemetryLoss, Reach::kRanks, "telemetry",
     "Batches of the rank are lost, and reported as lost; training is well.",
     "Share of the batches; 0.05 to 0.9.", "issue 4: telemetry loss"},
    {kTransientSpike, Reach::kRanks, "transient",
     "All kernels of the rank take longer in a share `spike_share` of the steps, at random, and "
     "are well again.",
     kLonger, "Holmes (NSDI'25): spikes among the shapes of irregularity"},
}};

constexpr std::array<std::string_view, kFaultReachCount> kReaches = {
    "the ranks",
    "their hosts",
    "their racks",
    "their pipeline stages",
    "their data replicas, or all",
    "their experts, or all",
    "paths to `peer_rank`",
    "everyone",
};

}  // namespace

std::string_view ToString(FaultReach reach) { return kReaches[static_cast<size_t>(reach)]; }

const FaultDescription& Describe(FaultKind kind) {
  return kDescriptions[static_cast<size_t>(kind)];
}

std::string FaultReference() {
  std::string page =
      "# Faults of the simulated fleet\n\n"
      "Made from the library in `tests/evaluation/simulate/fault_library.cc`; a test holds the two "
      "together.\n\n"
      "A fault of a scenario has a `kind`, `ranks` (whom it strikes, see the column *strikes*), a "
      "`severity`, and steps in which it shows: "
      "from `first_step` to\n"
      "`last_step`, both included, and of these the share `duty`, drawn at random. A healthy step "
      "is one of the same job without faults, "
      "as estimated from its programs.\n"
      "Several faults of one rank multiply. Words in `code` under *what happens* are further "
      "keys of the fault.\n";
  std::string_view family;
  for (const FaultDescription& fault : kDescriptions) {
    if (fault.family != family) {
      family = fault.family;
      fmt::format_to(std::back_inserter(page),
                     "\n## {}\n\n| kind | strikes | what happens | severity | source "
                     "|\n|---|---|---|---|---|\n",
                     family);
    }
    fmt::format_to(std::back_inserter(page), "| `{}` | {} | {} | {} | {} |\n", ToString(fault.kind),
                   ToString(fault.reach), fault.about, fault.severity, fault.source);
  }
  return page;
}

}  // namespace eroica::simulate
