#include "diagnosis/monitoring_gap/stopped_captures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "diagnosis/monitoring_gap/gap_sentences.h"
#include "diagnosis/report/duration_text.h"
#include "diagnosis/report/subkinds.h"

namespace eroica {
namespace {

struct Stopped {
  CaptureGap gap;  // of the rank with most of it
  double most_share = 0;
  std::vector<RankId> ranks;
  std::vector<Measure> evidence;
};

constexpr size_t kMostStoppedRanks = 32;

// Several processes of one rank are no fault of the job: what the recording lacks is reported
// where nothing is found (ops/cli/capture_gaps.h).
bool IsFinding(const CaptureGap& gap) { return gap.capture != CaptureKind::kProcesses; }

double ShareOf(const SuspendedCapture& suspended, const PatternBatch& batch) {
  const int64_t length_ns = batch.window.end_ns - batch.window.start_ns;
  if (length_ns <= 0) return 0;
  return std::min(1.0,
                  static_cast<double>(suspended.suspended_ns) / static_cast<double>(length_ns));
}

std::map<CaptureKind, Stopped> StoppedOf(const CrossRankView& view) {
  std::map<CaptureKind, Stopped> captures;
  for (const RankView& rank : view.ranks()) {
    for (const SuspendedCapture& suspended : rank.batch->suspended) {
      const double share = ShareOf(suspended, *rank.batch);
      if (share < kLeastStoppedShare || !IsFinding(suspended.gap)) continue;
      Stopped& stopped = captures[suspended.gap.capture];
      if (share > stopped.most_share) stopped.gap = suspended.gap;
      stopped.most_share = std::max(stopped.most_share, share);
      stopped.ranks.push_back(rank.rank);
      if (stopped.evidence.size() == kMostStoppedRanks) continue;
      stopped.evidence.push_back({fmt::format("capture_stopped_of_rank_{}", rank.rank.value),
                                  "ratio", share, 0, kLeastStoppedShare, rank.batch->steps.size()});
    }
  }
  return captures;
}

void Describe(const Stopped& stopped, Finding* finding) {
  const StoppedCaptureText text = TextOf(stopped.gap);
  const std::string ranks =
      fmt::format("rank{} {}", stopped.ranks.size() == 1 ? "" : "s", RankNumbers(stopped.ranks));
  finding->evidence = stopped.evidence;
  finding->severity =
      stopped.gap.capture == CaptureKind::kCollectives ? Severity::kMinor : Severity::kInfo;
  finding->confidence = 0.95;
  finding->title = fmt::format("{} of {} are not captured: {}.", text.Subject(), ranks, text.why);
  finding->explanation = fmt::format(
      "The job may have them all the same, for {} and more of the steps of these ranks. What is "
      "slow in them, or hangs in them, is not seen while this lasts, and silence does not mean "
      "that the job is well. Nobody is blamed.",
      PercentText(kLeastStoppedShare));
  finding->suggested_action = text.remedy;
}

void Place(const CrossRankView& view, Finding* finding) {
  finding->kind = FindingKind::kMonitoringGap;
  finding->job = view.job();
  finding->first_window = finding->last_window = view.window_index();
  std::tie(finding->first_seen_ns, finding->last_seen_ns) = TimesOf(view);
  finding->world_size = view.world_size();
  for (const RankView& rank : view.ranks()) {
    finding->events += rank.batch->completeness.events;
    finding->events_lost += rank.batch->completeness.lost + rank.batch->completeness.late;
    if (!rank.batch->silent) ++finding->ranks_seen;
    if (rank.batch->steps.empty()) continue;
    const int64_t first = rank.batch->steps.front().id;
    finding->first_step = finding->first_step < 0 ? first : std::min(finding->first_step, first);
    finding->last_step = std::max(finding->last_step, rank.batch->steps.back().id);
  }
  finding->operator_name = "monitoring_gap";
  finding->operator_version = "1";
}

// Of NCCL's kinds of events (producers/nccl/abi_types.h) those without which something is missing.
constexpr uint32_t kColl = 1 << 1, kP2p = 1 << 2, kKernelCh = 1 << 6;
constexpr uint32_t kBelowOperations = 1 << 3 | 1 << 4 | kKernelCh | 1 << 7;

std::string MissingWith(uint32_t mask) {
  const bool below = (mask & kBelowOperations) != 0;
  const bool collectives = below || (mask & kColl) != 0;
  const bool pairs = below || (mask & kP2p) != 0;
  if (!collectives && !pairs) return "collectives";
  if (!collectives) return "collectives other than sends and receives";
  if (!pairs) return "sends and receives, and times of collectives on the device";
  return "times of collectives on the device";
}

}  // namespace

std::string StoppedCaptureText::Subject() const {
  std::string text = what;
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

StoppedCaptureText TextOf(const CaptureGap& gap) {
  if (gap.capture == CaptureKind::kDeviceWork) {
    return {.what = "kernels and copies",
            .why = "another client of CUPTI holds the device's activity",
            .remedy =
                "End the other profiler (torch.profiler, nsys) where it is no longer needed: "
                "capture then continues by itself."};
  }
  return {.what = MissingWith(gap.detail),
          .why = fmt::format("NCCL's activation mask was set to {} from outside", gap.detail),
          .remedy =
              "Set the mask to 70 on the port of NCCL's RAS (control, profiler_mask): capture "
              "then continues by itself."};
}

std::vector<Finding> FindStoppedCaptures(const CrossRankView& view) {
  std::vector<Finding> findings;
  for (const auto& [kind, stopped] : StoppedOf(view)) {
    Finding finding;
    Place(view, &finding);
    finding.subkind = kind == CaptureKind::kCollectives ? kStoppedCollectives : kStoppedDeviceWork;
    Describe(stopped, &finding);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace eroica
