#include "tests/evaluation/simulate/healthy_step.h"

#include <algorithm>
#include <array>

#include "schemas/check.h"
#include "tests/evaluation/simulate/ideal_step.h"
#include "tests/evaluation/simulate/program_builder.h"
#include "tests/evaluation/simulate/transfer.h"

namespace eroica::simulate {
namespace {

constexpr double kLargestThreadFactor = 50'000;

// One rank of a stage whose peers are always there: times grow from instruction to instruction.
class LonelyRank {
 public:
  LonelyRank(const SimulatedJob& job, const GroupTable& groups, uint32_t rank, double thread_factor,
             bool communicates)
      : job_(job),
        groups_(groups),
        rank_(rank),
        thread_factor_(thread_factor),
        communicates_(communicates),
        model_(job.fabric) {}

  int64_t Run(const RankProgram& program) {
    ticket_end_ns_.assign(program.tickets, 0);
    for (const Instruction& instruction : program.instructions) {
      if (instruction.every == 0) Run(instruction);
    }
    return std::max(
        {thread_ns_, device_ns_, *std::max_element(stream_end_ns_.begin(), stream_end_ns_.end())});
  }

 private:
  void Run(const Instruction& instruction) {
    switch (instruction.kind) {
      case InstructionKind::kHost: Work(instruction.duration_ns); return;
      case InstructionKind::kKernel:
        Work(job_.workload.launch_ns);
        device_ns_ = std::max(device_ns_, thread_ns_) + instruction.duration_ns;
        return;
      case InstructionKind::kCollective:
      case InstructionKind::kSend:
      case InstructionKind::kReceive: {
        Work(job_.workload.launch_ns);
        int64_t& stream_ns = stream_end_ns_[static_cast<size_t>(instruction.group)];
        stream_ns = std::max({stream_ns, thread_ns_, device_ns_}) + TransferNs(instruction);
        ticket_end_ns_[instruction.ticket] = stream_ns;
        return;
      }
      case InstructionKind::kAwait:
        device_ns_ = std::max(device_ns_, ticket_end_ns_[instruction.ticket]);
        return;
      case InstructionKind::kEnterFrame:
      case InstructionKind::kLeaveFrame:
      case InstructionKind::kSynchronize:
      case InstructionKind::kMark: return;
    }
  }

  void Work(int64_t duration_ns) {
    thread_ns_ += static_cast<int64_t>(static_cast<double>(duration_ns) * thread_factor_);
  }

  // Sends and receives of a pipeline that runs hide behind what is computed meanwhile. Each
  // operation and size is computed once.
  int64_t TransferNs(const Instruction& instruction) {
    if (!communicates_ || instruction.kind != InstructionKind::kCollective) return 0;
    for (const KnownTransfer& known : known_) {
      if (known.group == instruction.group && known.operation == instruction.operation &&
          known.bytes == instruction.bytes)
        return known.ns;
    }
    std::vector<MemberLinks> members;
    for (const uint32_t member :
         groups_.groups()[groups_.Find(rank_, instruction.group)].communicator.ranks) {
      members.push_back(
          {.host = job_.layout.HostOf(member), .device = job_.layout.DeviceOf(member)});
    }
    Transfer transfer;
    model_.Collective(instruction.operation, instruction.bytes, members, {}, false, transfer);
    known_.push_back(
        {instruction.group, instruction.operation, instruction.bytes, transfer.duration_ns});
    return transfer.duration_ns;
  }

  struct KnownTransfer {
    GroupKind group;
    CollectiveOperation operation;
    uint64_t bytes;
    int64_t ns;
  };

  const SimulatedJob& job_;
  const GroupTable& groups_;
  uint32_t rank_;
  double thread_factor_;
  bool communicates_;
  TransferModel model_;
  std::vector<KnownTransfer> known_;
  std::vector<int64_t> ticket_end_ns_;
  std::array<int64_t, kGroupKindCount> stream_end_ns_ = {};
  int64_t thread_ns_ = 0;
  int64_t device_ns_ = 0;
};

int64_t MeanKernelNs(const RankProgram& program) {
  int64_t sum_ns = 0;
  int64_t kernels = 0;
  for (const Instruction& instruction : program.instructions) {
    if (instruction.kind != InstructionKind::kKernel || instruction.every != 0) continue;
    sum_ns += instruction.duration_ns;
    ++kernels;
  }
  return sum_ns / std::max<int64_t>(kernels, 1);
}

}  // namespace

HealthyStep::HealthyStep(const SimulatedJob& job, FunctionCatalog& catalog)
    : job_(job), groups_(job.layout, job.job), programs_(BuildPrograms(job, catalog)) {
  const absl::StatusOr<int64_t> ideal_ns = IdealStepTime(job, programs_);
  EROICA_CHECK(ideal_ns.ok());
  int64_t exposed_ns = 0;
  for (uint32_t stage = 0; stage < programs_.size(); ++stage) {
    LonelyRank silent(job, groups_, RankAt(job.layout, {.pipeline = stage}), 1, false);
    exposed_ns = std::max(exposed_ns, AloneNs(stage, 1) - silent.Run(programs_[stage]));
    mean_kernel_ns_.push_back(MeanKernelNs(programs_[stage]));
  }
  // While a pipeline fills and drains, the other stages wait for what one communicates, too.
  const int64_t passes = int64_t{job.workload.micro_batches} * job.layout.virtual_stages;
  step_ns_ = *ideal_ns + exposed_ns + exposed_ns * (job.layout.pipeline - 1) / passes;
}

int64_t HealthyStep::AloneNs(uint32_t stage, double slower) const {
  return LonelyRank(job_, groups_, RankAt(job_.layout, {.pipeline = stage}), slower, true)
      .Run(programs_[stage]);
}

double HealthyStep::ThreadFactor(uint32_t stage, double longer) const {
  const double target_ns = static_cast<double>(AloneNs(stage, 1)) * (1 + longer);
  double low = 1;
  double high = kLargestThreadFactor;
  for (int i = 0; i < 40 && high - low > 1e-4 * low; ++i) {
    const double middle = (low + high) / 2;
    (static_cast<double>(AloneNs(stage, middle)) < target_ns ? low : high) = middle;
  }
  return longer > 0 ? high : 1;
}

}  // namespace eroica::simulate
