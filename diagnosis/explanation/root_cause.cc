#include "diagnosis/explanation/root_cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "diagnosis/collective_wait/collective_wait_operator.h"
#include "diagnosis/explanation/effect_chain.h"
#include "diagnosis/explanation/impact.h"
#include "diagnosis/explanation/rotating_straggler.h"
#include "diagnosis/explanation/shared_cause.h"
#include "diagnosis/imbalance/imbalance_operator.h"
#include "diagnosis/link_matrix/link_matrix_operator.h"
#include "diagnosis/measurements/host_ranks.h"
#include "diagnosis/measurements/sampled_stacks.h"
#include "diagnosis/measurements/thread_function.h"
#include "diagnosis/recompilation/recompilation_operator.h"
#include "diagnosis/regression/regression_operator.h"
#include "diagnosis/report/confidence.h"
#include "diagnosis/report/duration_text.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/report/runtime_calls.h"
#include "diagnosis/report/subkinds.h"
#include "diagnosis/slow_host/slow_host_operator.h"
#include "diagnosis/slow_rank/slow_rank_operator.h"
#include "diagnosis/spike/spike_operator.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

struct DataQuality {
  uint64_t events = 0;
  uint64_t lost = 0;
  uint32_t ranks_seen = 0;
  // that tell of fewer steps than the others, by two and more: the first and the last may fall into
  // another window
  uint32_t ranks_short = 0;
};

DataQuality QualityOf(const CrossRankView& view) {
  DataQuality quality;
  double most_steps = 0;
  for (const RankView& rank : view.ranks()) most_steps = std::max(most_steps, rank.step.steps);
  for (const RankView& rank : view.ranks()) {
    if (!rank.silent && rank.step.steps + 2 <= most_steps) ++quality.ranks_short;
    const Completeness& completeness = rank.batch->completeness;
    quality.events += completeness.events;
    quality.lost += completeness.lost + completeness.late;
    if (!rank.silent) ++quality.ranks_seen;
  }
  return quality;
}

bool SameCulprits(const Finding& a, const Finding& b) {
  return a.kind == b.kind && !a.culprits.empty() && a.culprits == b.culprits;
}

// The more confident claim keeps its words; what the other one measured is kept as evidence, but
// not in how many windows that one would have to be made. Who is late on the whole is told to be
// so, however few steps make it so.
void Merge(Finding& into, Finding&& from) {
  const bool is_late = from.subkind == kTransient && FindMeasure(into, kExcessOverNoise) != nullptr;
  if (from.confidence > into.confidence && !is_late) std::swap(into, from);
  for (Measure& measure : from.evidence) {
    if (measure.name != kSeenInWindows && FindMeasure(into, measure.name) == nullptr)
      into.evidence.push_back(std::move(measure));
  }
}

std::vector<Finding> MergeByCulprit(std::vector<Finding> claims) {
  std::vector<Finding> merged;
  for (Finding& claim : claims) {
    const auto known = std::find_if(merged.begin(), merged.end(),
                                    [&](const Finding& f) { return SameCulprits(f, claim); });
    if (known == merged.end()) {
      merged.push_back(std::move(claim));
    } else {
      Merge(*known, std::move(claim));
    }
  }
  return merged;
}

// Mean step duration over the ranks; the window where there are no steps.
double StepLength(const CrossRankView& view) {
  double sum = 0;
  double count = 0;
  for (const RankView& rank : view.ranks()) {
    sum += rank.step.duration_ns * rank.step.steps;
    count += rank.step.steps;
    if (rank.step.steps == 0 && !rank.silent) {
      sum += static_cast<double>(rank.batch->window.duration_ns());
      ++count;
    }
  }
  return count > 0 ? sum / count : 0;
}

Severity SeverityOf(double share) {
  if (share >= 0.30) return Severity::kCritical;
  if (share >= 0.10) return Severity::kMajor;
  return share >= 0.03 ? Severity::kMinor : Severity::kInfo;
}

// What all ranks run longer than they used to, in Python or in kernels, no late rank can lengthen:
// their peers wait for it elsewhere. Unless another finding is about the same function, or about
// kernels too, or about as many ranks as run it. What threads wait for a processor is no function
// of their own: late ranks and all that they hold up lengthen it. Of stacks that are sampled,
// frames of an exchange leak out of it by half a sample: a slow link lengthens them on all ranks.
bool StandsAlone(const Finding& change, const std::vector<Finding>& findings, bool sampled) {
  if (IsStarvation(change.function)) return false;
  const auto is_link = [](const Finding& other) {
    return other.kind == FindingKind::kCommunication && !other.culprits.empty();
  };
  if (sampled && std::ranges::any_of(findings, is_link)) return false;
  const bool of_past = FindMeasure(change, "excess_explained_by_function") != nullptr;
  const Measure* runs = FindMeasure(change, "function_time_per_step");
  const bool kernels = change.function_class == FunctionClass::kGpuCompute;
  if (!of_past || change.kind != FindingKind::kRegression ||
      (change.function_class != FunctionClass::kPython && !kernels))
    return false;
  return std::none_of(findings.begin(), findings.end(), [&](const Finding& other) {
    const bool as_many = runs != nullptr && other.culprits.size() >= runs->samples;
    return !ConcernsEverybody(other) &&
           (as_many || ExplainsOnAll(change, other) ||
            (kernels && other.function_class == change.function_class));
  });
}

