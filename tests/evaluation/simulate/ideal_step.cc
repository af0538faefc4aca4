#include "tests/evaluation/simulate/ideal_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "tests/evaluation/simulate/function_catalog.h"
#include "tests/evaluation/simulate/program_builder.h"

namespace eroica::simulate {
namespace {

constexpr int64_t kOpen = -1;

// One rank stands for each stage: all ranks of a stage do the same at the same time. Times are
// max-plus: each is the latest of those that it follows.
struct Stage {
  size_t next = 0;            // instruction
  int64_t thread_ns = 0;      // the training thread has got so far,
  int64_t device_ns = 0;      // and the compute stream
  int64_t waited_ns = 0;      // the latest end of a ticket
  uint32_t open = 0;          // tickets that have not ended
  std::vector<int64_t> ends;  // by ticket; kOpen where it has not ended
};

struct Member {
  uint32_t stage = 0;
  uint32_t ticket = 0;
  int64_t join_ns = 0;
  uint64_t bytes = 0;
};

// Sends of one stage to another, and the receives there, each in its order.
struct Channel {
  std::vector<Member> sends;
  std::vector<Member> receives;
  size_t done = 0;
  int64_t end_ns = 0;
};

// Members of the collectives of a group across stages, one after the other.
struct Meeting {
  uint32_t size = 0;
  std::vector<Member> members;
};

class Interpreter {
 public:
  Interpreter(const SimulatedJob& job, const std::vector<RankProgram>& programs)
      : job_(job), programs_(programs), stages_(programs.size()), channels_(programs.size() * 2) {
    for (size_t i = 0; i < programs.size(); ++i) stages_[i].ends.assign(programs[i].tickets, kOpen);
    world_.size = static_cast<uint32_t>(programs.size());
    embedding_.size = 2;
  }

  absl::StatusOr<int64_t> Run() {
    bool progress = true;
    while (progress && error_.ok()) {
      progress = false;
      for (uint32_t stage = 0; stage < stages_.size(); ++stage) {
        while (error_.ok() && stages_[stage].next < programs_[stage].instructions.size() &&
               Step(stage))
          progress = true;
      }
    }
    if (!error_.ok()) return error_;
    int64_t end_ns = 0;
    for (size_t i = 0; i < stages_.size(); ++i) {
      if (stages_[i].next < programs_[i].instructions.size()) {
        return absl::FailedPreconditionError(
            fmt::format("stage {} stands still at instruction {} of {}", i, stages_[i].next,
                        programs_[i].instructions.size()));
      }
      end_ns = std::max(end_ns, stages_[i].thread_ns);
    }
    return end_ns;
  }

 private:
  // Runs the stage's next instruction; false where it has to wait.
  bool Step(uint32_t number) {
    Stage& stage = stages_[number];
    const Instruction& instruction = programs_[number].instructions[stage.next];
    if (instruction.every > 0) {
      ++stage.next;
      return true;
    }
    switch (instruction.kind) {
      case InstructionKind::kHost: stage.thread_ns += instruction.duration_ns; break;
      case InstructionKind::kKernel:
        stage.thread_ns += job_.workload.launch_ns;
        stage.device_ns = std::max(stage.device_ns, stage.thread_ns) + instruction.duration_ns;
        break;
      case InstructionKind::kCollective:
      case InstructionKind::kSend:
      case InstructionKind::kReceive: Join(number, instruction); break;
      case InstructionKind::kAwait:
        if (stage.ends[instruction.ticket] == kOpen) return false;
        stage.device_ns = std::max(stage.device_ns, stage.ends[instruction.ticket]);
        break;
      case InstructionKind::kSynchronize:
        if (stage.open > 0) return false;
        stage.thread_ns = std::max({stage.thread_ns, stage.device_ns, stage.waited_ns});
        break;
      case InstructionKind::kEnterFrame:
      case InstructionKind::kLeaveFrame:
      case InstructionKind::kMark: break;
    }
    ++stage.next;
    return true;
  }

  void Join(uint32_t number, const Instruction& instruction) {
    Stage& stage = stages_[number];
    stage.thread_ns += job_.workload.launch_ns;
    ++stage.open;
    const Member member = {.stage = number,
                           .ticket = instruction.ticket,
                           .join_ns = std::max(stage.device_ns, stage.thread_ns),
                           .bytes = instruction.bytes};
    if (instruction.kind != InstructionKind::kCollective) {
      JoinChannel(member, instruction);
    } else if (instruction.group == GroupKind::kWorld) {
      JoinMeeting(member, world_);
    } else if (instruction.group == GroupKind::kEmbedding) {
      JoinMeeting(member, embedding_);
    } else {
      End(member, member.join_ns);
    }
  }

  void JoinChannel(const Member& member, const Instruction& instruction) {
    const auto count = static_cast<int64_t>(stages_.size());
    const auto peer =
        static_cast<uint32_t>((member.stage + count + instruction.peer_stages) % count);
    const bool sends = instruction.kind == InstructionKind::kSend;
    const uint32_t source = sends ? member.stage : peer;
    const uint32_t destination = sends ? peer : member.stage;
    Channel& channel =
        channels_[size_t{source} * 2 + (destination == (source + 1) % stages_.size() ? 0 : 1)];
    (sends ? channel.sends : channel.receives).push_back(member);
    while (channel.done < std::min(channel.sends.size(), channel.receives.size())) {
      const Member& send = channel.sends[channel.done];
      const Member& receive = channel.receives[channel.done];
      if (send.bytes != receive.bytes) {
        error_ = absl::FailedPreconditionError(
            fmt::format("send {} of stage {} to stage {} has {} bytes, the receive {}",
                        channel.done, source, destination, send.bytes, receive.bytes));
      }
      channel.end_ns = std::max({channel.end_ns, send.join_ns, receive.join_ns});
      End(send, channel.end_ns);
      End(receive, channel.end_ns);
      ++channel.done;
    }
  }

  void JoinMeeting(const Member& member, Meeting& meeting) {
    meeting.members.push_back(member);
    if (meeting.members.size() < meeting.size) return;
    int64_t end_ns = 0;
    for (const Member& each : meeting.members) end_ns = std::max(end_ns, each.join_ns);
    for (const Member& each : meeting.members) End(each, end_ns);
    meeting.members.clear();
  }

  void End(const Member& member, int64_t end_ns) {
    Stage& stage = stages_[member.stage];
    stage.ends[member.ticket] = end_ns;
    stage.waited_ns = std::max(stage.waited_ns, end_ns);
    --stage.open;
  }

  const SimulatedJob& job_;
  const std::vector<RankProgram>& programs_;
  std::vector<Stage> stages_;
  std::vector<Channel> channels_;  // by source; to the next stage, and to the one before
  Meeting world_;
  Meeting embedding_;
  absl::Status error_;
};

}  // namespace

absl::StatusOr<int64_t> IdealStepTime(const SimulatedJob& job,
                                      const std::vector<RankProgram>& programs) {
  return Interpreter(job, programs).Run();
}

absl::StatusOr<int64_t> IdealStepTime(const SimulatedJob& job) {
  FunctionCatalog catalog;
  return IdealStepTime(job, BuildPrograms(job, catalog));
}

}  // namespace eroica::simulate
