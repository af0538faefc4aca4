#include "diagnosis/hang/hang_advice.h"

#include <fmt/format.h>

namespace eroica {
namespace {

constexpr StalledWords kStalledOnHost{
    .suspects = "a thread of a rank or the network",
    .explanation =
        "Threads of the processes carry it out. Whether it has begun on all of them is not "
        "recorded: on one whose threads are held up (by a callback of another operation, by the "
        "GIL) it has not, and where it has on all, the transfer stands.",
    .caveat =
        "Undecided between these threads and the network: native stacks of the ranks (py-spy "
        "dump --native) show on which of them the transfer has begun.",
    .action =
        "Take native stacks of these ranks (py-spy dump --native) and look at the connections "
        "between them (ss -tip), then restart the job."};

constexpr StalledWords kStalledOnDevice{
    .suspects = "a device or the network",
    .explanation =
        "Whether it has started on all of their devices is not recorded: on one that runs "
        "something "
        "else it has not, and where it has on all, the transfer stands.",
    .caveat =
        "Undecided between a device and the network: nothing says on which ranks it has "
        "started.",
    .action =
        "Look for device errors (Xid, ECC) and for links that are down on the hosts of these "
        "ranks, then restart the job."};

constexpr StalledWords kStalledInDumps{
    .suspects = kStalledOnDevice.suspects,
    .explanation = kStalledOnDevice.explanation,
    .caveat =
        "Undecided between a device and the network: with TORCH_NCCL_ENABLE_TIMING=1 the next "
        "dumps say on which ranks it has started.",
    .action =
        "Look for device errors (Xid, ECC) and for links that are down on the hosts of these "
        "ranks, and restart the job with TORCH_NCCL_ENABLE_TIMING=1."};

constexpr StalledWords kStalledAnywhere{
    .suspects = "a process, a device or the network",
    .explanation =
        "Whether it has begun on all of them is not recorded: on one whose threads or device are "
        "held up it has not, and where it has on all, the transfer stands.",
    .caveat =
        "Undecided between a process, a device and the network: nothing says on which ranks "
        "it has begun.",
    .action =
        "Take native stacks of these ranks (py-spy dump --native), look for errors of devices "
        "in the kernel's log of their hosts and for links that are down, then restart the "
        "job."};

}  // namespace

std::string_view LossesOfProcess(CollectiveLibrary library) {
  if (library == CollectiveLibrary::kNccl) return "out of memory, Xid, host down";
  if (RunsOnHost(library)) return "out of memory, host down";
  return "out of memory, a device's error, host down";
}

std::string AdviceOnDevice(CollectiveLibrary library, std::string_view ranks) {
  if (library == CollectiveLibrary::kNccl)
    return fmt::format("Look for device errors (Xid, ECC) on the host of {} and isolate it.",
                       ranks);
  return fmt::format(
      "Look for errors of devices in the kernel's log of the host of {} and isolate it.", ranks);
}

StalledWords WordsOnStalled(CollectiveLibrary library, bool of_dumps) {
  if (RunsOnHost(library)) return kStalledOnHost;
  if (library != CollectiveLibrary::kNccl) return kStalledAnywhere;
  return of_dumps ? kStalledInDumps : kStalledOnDevice;
}

std::string AdviceOnTransfer(CollectiveLibrary library, std::string_view host) {
  if (host.empty())
    return "Look at the links and NICs between the hosts of these ranks (link down, lost routes, "
           "error counters), then restart the job.";
  if (RunsOnHost(library))
    return fmt::format(
        "These ranks exchange data within host {}: take their native stacks (py-spy dump "
        "--native), look at the connections between them (ss -tip) and at free memory, then "
        "restart the job.",
        host);
  return fmt::format(
      "These ranks exchange data within host {}: look at the links between its devices (NVLink, "
      "PCIe) and at shared memory (/dev/shm), then restart the job.",
      host);
}

std::string_view EvidenceOfTransfer(CollectiveLibrary library) {
  return library == CollectiveLibrary::kNccl
             ? "TCP_INFO, NIC counters, progress of the proxy threads"
             : "TCP_INFO, NIC counters";
}

}  // namespace eroica