// Whether half of the paths between hosts have an end on hosts whose network is slow: then those of
// all hosts are slower on the whole.
bool TouchesHalfOfPaths(const Finding& finding, size_t hosts) {
  if (finding.kind != FindingKind::kCommunication || ConcernsEverybody(finding)) return false;
  std::set<std::string_view> slow;
  for (const Culprit& culprit : finding.culprits) slow.insert(culprit.host);
  slow.erase("");
  const double others =
      1 - static_cast<double>(slow.size()) / static_cast<double>(std::max<size_t>(1, hosts));
  return slow.size() > 1 && others * others <= 0.5;
}

// The job may have become slower because of one rank, or its network because of some hosts: then
// that is the finding.
void DropExplainedChanges(const CrossRankView& view, std::vector<Finding>& findings) {
  const size_t hosts = view.hosts().size();
  const bool sampled = std::ranges::any_of(
      view.ranks(), [](const RankView& rank) { return SampleNs(*rank.batch) > 0; });
  double explained_ns = 0;
  for (const Finding& finding : findings) {
    if (!ConcernsEverybody(finding)) explained_ns += finding.lost_ns_per_step;
  }
  const std::vector<Finding> all = findings;
  const bool paths = std::ranges::any_of(
      all, [hosts](const Finding& finding) { return TouchesHalfOfPaths(finding, hosts); });
  std::erase_if(findings, [&](const Finding& finding) {
    const bool of_paths = paths && finding.kind == FindingKind::kCommunication;
    return ConcernsEverybody(finding) &&
           (of_paths || explained_ns >= finding.lost_ns_per_step / 2) &&
           !StandsAlone(finding, all, sampled);
  });
}

// Ranks that name one device are served by it in turns, where it is one: nobody can tell a slow
// rank from the one whose turn comes last.
void AddCaveatOfDevice(const CrossRankView& view, Finding& finding) {
  const bool of_a_rank =
      finding.kind == FindingKind::kSlowRank || finding.kind == FindingKind::kContention;
  if (!of_a_rank || finding.culprits.empty()) return;
  const Culprit& culprit = finding.culprits.front();
  if (culprit.rank < 0 || culprit.device < 0 || culprit.host.empty()) return;
  const auto others = std::ranges::count_if(view.ranks(), [&culprit](const RankView& rank) {
    return static_cast<int64_t>(rank.rank.value) != culprit.rank &&
           rank.batch->device == culprit.device && rank.batch->host == culprit.host;
  });
  if (others == 0) return;
  finding.caveats.push_back(fmt::format(
      "{} other rank{} of the host name{} device {}, too. If it is one device, it serves them in "
      "turns, and who comes last waits for the others' kernels: that looks the same. A device for "
      "each rank would show it.",
      others, others == 1 ? "" : "s", others == 1 ? "s" : "", culprit.device));
}

// The rank that a claim is about, where its steps are longer than the others' by half of what it
// loses and more: nobody waits for it (a client of a parameter server), and the loss is its own.
const RankView* RankByItself(const CrossRankView& view, const Finding& finding) {
  const bool of_a_rank =
      finding.kind == FindingKind::kSlowRank || finding.kind == FindingKind::kContention;
  if (!of_a_rank || finding.culprits.size() != 1 || finding.culprits.front().rank < 0)
    return nullptr;
  const RankView* own = nullptr;
  std::vector<double> others;
  for (const RankView& rank : view.ranks()) {
    if (static_cast<int64_t>(rank.rank.value) == finding.culprits.front().rank) {
      own = &rank;
    } else if (rank.step.steps > 0) {
      others.push_back(rank.step.duration_ns);
    }
  }
  if (own == nullptr || own->step.steps <= 0 || others.empty()) return nullptr;
  const double longer_ns = own->step.duration_ns - Median(std::span(others));
  const double lost_ns = std::min(finding.lost_ns_per_step, own->step.duration_ns);
  return longer_ns > 0 && 2 * longer_ns >= lost_ns ? own : nullptr;
}

