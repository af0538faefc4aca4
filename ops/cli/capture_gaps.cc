#include "ops/cli/capture_gaps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "diagnosis/hang/hang_text.h"
#include "diagnosis/monitoring_gap/stopped_captures.h"
#include "diagnosis/monitoring_gap/telemetry_gaps.h"
#include "diagnosis/report/duration_text.h"
#include "diagnosis/slow_rank/slow_rank_operator.h"
#include "ops/cli/partly_recorded.h"

namespace eroica {
namespace {

// Of a step in collectives, from here on the ranks that are missing are suspects: more than
// communication takes of the steps of a healthy job (EROICA's expectation, METHODS 1.10).
constexpr double kSuspiciousShare = 0.3;
// Between hosts data takes a network, and durations alone say nothing about it: from here on it may
// cost a job more than the faults that are looked for (from 3 to 5 % of a step on).
constexpr double kWorthALook = 0.1;
// Of that, so much is what all recorded ranks wait at once: then none of them is who they wait for.
constexpr double kLeastInCommon = 0.5;

void Add(bool undecided, std::string sentence, CaptureGaps* gaps) {
  gaps->undecided = gaps->undecided || undecided;
  gaps->sentences.push_back(std::move(sentence));
}

// Of a rank alone nobody knows how long it waits in a healthy step.
bool AreSuspects(const JobCoverage& coverage) {
  return coverage.ranks.size() > 1 &&
         coverage.ShareOf(coverage.collective_wait_ns) >= kSuspiciousShare &&
         coverage.common_wait_ns >= kLeastInCommon * coverage.collective_wait_ns;
}

// Most of what ranks wait for is sent from stage to stage.
bool IsPipeline(const JobCoverage& coverage) {
  return coverage.wait_ns > 0 && 2 * coverage.collective_wait_ns <= coverage.wait_ns;
}

// Whether what the ranks exchange may take so long by itself, nobody being late.
bool TransfersFillIt(const JobCoverage& coverage) {
  return coverage.transfer_ns >= coverage.common_wait_ns;
}

std::string WhatMissingRanksCost(size_t missing, const JobCoverage& coverage) {
  // Without any wait there is no bound: ranks that exchange data wait, be it for microseconds.
  if (coverage.step_ns <= 0 || coverage.wait_ns <= 0) return "";
  const bool one = missing == 1;
  const std::string wait =
      fmt::format("{} of each step of {} ({})", DurationText(coverage.wait_ns),
                  DurationText(coverage.step_ns), PercentText(coverage.ShareOf(coverage.wait_ns)));
  if (!AreSuspects(coverage)) {
    return fmt::format(
        " The ranks recorded wait for peers for {}: whatever {}, that is the most by which they "
        "are "
        "held up.",
        wait, one ? "the missing rank does" : "the missing ranks do");
  }
  if (TransfersFillIt(coverage)) {
    return fmt::format(
        " The ranks recorded wait in collectives for {}, more than communication takes in healthy "
        "jobs, and a connection of theirs carries data for {}: what they exchange may take that "
        "long, or {} may be late.",
        wait, DurationText(coverage.transfer_ns), one ? "the missing rank" : "a missing rank");
  }
  return fmt::format(
      " The ranks recorded wait for peers for {}, more than communication takes in healthy jobs, "
      "and for {} of it all at once: none of them is who they wait for. {} first suspect{}.",
      wait, DurationText(coverage.common_wait_ns),
      one ? "The missing rank is the" : "The missing ranks are the", one ? "" : "s");
}

void AddMissingRanks(const JobCoverage& coverage, const std::vector<uint32_t>& missing,
                     const char* action, CaptureGaps* gaps) {
  std::vector<RankId> ranks;
  for (const uint32_t rank : missing) ranks.push_back(RankId{rank});
  Add(true,
      fmt::format("{} of {} {} not recorded: nobody can tell what {} did.{} {}", RanksText(ranks),
                  coverage.world_size, missing.size() == 1 ? "is" : "are",
                  missing.size() == 1 ? "it" : "they",
                  WhatMissingRanksCost(missing.size(), coverage), action),
      gaps);
}

// Of a live job without steps: a rank may have sent events, and no window have closed over them.
void AddRanksWithoutWindows(const JobCoverage& coverage, const std::vector<uint32_t>& missing,
                            CaptureGaps* gaps) {
  std::vector<RankId> ranks;
  for (const uint32_t rank : missing) ranks.push_back(RankId{rank});
  Add(true,
      fmt::format("There is no window of {} of {}: nobody can tell what {} did.", RanksText(ranks),
                  coverage.world_size, missing.size() == 1 ? "it" : "they"),
      gaps);
}

constexpr char kWhatToRecordOfNetworks[] =
    "Record TCP_INFO of every rank, the transfers of NCCL's operations (its profiler plugin with "
    "EROICA_NCCL_PROXY_OPS=1) or the counters of the NICs.";

// Sends and receives of which both ends are there end when the data is there: how fast the links
// between hosts are, and whether one of them is slow, their durations do not show.
void AddUnknownLinks(const JobCoverage& coverage, CaptureGaps* gaps) {
  const double share = coverage.ShareOf(coverage.between_hosts_ns);
  if (coverage.transfer_ns > 0 || share < kWorthALook) return;
  Add(true,
      fmt::format(
          "A rank is in receives from another host, while the data is sent, for {} of each step of "
          "{} ({}), and what the connections carried was not recorded: a slow link, a slow network "
          "and a job that exchanges so much look the same. {}",
          DurationText(coverage.between_hosts_ns), DurationText(coverage.step_ns),
          PercentText(share), kWhatToRecordOfNetworks),
      gaps);
}

// All wait at once, and what their connections carry meanwhile nobody recorded. All members leave a
// collective together, when its slowest link is done, so that durations alone do not show which one
// that is (METHODS 1.11).
void AddUnknownNetwork(const JobCoverage& coverage, CaptureGaps* gaps) {
  const double share = coverage.ShareOf(coverage.common_wait_ns);
  const bool suspicious = share >= kSuspiciousShare;
  const bool worth_a_look = coverage.hosts > 1 && share >= kWorthALook;
  if (coverage.ranks.size() < 2 || coverage.transfer_ns > 0 || (!suspicious && !worth_a_look))
    return AddUnknownLinks(coverage, gaps);
  Add(true,
      fmt::format("All ranks are in collectives at once for {} of each step of {} ({}){}, and what "
                  "their connections carry was not recorded: a slow link, a slow network and a job "
                  "that exchanges so much look the same. {}",
                  DurationText(coverage.common_wait_ns), DurationText(coverage.step_ns),
                  PercentText(share),
                  suspicious ? ", more than communication takes in healthy jobs"
                             : fmt::format(", over {} hosts", coverage.hosts),
                  kWhatToRecordOfNetworks),
      gaps);
}

// Who is late shows where ranks wait for each other.
void AddUnseenWaits(const JobCoverage& coverage, CaptureGaps* gaps) {
  if (coverage.ranks.size() < 2 || coverage.ranks_with_steps == 0 || coverage.sees_waits) return;
  Add(true,
      "No collective was seen, and no other wait for a rank: a rank that holds the others up can "
      "only be told by functions that it alone runs for long. A script says eroica.collective() "
      "round the call that waits; what has no Python says eroica_collective_launched().",
      gaps);
}

std::string StepsText(int64_t first, int64_t last) {
  if (first < 0) return "";
  return first == last ? fmt::format(" in step {}", first)
                       : fmt::format(" from step {} to {}", first, last);
}

// A process without a rank in its environment takes rank 0.
void AddRefusedProcesses(const StoppedCapture& refused, CaptureGaps* gaps) {
  std::vector<RankId> ranks;
  for (const uint32_t rank : refused.ranks) ranks.push_back(RankId{rank});
  const uint32_t more = refused.gap.detail;
  Add(true,
      fmt::format("{} more process{} say{} {} {}: only the first one is recorded, and nobody can "
                  "tell what the other{} did. Set EROICA_RANK and EROICA_WORLD_SIZE (or RANK and "
                  "WORLD_SIZE) for each process, before its first step.",
                  more, more == 1 ? "" : "es", more == 1 ? "s" : "",
                  more == 1 ? "that it is" : "that they are", RanksText(ranks),
                  more == 1 ? "" : "s"),
      gaps);
}

std::string HostsText(const std::vector<std::string>& hosts) {
  constexpr size_t kMostNamed = 8;
  if (hosts.empty()) return "";
  const std::span named = std::span(hosts).first(std::min(hosts.size(), kMostNamed));
  std::string text = fmt::format("{}", fmt::join(named, ", "));
  if (hosts.size() > kMostNamed) text += fmt::format(" and {} more", hosts.size() - kMostNamed);
  return fmt::format(" (host{} {})", hosts.size() == 1 ? "" : "s", text);
}

// Of what was not captured nothing is said: a job without collectives and one whose mask is 0 look
// the same.
void AddStoppedCaptures(const JobCoverage& coverage, CaptureGaps* gaps) {
  for (const StoppedCapture& stopped : coverage.stopped) {
    if (stopped.gap.capture == CaptureKind::kProcesses) {
      AddRefusedProcesses(stopped, gaps);
      continue;
    }
    const StoppedCaptureText text = TextOf(stopped.gap);
    std::vector<RankId> ranks;
    for (const uint32_t rank : stopped.ranks) ranks.push_back(RankId{rank});
    Add(stopped.share >= kLeastStoppedShare,
        fmt::format("{} of {} were not captured{}, for up to {} of the time: {}. {}",
                    text.Subject(), RanksText(ranks),
                    StepsText(stopped.first_step, stopped.last_step), PercentText(stopped.share),
                    text.why, text.remedy),
        gaps);
  }
}

// Of few steps nobody knows what lasts.
void AddShortWindows(const JobCoverage& coverage, const char* action, CaptureGaps* gaps) {
  const uint32_t steps = coverage.most_steps;
  if (coverage.ranks_with_steps == 0 || steps >= SlowRankOptions{}.min_steps) return;
  Add(true,
      fmt::format("No more than {} can be compared at once, and who is late in {} need not be so "
                  "in the next: what lasts and what happened once look the same. {}",
                  steps == 1 ? "one step" : fmt::format("{} steps", steps),
                  steps == 1 ? "one" : "them", action),
      gaps);
}

// What stood behind the end that is missing, nobody knows.
void AddCutFiles(const ImportReport& report, CaptureGaps* gaps) {
  const auto is_cut = [](const FileReport& file) {
    return file.counts.skipped.of(DropReason::kTruncatedInput) > 0;
  };
  const auto first = std::ranges::find_if(report.files, is_cut);
  if (first == report.files.end()) return;
  const auto count = std::ranges::count_if(report.files, is_cut);
  Add(true,
      fmt::format(
          "{}{} cut off: what came behind is lost. Copy {} again from where the job ran, or "
          "record again.",
          NameAmong(*first, report.files),
          count == 1 ? " is" : fmt::format(" and {} more traces are", count - 1),
          count == 1 ? "it" : "them"),
      gaps);
}

// Dumps show where a job stands, and never that it is well.
void AddStandstill(const ImportReport& report, CaptureGaps* gaps) {
  for (const std::string& sentence : report.left_open) Add(true, sentence, gaps);
  gaps->undecided = true;
}

// Files that hold events of the job, and that were left out whole.
void AddUnusedFiles(const ImportReport& report, CaptureGaps* gaps) {
  const auto is_unused = [](const FileReport& file) {
    return file.refused && file.counts.events > 0 && !file.warnings.empty();
  };
  const auto first = std::ranges::find_if(report.files, is_unused);
  if (first == report.files.end()) return;
  const auto count = std::ranges::count_if(report.files, is_unused);
  Add(true,
      fmt::format("{}{} not used: {}.", NameAmong(*first, report.files),
                  count == 1 ? " was" : fmt::format(" and {} more files were", count - 1),
                  first->warnings.back()),
      gaps);
}

void AddEndsApart(const ImportReport& report, CaptureGaps* gaps) {
  if (!report.ends_apart) return;
  Add(true,
      "The traces end in collectives that some ranks have launched and others have not, and that "
      "have not run: the job stands still there, or its traces end at different moments. Dumps of "
      "the flight recorder say which, and so do traces that end later.",
      gaps);
}

// Who is late shows where ranks wait for each other. Kernels that wait and that nobody knows as
// such count as work.
void AddUnknownWaits(const ImportReport& report, CaptureGaps* gaps) {
  constexpr double kMostUnmatched = 0.1;
  const uint64_t all = report.collectives + report.collectives_unmatched;
  if (report.ranks.size() < 2) return;
  if (all == 0) {
    Add(true,
        "No collective, send or receive was seen on any rank: who waits for whom cannot be told, "
        "and kernels that wait for peers count as work, if there are any. Record with "
        "ProfilerActivity.CUDA, so that the kernels of NCCL are in the traces, or on processors "
        "with the collectives of torch.distributed.",
        gaps);
  } else if (static_cast<double>(report.collectives_unmatched) >
             kMostUnmatched * static_cast<double>(all)) {
    Add(true,
        fmt::format("Of {} of {} collectives it is not known which of other ranks' they meet: who "
                    "waits for whom in them cannot be told. Traces of newer versions of PyTorch "
                    "name the group of each; flight-recorder dumps beside the traces "
                    "(fr_rankN.json) do so, too.",
                    report.collectives_unmatched, all),
        gaps);
  }
}

// Ranks on the processors of one host exchange data in its memory: live producers, which follow the
// ranks' own sockets, have no network to record there.
bool HasNetwork(const JobCoverage& coverage) { return coverage.hosts > 1 || !coverage.host_only; }

}  // namespace

// On several hosts: none of them could see the others. Ranks with as many processes on the same
// hosts are one sentence.
std::vector<std::string> ContestedSentences(const std::vector<ContestedRank>& ranks) {
  std::map<std::pair<uint32_t, std::vector<std::string>>, std::vector<RankId>> alike;
  for (const ContestedRank& rank : ranks)
    alike[{rank.processes, rank.hosts}].push_back(RankId{rank.rank});
  std::vector<std::string> sentences;
  for (const auto& [who, of] : alike) {
    const auto& [processes, hosts] = who;
    sentences.push_back(fmt::format(
        "{} processes say that they are {}{}{}: only the first one counts, and nobody can tell "
        "what the other{} did. Set EROICA_RANK and EROICA_WORLD_SIZE (or RANK and WORLD_SIZE) for "
        "each process, not for each host, or leave them out where a launcher says them.",
        processes, of.size() == 1 ? "" : "each of ", RanksText(of), HostsText(hosts),
        processes == 2 ? "" : "s"));
  }
  return sentences;
}

CaptureGaps FindTraceGaps(const ImportReport& report, const JobCoverage& coverage) {
  CaptureGaps gaps;
  JobCoverage imported = coverage;
  imported.world_size = report.world_size;
  imported.ranks = report.ranks;
  if (const std::vector<uint32_t> missing = imported.missing_ranks(); !missing.empty()) {
    AddMissingRanks(imported, missing, "Record all ranks.", &gaps);
  } else {
    AddUnknownNetwork(imported, &gaps);
  }
  AddStoppedCaptures(coverage, &gaps);
  AddCutFiles(report, &gaps);
  if (report.stalled_only) {
    AddStandstill(report, &gaps);
    return gaps;
  }
  AddUnusedFiles(report, &gaps);
  AddUnknownWaits(report, &gaps);
  AddEndsApart(report, &gaps);
  if (report.world_size <= 1) {
    Add(true,
        "The job is one rank, or the traces do not say of how many: it has no peers to be "
        "compared with. Record all ranks of the job, one file a rank.",
        &gaps);
  }
  if (report.ranks_with_steps == 0) {
    Add(true,
        "No trace marks its training steps, so that the whole capture counts as one step: what "
        "lasts and what happened once look the same. Call prof.step() after each training step.",
        &gaps);
  } else if (report.ranks_with_steps < report.ranks.size()) {
    Add(false,
        fmt::format("{} of {} traces do not mark their training steps: call prof.step() after each "
                    "training step, on all ranks.",
                    report.ranks.size() - report.ranks_with_steps, report.ranks.size()),
        &gaps);
  }
  if (report.ranks_with_steps > 0)
    AddShortWindows(coverage, "Record ten steps and more, and compare them together.", &gaps);
  if (report.ranks_with_stacks == 0) {
    Add(false,
        "No trace holds Python call stacks: a slow function of the training thread can be seen, "
        "and not be named. Record with with_stack=True.",
        &gaps);
  }
  return gaps;
}

CaptureGaps StandstillWithoutReason() {
  CaptureGaps gaps;
  Add(true,
      "Operations are in flight in these dumps, and nobody is seen to wait for anybody: a dump "
      "says why a job stands, and nothing of one that runs. Traces of its steps (torch.profiler), "
      "or the stacks of all ranks (py-spy dump), would tell.",
      &gaps);
  return gaps;
}

void AddLongSteps(const JobCoverage& coverage, CaptureGaps* gaps) {
  constexpr double kMuch = 0.1;
  const LongSteps& steps = coverage.long_steps;
  if (coverage.ranks.size() < 2 || steps.share < kMuch) return;
  const std::string who =
      steps.rank >= 0
          ? fmt::format("Rank {} is busy then, and the others wait for it", steps.rank)
          : "No rank alone is busy then: they wait for each other, or for different ones";
  Add(true,
      fmt::format("{} of {} steps {} {}, against {} as a rule: {} of the time. {}; so few steps do "
                  "not show whether it comes again, and to whom. Record more steps.",
                  steps.steps, steps.of_all, steps.steps == 1 ? "takes" : "take on average",
                  DurationText(steps.mean_ns), DurationText(steps.usual_ns),
                  PercentText(steps.share), who),
      gaps);
}

void AddUnrecordedWork(const JobCoverage& coverage, CaptureGaps* gaps) {
  const RankWithMost& work = coverage.unrecorded;
  const double excess_ns = work.ns - work.others_ns;
  if (coverage.ranks.size() < 2 || coverage.ShareOf(excess_ns) < kWorthALook ||
      coverage.wait_ns < excess_ns)
    return;
  Add(true,
      fmt::format(
          "Rank {} works for {} of each step of {} ({}) on what was not recorded, the other "
          "ranks for {}, and they wait for longer than that: whether for it cannot be told. "
          "Record with with_stack=True.",
          work.rank, DurationText(work.ns), DurationText(coverage.step_ns),
          PercentText(coverage.ShareOf(work.ns)), DurationText(work.others_ns)),
      gaps);
}

void AddBusiestRank(const JobCoverage& coverage, CaptureGaps* gaps) {
  const RankWithMost& busiest = coverage.busiest;
  const double excess_ns = busiest.ns - busiest.others_ns;
  if (coverage.ranks.size() < 2 || IsPipeline(coverage) ||
      coverage.ShareOf(excess_ns) < kWorthALook || coverage.wait_ns < excess_ns)
    return;
  Add(true,
      fmt::format("Rank {} is busy for {} of each step of {} on the average, the other ranks for "
                  "{}, and they wait for longer than that; single steps differ by too much to tell "
                  "whether it lasts. Record more steps.",
                  busiest.rank, DurationText(busiest.ns), DurationText(coverage.step_ns),
                  DurationText(busiest.others_ns)),
      gaps);
}

void AddStageAlone(const JobCoverage& coverage, CaptureGaps* gaps) {
  const RankWithMost& busiest = coverage.busiest;
  // Devices take as long for the same work to a hundredth; threads of a shared host do not.
  const double least = coverage.host_only ? kWorthALook : SlowRankOptions().min_share_unexplained;
  if (coverage.ranks.size() < 2 || !IsPipeline(coverage) ||
      coverage.ShareOf(busiest.ns - busiest.next_ns) < least)
    return;
  Add(true,
      fmt::format("Rank {} is busy for {} of each step of {}, every other rank for {} at the most: "
                  "no rank has as much of a pipeline to do, and whether it has more work (layers, "
                  "inputs) or a slow device cannot be told. The clock rates of the devices tell "
                  "(nvidia-smi dmon, or eroica run); so does a capture with a second replica.",
                  busiest.rank, DurationText(busiest.ns), DurationText(coverage.step_ns),
                  DurationText(busiest.next_ns)),
      gaps);
}

CaptureGaps FindLiveGaps(const JobCoverage& coverage) {
  CaptureGaps gaps;
  if (coverage.ranks.empty()) {
    Add(true,
        "Nothing was recorded: no process of the job attached, or none came to a training step. "
        "`eroica check` says what can be captured on this machine.",
        &gaps);
    return gaps;
  }
  constexpr const char* kAction = "The standard error of the job says why, if it knows.";
  AddPartlyRecorded(coverage, kAction, &gaps);
  if (const std::vector<uint32_t> missing = coverage.missing_ranks(); !missing.empty()) {
    if (coverage.ranks_with_steps == 0) {
      AddRanksWithoutWindows(coverage, missing, &gaps);
    } else {
      AddMissingRanks(coverage, missing, kAction, &gaps);
    }
  } else if (HasNetwork(coverage)) {
    AddUnknownNetwork(coverage, &gaps);
  }
  AddStoppedCaptures(coverage, &gaps);
  for (std::string& sentence : ContestedSentences(coverage.contested))
    Add(true, std::move(sentence), &gaps);
  if (coverage.ranks_with_steps == 0) {
    Add(true,
        fmt::format(
            "No training step was seen: without PyTorch's data loader and optimizer a script "
            "says eroica.step(){}.",
            coverage.sees_waits ? ""
                                : ", and eroica.collective() round the call that waits for "
                                  "the other ranks"),
        &gaps);
  }
  AddUnseenWaits(coverage, &gaps);
  AddShortWindows(coverage, "Let the job run for longer, or compare more steps at once.", &gaps);
  return gaps;
}

}  // namespace eroica
