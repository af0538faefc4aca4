#include "diagnosis/ended_process/ended_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <string>

#include "diagnosis/report/duration_text.h"
#include "diagnosis/report/signal_text.h"
#include "diagnosis/report/subkinds.h"

namespace eroica {
namespace {

constexpr double kConfidence = 0.95;
// A status that the launcher took before anybody else could read it may have been a success; and
// one that is a success says nothing of a fault.
constexpr double kConfidenceOfOthersEnds = 0.7;
// Who sends one signal to all ranks, one after the other, leaves the same trace.
constexpr double kConfidenceOfFirstTold = 0.5;

// By itself: its own code did what the processor or the C library does not allow.
bool IsCrash(int32_t number) {
  constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
  return std::ranges::find(kCrashes, number) != std::end(kCrashes);
}

std::string HowText(const ProcessEnd& end) {
  if (end.exit_code >= 0) return fmt::format("ended with exit code {}", end.exit_code);
  if (end.signal == 0) return "ended";
  if (end.out_of_memory && end.signal == SIGKILL)
    return "was killed by SIGKILL, when the kernel ran out of memory";
  const char* const how = IsCrash(end.signal) ? "crashed"
                          : end.job_failure   ? "was ended"
                                              : "was killed";
  return fmt::format("{} by {}", how, SignalText(end.signal));
}

// After the place; of ranks that one signal ended together.
std::string OrderText(const ProcessEnd& end) {
  if (end.is_orderly()) return ", before the others";
  if (!end.job_failure) return "";
  return fmt::format(", the first of {} within {}", end.job_failure->ranks,
                     DurationText(static_cast<double>(end.job_failure->within_ns)));
}

std::string WhereText(const RankStanding& standing) {
  std::string text;
  // Its last note may be older than the step in which it ended.
  const bool is_older = standing.step_mean_ns > 0 && standing.stalled_ns() > standing.step_mean_ns;
  if (standing.step >= 0)
    text = fmt::format(" {} step {}", is_older ? "after" : "in", standing.step);
  if (!standing.function.empty())
    text += fmt::format(", its training thread in {}", standing.function);
  return text;
}

// The rank computes on a device, or exchanges by a library of devices.
bool HasDevice(const RankStanding& standing) {
  return standing.device >= 0 ||
         std::ranges::any_of(standing.communicators, [](const Communicator& communicator) {
           return communicator.library == CollectiveLibrary::kNccl;
         });
}

std::string ActionText(const RankStanding& standing) {
  const ProcessEnd& end = *standing.end;
  const uint32_t rank = standing.rank.value;
  if (end.out_of_memory)
    return fmt::format(
        "Give the job more memory, or let rank {} take less: data loader workers, pinned memory, "
        "a checkpoint that is gathered on one rank. The kernel's log says what it took.",
        rank);
  if (IsCrash(end.signal))
    return fmt::format(
        "Look for the stack on the standard error of rank {} (PYTHONFAULTHANDLER=1 prints it), or "
        "in its core dump{}.",
        rank, HasDevice(standing) ? ", and for device errors (Xid) on its host" : "");
  if (end.signal > 0)
    return fmt::format(
        "Find who sent {} to process {} on {}: the scheduler's limits, the kernel's log (out of "
        "memory), or a person.",
        SignalText(end.signal), standing.pid, standing.host);
  if (end.is_orderly())
    return fmt::format(
        "Look for why rank {} left its loop: fewer batches than the others (a dataset that does "
        "not divide evenly, drop_last, join()), a break, or an exit in its code.",
        rank);
  return fmt::format(
      "Read the standard error of rank {}: the traceback there names the line. Then restart the "
      "job.",
      rank);
}

std::string ExplanationText(const RankStanding& standing, uint32_t world_size) {
  std::string text =
      fmt::format("Process {} of rank {} on {} {}{}.", standing.pid, standing.rank.value,
                  standing.host, HowText(*standing.end), WhereText(standing));
  if (world_size > 1)
    text += fmt::format(
        " {} cannot complete a collective without it: what ended or stood after it did so because "
        "of it.",
        world_size == 2 ? "The other rank" : fmt::format("The {} other ranks", world_size - 1));
  if (standing.step >= 0 && standing.stalled_ns() > 0)
    text += fmt::format(" It was last seen to progress {} before.",
                        DurationText(static_cast<double>(standing.stalled_ns())));
  return text;
}

void AddSentences(const RankStanding& standing, Finding* finding) {
  finding->title =
      fmt::format("The process of rank {} {}{}{}.", standing.rank.value, HowText(*standing.end),
                  WhereText(standing), OrderText(*standing.end));
  finding->explanation = ExplanationText(standing, finding->world_size);
  finding->suggested_action = ActionText(standing);
  if (!standing.end->is_known())
    finding->caveats.push_back(
        "How it ended is not known: its launcher took the exit status before anybody else could "
        "read it.");
  if (standing.end->is_orderly())
    finding->caveats.push_back(fmt::format(
        "It ended with success. That {} failed because of it follows from the order alone.",
        finding->world_size == 2 ? "the other one" : "others"));
  if (standing.end->job_failure)
    finding->caveats.push_back(fmt::format(
        "A launcher sends {} to those that are left, and nothing shows that anybody else sent it "
        "to "
        "them: when this process had ended, none of the others on its host had got it. A scheduler "
        "or a person that sends it to one rank after the other would look the same.",
        SignalText(standing.end->signal)));
}

double ConfidenceOf(const ProcessEnd& end) {
  if (end.job_failure) return kConfidenceOfFirstTold;
  return end.is_known() && !end.is_orderly() ? kConfidence : kConfidenceOfOthersEnds;
}

// By an exception or an abort, which is how libraries end a collective that timed out.
bool FailedByItself(const ProcessEnd& end) { return end.exit_code > 0 || end.signal == SIGABRT; }

}  // namespace

std::optional<Finding> FindEndedProcess(const RankStanding& standing, uint32_t world_size) {
  if (!standing.end) return std::nullopt;
  const std::optional<JobFailure>& failure = standing.end->job_failure;
  if (failure && !failure->others_untold) return std::nullopt;
  Finding finding;
  finding.job = standing.job;
  finding.kind = FindingKind::kHang;
  finding.subkind = kEndedProcess;
  finding.severity = Severity::kCritical;
  finding.confidence = ConfidenceOf(*standing.end);
  finding.operator_name = "ended_process";
  finding.operator_version = "1";
  finding.world_size = std::max(world_size, standing.world_size);
  finding.ranks_seen = 1;
  finding.lost_gpu_seconds_per_hour = 3600.0 * finding.world_size;
  finding.first_window = finding.last_window = standing.window_index;
  finding.first_step = finding.last_step = standing.step;
  finding.first_seen_ns = finding.last_seen_ns = standing.time_ns;
  finding.culprits = {{.rank = static_cast<int32_t>(standing.rank.value),
                       .host = standing.host,
                       .device = standing.device}};
  finding.function = standing.function;
  finding.stack = standing.stack;
  finding.function_class = standing.function_class;
  finding.evidence = {{.name = "exit_code",
                       .unit = "count",
                       .culprit = static_cast<double>(standing.end->exit_code),
                       .samples = 1},
                      {.name = "exit_signal",
                       .unit = "count",
                       .culprit = static_cast<double>(standing.end->signal),
                       .samples = 1},
                      {.name = "standing_for",
                       .unit = "ns",
                       .culprit = static_cast<double>(standing.stalled_ns()),
                       .samples = 1}};
  if (failure)
    finding.evidence.push_back({.name = "ended_together",
                                .unit = "count",
                                .culprit = static_cast<double>(failure->ranks),
                                .samples = 1});
  AddSentences(standing, &finding);
  finding.id = FindingId(finding);
  return finding;
}

bool IsExplainedBy(const Finding& open, const RankStanding& standing) {
  if (!standing.end || open.culprits.empty() || open.first_seen_ns > standing.time_ns ||
      open.first_seen_ns < standing.end->started_ns)
    return false;
  if (open.subkind == kEndedProcess)
    return open.culprits.front().rank != static_cast<int32_t>(standing.rank.value);
  return open.kind == FindingKind::kHang && FailedByItself(*standing.end) &&
         std::ranges::find(open.victims, standing.rank, &Victim::rank) != open.victims.end();
}

}  // namespace eroica
