#include "diagnosis/hang/hang_operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "diagnosis/hang/hang_claim.h"
#include "diagnosis/hang/hang_sentences.h"
#include "diagnosis/hang/hang_text.h"
#include "diagnosis/hang/hang_victims.h"
#include "diagnosis/hang/standing_lookup.h"
#include "diagnosis/hang/wait_graph.h"
#include "diagnosis/report/duration_text.h"

namespace eroica {
namespace {

double ConfidenceOf(const HangView& view, const HangClaim& claim) {
  double confidence = 0.95;
  if (claim.kind == HangKind::kSilent)
    confidence = 0.85;  // its telemetry may be gone, and not the rank
  // Dumps are left out when files are gathered, more often than processes are gone.
  const bool of_dumps = std::ranges::any_of(
      view.standings, [](const RankStanding* standing) { return standing->timed_out; });
  if (claim.kind == HangKind::kSilent && of_dumps) confidence = 0.6;
  if (claim.kind == HangKind::kStalled) confidence = 0.5;
  if (claim.kind == HangKind::kCommunication) confidence = 0.85;
  if (claim.kind == HangKind::kDevice) confidence = 0.9;
  if (claim.unheard_of)
    confidence = 0.85;  // it may have been the other's turn to do what is done once
  if (claim.undecided) confidence = 0.5;
  const double heard = static_cast<double>(view.standings.size() + view.silent.size()) /
                       std::max(1u, view.world_size);
  return std::round(confidence * std::min(1.0, heard) * 100) / 100;
}

void AddCulprits(const WaitGraph& graph, const HangClaim& claim, Finding* finding) {
  std::vector<RankId> ranks = claim.culprits;
  ranks.insert(ranks.end(), claim.ahead.begin(), claim.ahead.end());
  std::ranges::sort(ranks);
  for (const RankId rank : ranks) {
    Culprit culprit{.rank = static_cast<int32_t>(rank.value), .host = "", .device = -1, .peer = -1};
    if (const RankStanding* standing = graph.StandingOf(rank)) {
      culprit.host = standing->host;
      culprit.device = standing->device;
    }
    finding->culprits.push_back(std::move(culprit));
  }
  if (claim.kind != HangKind::kCommunication) return;
  if (claim.stall.place == StallPlace::kHost) {
    finding->culprits = {{.rank = -1, .host = finding->culprits.front().host}};
    // the two ends of a link are one culprit, the one that sends
  } else if (finding->culprits.size() == 2) {
    if (claim.stall.place == StallPlace::kLink &&
        claim.stall.culprits.front() != claim.culprits.front()) {
      std::swap(finding->culprits[0], finding->culprits[1]);
    }
    finding->culprits[0].peer = finding->culprits[1].rank;
    finding->culprits.pop_back();
  }
}

// What the culprit's training thread is in; of a hang of the communication, the operation itself.
void AddFunction(const WaitGraph& graph, const HangClaim& claim, Finding* finding) {
  if (claim.kind == HangKind::kCommunication || claim.kind == HangKind::kStalled) {
    finding->function = ToString(graph.operations()[claim.operations[0]].operation);
    finding->function_class = FunctionClass::kCollective;
    return;
  }
  // What a rank launched last is not what it is in.
  if (graph.of_dumps() && claim.kind == HangKind::kNeverLaunched) return;
  for (const RankId rank : claim.culprits) {
    const RankStanding* standing = graph.StandingOf(rank);
    if (standing == nullptr || standing->function.empty()) continue;
    finding->function = standing->function;
    finding->stack = standing->stack;
    finding->function_class = standing->function_class;
    return;
  }
}

int64_t Median(std::vector<int64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Flight recorders count from 1, and all kinds of collectives together.
double LaunchedUntil(const RankStanding& standing, const HungOperation& operation) {
  const bool dump = standing.timed_out && standing.last_step < 0;
  if (!dump) return static_cast<double>(LaunchedBelow(standing, operation));
  const uint64_t below = NumbersBelow(standing, operation.communicator->id);
  return static_cast<double>(below > 0 ? below - 1 : 0);
}

// The culprit's numbers beside its peers': how long they stand, and how far each has come with the
// operation in which most wait.
void AddEvidence(const HangView& view, const WaitGraph& graph, const HangClaim& claim,
                 Finding* finding) {
  const HungOperation& operation = graph.operations()[claim.operations[0]];
  const RankStanding* culprit = claim.culprits.empty() ? graph.StandingOf(operation.waiting[0])
                                                       : graph.StandingOf(claim.culprits[0]);
  std::vector<int64_t> stalled, launched;
  bool timed_out = false;
  for (const RankStanding* standing : view.standings) {
    timed_out = timed_out || standing->timed_out;
    if (std::binary_search(claim.culprits.begin(), claim.culprits.end(), standing->rank)) continue;
    stalled.push_back(standing->stalled_ns());
    if (PlaceOf(*standing, operation.communicator->id))
      launched.push_back(static_cast<int64_t>(LaunchedUntil(*standing, operation)));
  }
  if (!timed_out) {
    finding->evidence.push_back(
        {.name = "standing_for",
         .unit = "ns",
         .culprit = culprit == nullptr ? 0 : static_cast<double>(culprit->stalled_ns()),
         .peers = static_cast<double>(Median(stalled)),
         .threshold = 0,
         .samples = stalled.size()});
  }
  if (culprit != nullptr && !operation.point_to_point() && claim.kind != HangKind::kCommunication &&
      claim.kind != HangKind::kStalled) {
    finding->evidence.push_back({.name = "launched",
                                 .unit = "count",
                                 .culprit = LaunchedUntil(*culprit, operation),
                                 .peers = static_cast<double>(Median(launched)),
                                 .threshold = 0,
                                 .samples = launched.size()});
  }
  if (!claim.stall.connections.empty()) {
    int64_t busy_ns = 0;
    for (const StalledConnection& connection : claim.stall.connections)
      busy_ns = std::max(busy_ns, connection.busy_ns);
    finding->evidence.push_back({.name = "stalled_connections",
                                 .unit = "count",
                                 .culprit = static_cast<double>(claim.stall.connections.size()),
                                 .peers = 0,
                                 .threshold = 0,
                                 .samples = view.standings.size()});
    finding->evidence.push_back({.name = "data_under_way_since_last_report",
                                 .unit = "ns",
                                 .culprit = static_cast<double>(busy_ns),
                                 .peers = 0,
                                 .threshold = 0,
                                 .samples = claim.stall.connections.size()});
  }
  finding->evidence.push_back({.name = "ranks_waiting",
                               .unit = "count",
                               .culprit = 0,
                               .peers = static_cast<double>(finding->victims.size()),
                               .threshold = 0,
                               .samples = view.standings.size()});
}

void AddPlace(const HangView& view, Finding* finding) {
  int64_t window = 0;
  int64_t step = -1;
  int64_t since_ns = 0;  // nobody has got any further since the last of them did
  for (const RankStanding* standing : view.standings) {
    window = std::max(window, standing->window_index);
    if (standing->step >= 0) step = step < 0 ? standing->step : std::min(step, standing->step);
    since_ns = std::max(since_ns, standing->last_progress_ns);
    finding->last_seen_ns = std::max(finding->last_seen_ns, standing->time_ns);
  }
  finding->first_seen_ns = since_ns;
  finding->first_window = finding->last_window = window;
  finding->first_step = finding->last_step = step;
}

// A culprit whose collectives are not captured may have launched what the others wait in.
void DoubtUncaptured(const WaitGraph& graph, const HangClaim& claim, Finding* finding) {
  constexpr double kUndecided = 0.5;
  std::vector<RankId> unknown;
  for (const RankId rank : claim.culprits) {
    const RankStanding* standing = graph.StandingOf(rank);
    if (standing != nullptr && standing->collectives_suspended) unknown.push_back(rank);
  }
  if (unknown.empty()) return;
  finding->confidence = std::min(finding->confidence, kUndecided);
  finding->caveats.push_back(
      fmt::format("Undecided: the collectives of {} are not captured, since NCCL's activation mask "
                  "was set from "
                  "outside. What the others wait in may have been launched there.",
                  RanksText(unknown)));
}

// Who would be to blame if the job stood.
void DoubtMoment(const HangView& view, const HangClaim& claim, Finding* finding) {
  constexpr double kUndecided = 0.5;
  const bool unknown = std::ranges::any_of(
      view.standings, [](const RankStanding* standing) { return standing->moment_unknown; });
  if (!unknown || claim.kind == HangKind::kMismatch) return;  // those never meet
  finding->severity = Severity::kMinor;
  finding->confidence = std::min(finding->confidence, kUndecided);
  constexpr std::string_view kHangs = "The job hangs";
  if (finding->title.starts_with(kHangs))
    finding->title.replace(0, kHangs.size(), "The job may hang");
  finding->caveats.push_back(
      "Undecided: nothing shows that the job stood when the dumps were written. A job that ran "
      "looks the same in the midst of a step.");
}

Finding FindingOf(const HangView& view, const WaitGraph& graph, const HangClaim& claim) {
  Finding finding;
  finding.job = view.job;
  finding.kind = FindingKind::kHang;
  finding.subkind = ToString(claim.kind);
  finding.severity = Severity::kCritical;
  finding.confidence = ConfidenceOf(view, claim);
  finding.operator_name = HangOperator::kName;
  finding.operator_version = HangOperator::kVersion;
  finding.world_size = view.world_size;
  finding.ranks_seen = static_cast<uint32_t>(view.standings.size());
  finding.lost_gpu_seconds_per_hour = 3600.0 * view.world_size;
  AddPlace(view, &finding);
  AddCulprits(graph, claim, &finding);
  AddFunction(graph, claim, &finding);
  AddVictims(graph, claim, &finding);
  AddEvidence(view, graph, claim, &finding);
  AddSentences(view, graph, claim, &finding);
  DoubtUncaptured(graph, claim, &finding);
  DoubtMoment(view, claim, &finding);
  finding.id = FindingId(finding);
  return finding;
}

}  // namespace

std::vector<Finding> HangOperator::Evaluate(const HangView& view) const {
  const WaitGraph graph(view);
  std::vector<Finding> findings;
  for (const HangClaim& claim : ClaimsOf(graph)) {
    if (!claim.operations.empty()) findings.push_back(FindingOf(view, graph, claim));
  }
  return findings;
}

}  // namespace eroica