// What it costs: of every step of the job, or of the steps of one rank that nobody waits for.
void AddCost(const CrossRankView& view, double step_ns, Finding& finding) {
  const RankView* const alone = finding.victims.empty() ? RankByItself(view, finding) : nullptr;
  if (alone != nullptr) step_ns = alone->step.duration_ns;
  if (step_ns > 0) finding.lost_ns_per_step = std::min(finding.lost_ns_per_step, step_ns);
  const double share = step_ns > 0 ? finding.lost_ns_per_step / step_ns : 0;
  const double ranks = alone != nullptr ? 1 : view.world_size();
  finding.severity = SeverityOf(share * ranks / std::max(1u, view.world_size()));
  finding.lost_gpu_seconds_per_hour = share * 3600 * ranks;
  if (!finding.culprits.empty() && finding.culprits.front().rank >= 0) {
    finding.chain =
        FollowEffects(view, RankId{static_cast<uint32_t>(finding.culprits.front().rank)});
  }
  const std::string whose = alone != nullptr
                                ? fmt::format("every step of rank {} takes", alone->rank.value)
                                : "every step of the job takes";
  finding.chain.push_back({.rank = -1,
                           .description = fmt::format("{} {} longer ({} of {})", whose,
                                                      DurationText(finding.lost_ns_per_step),
                                                      PercentText(share), DurationText(step_ns)),
                           .lost_ns = static_cast<int64_t>(finding.lost_ns_per_step)});
}

void Complete(const CrossRankView& view, const DataQuality& quality, double step_ns,
              Finding& finding) {
  finding.job = view.job();
  finding.first_window = view.window_index();
  finding.last_window = view.window_index();
  std::tie(finding.first_seen_ns, finding.last_seen_ns) = TimesOf(view);
  finding.events = quality.events;
  finding.events_lost = quality.lost;
  finding.ranks_seen = quality.ranks_seen;
  finding.world_size = view.world_size();
  finding.confidence = ConfidenceAfter(finding.confidence, 1, ToldShare(finding));
  if (quality.lost > 0)
    finding.caveats.push_back(fmt::format("{} of {} events were lost or came late.", quality.lost,
                                          quality.events + quality.lost));
  if (quality.ranks_seen < view.world_size()) {
    finding.caveats.push_back(
        fmt::format("Only {} of {} ranks report.", quality.ranks_seen, view.world_size()));
  }
  if (quality.ranks_short > 0) {
    finding.caveats.push_back(fmt::format(
        "{} rank{} tell{} of fewer steps than the others: {} telemetry has gaps, or ends early.",
        quality.ranks_short, quality.ranks_short == 1 ? "" : "s",
        quality.ranks_short == 1 ? "s" : "", quality.ranks_short == 1 ? "its" : "their"));
  }
  AddCaveatOfDevice(view, finding);
  AddCost(view, step_ns, finding);
  finding.evidence.push_back({"lasted", "ns", WindowLength(view), 0, 0, 1});
  finding.id = FindingId(finding);
}

}  // namespace

std::vector<std::unique_ptr<DiagnosisOperator>> DefaultOperators() {
  std::vector<std::unique_ptr<DiagnosisOperator>> operators;
  operators.push_back(std::make_unique<SlowRankOperator>());
  operators.push_back(std::make_unique<SlowHostOperator>());
  operators.push_back(std::make_unique<CollectiveWaitOperator>());
  operators.push_back(std::make_unique<LinkMatrixOperator>());
  operators.push_back(std::make_unique<ImbalanceOperator>());
  operators.push_back(std::make_unique<RegressionOperator>());
  operators.push_back(std::make_unique<SpikeOperator>());
  operators.push_back(std::make_unique<RecompilationOperator>());
  return operators;
}

std::vector<Finding> RootCause::Diagnose(const CrossRankView& view) const {
  std::vector<Finding> claims;
  for (const auto& diagnosis_operator : operators_) {
    const size_t before = claims.size();
    diagnosis_operator->Evaluate(view, claims);
    for (size_t i = before; i < claims.size(); ++i) {
      claims[i].operator_name = diagnosis_operator->name();
      claims[i].operator_version = diagnosis_operator->version();
      NameRuntimeCalls(view, claims[i]);
    }
  }
  if (claims.empty()) return claims;
  DropOtherWordsForRecompilation(claims);
  claims = MergeByCulprit(std::move(claims));
  DropHostsOfOneSlowRank(claims);
  DropRanksOfSlowHosts(claims);
  DropStagesOfSlowRanks(claims, view.ranks().size());
  DropVaryingBesideRotation(claims);
  AssignImpacts(view, claims);
  std::vector<Finding> findings =
      MergeBySharedCause(MergeRoaming(std::move(claims), view.hosts().size()));
  DropExplainedByAll(findings);
  DropParts(findings);
  DropExplainedChanges(view, findings);
  const DataQuality quality = QualityOf(view);
  const double step_ns = StepLength(view);
  for (Finding& finding : findings) Complete(view, quality, step_ns, finding);
  std::sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return a.lost_ns_per_step != b.lost_ns_per_step ? a.lost_ns_per_step > b.lost_ns_per_step
                                                    : a.id < b.id;
  });
  return findings;
}

}  // namespace eroica
