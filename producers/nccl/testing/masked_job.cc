// One rank of a small job of two, with the real core and the real plugin, and NCCL played by the
// harness: masked_job PLUGIN [MASK]. Each step computes and runs a collective; in the middle of the
// job the activation mask is set to MASK from outside. 0: all went well.
#include <dlfcn.h>
#include <poll.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>

#include "producers/core/producer_core.h"
#include "producers/nccl/abi_types.h"
#include "producers/nccl/testing/nccl_harness.h"

namespace eroica::nccl {
namespace {

constexpr int kSteps = 320;
constexpr int kMaskedFrom = 64;
constexpr int kPartMs = 4;  // of a step: work, or the collective
constexpr uint64_t kOperations = kCollEvent | kP2pEvent | kKernelChEvent;

void PassTime() { ::poll(nullptr, 0, kPartMs); }

uint64_t Now() { return static_cast<uint64_t>(eroica_now_ns()); }

// What NCCL does: nothing is started of which the mask holds nothing.
void RunCollective(NcclHarness* nccl, const HarnessCommunicator& dp, uint64_t sequence) {
  const auto mask = static_cast<uint64_t>(nccl->mask);
  void* operation = nullptr;
  if ((mask & kOperations) != 0) operation = nccl->Start(dp, {.sequence = sequence, .channels = 1});
  nccl->Stop(operation);
  void* channel = nullptr;
  if ((mask & kKernelChEvent) != 0) channel = nccl->StartKernelChannel(dp, operation, 0, Now());
  PassTime();
  nccl->StopKernelChannel(channel, Now());
}

int RunJob(NcclHarness* nccl, const char* mask) {
  HarnessCommunicator dp = {
      .id = 7, .name = "dp", .nodes = 1, .ranks = 2, .rank = static_cast<int>(eroica_rank())};
  if (nccl->Init(&dp) != 0 || !eroica_enabled()) return 4;
  const uint32_t work = eroica_function("work", EROICA_CPU_OP, EROICA_WAIT_NONE, EROICA_NO_PARENT);
  const uint8_t lane = eroica_lane("main", EROICA_TRAINING_THREAD);
  for (int step = 0; step < kSteps; ++step) {
    if (step == kMaskedFrom && mask != nullptr)
      std::atomic_ref<int>(nccl->mask).store(std::atoi(mask));
    const int64_t begin_ns = eroica_now_ns();
    eroica_step(begin_ns);
    PassTime();
    eroica_interval(begin_ns, eroica_now_ns(), work, lane);
    RunCollective(nccl, dp, static_cast<uint64_t>(step));
  }
  return nccl->Finalize(dp.context);
}

}  // namespace
}  // namespace eroica::nccl

int main(int argc, char** argv) {
  using namespace eroica::nccl;
  if (argc < 2) return 2;
  void* const plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  void* const table = plugin == nullptr ? nullptr : dlsym(plugin, "ncclProfiler_v6");
  if (table == nullptr) return 3;
  const std::unique_ptr<NcclHarness> nccl = MakeNcclHarness(6, table);
  return RunJob(nccl.get(), argc > 2 ? argv[2] : nullptr);
}
