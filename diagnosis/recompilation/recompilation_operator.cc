#include "diagnosis/recompilation/recompilation_operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>

#include "diagnosis/measurements/compilation.h"
#include "diagnosis/report/duration_text.h"
#include "diagnosis/report/held_up.h"
#include "diagnosis/report/subkinds.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

struct Compilation {
  RankIndex rank = 0;
  double ns = 0;        // of the window
  double peers_ns = 0;  // median over the other ranks of its role
  uint32_t peers = 0;
  uint64_t times = 0;
  uint32_t steps = 0;  // in which it ran
};

// All of the time counts, not only critical time: where processors are short the compiler mostly
// waits for one.
void Add(const PatternBatch& batch, Compilation* sum) {
  for (const FunctionPattern& pattern : batch.patterns) {
    if (pattern.name != kCompiling) continue;
    sum->ns += static_cast<double>(pattern.total_ns);
    sum->times += pattern.count;
    sum->steps = std::max(sum->steps, pattern.active_steps);
  }
}

// By rank. Ranks without peers are left out: nothing shows what is usual for them.
std::vector<Compilation> CompilationsOf(const CrossRankView& view) {
  std::vector<Compilation> all;
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    all.push_back({.rank = i});
    if (view.ranks()[i].has_steps()) Add(*view.ranks()[i].batch, &all.back());
  }
  for (Compilation& own : all) {
    std::vector<double> peers;
    for (const Compilation& other : all) {
      const RankView& rank = view.ranks()[other.rank];
      if (other.rank != own.rank && rank.has_steps() && rank.role == view.ranks()[own.rank].role)
        peers.push_back(other.ns);
    }
    own.peers = static_cast<uint32_t>(peers.size());
    own.peers_ns = Median(std::span(peers));
  }
  return all;
}

std::vector<Victim> VictimsOf(const CrossRankView& view, const Compilation& compilation) {
  std::vector<Victim> victims;
  for (const RankView& rank : view.ranks()) {
    const double waited_ns = rank.step.wait_ns * rank.step.steps;
    if (rank.rank == view.ranks()[compilation.rank].rank || waited_ns <= 0) continue;
    victims.push_back(
        {.rank = rank.rank, .lost_ns = static_cast<int64_t>(std::min(waited_ns, compilation.ns))});
  }
  return victims;
}

Finding Describe(const CrossRankView& view, const Compilation& compilation,
                 const RecompilationOptions& options) {
  const RankView& rank = view.ranks()[compilation.rank];
  const double window_ns = rank.step.duration_ns * rank.step.steps;
  Finding finding;
  finding.kind = FindingKind::kSlowRank;
  finding.subkind = kRecompilation;
  finding.culprits = {CulpritOf(rank)};
  finding.victims = VictimsOf(view, compilation);
  finding.function = kCompiling;
  finding.function_class = FunctionClass::kPython;
  finding.lost_ns_per_step = (compilation.ns - compilation.peers_ns) / rank.step.steps;
  finding.confidence = 0.95;
  finding.first_step = rank.batch->steps.front().id;
  finding.last_step = rank.batch->steps.back().id;
  finding.evidence = {{"compilation", "ns", compilation.ns, compilation.peers_ns,
                       compilation.peers_ns + options.min_share * window_ns, compilation.peers},
                      {"compilations", "count", static_cast<double>(compilation.times), 0, 0,
                       rank.batch->steps.size()},
                      {"steps_with_compilation", "count", static_cast<double>(compilation.steps), 0,
                       0, rank.batch->steps.size()}};
  finding.title =
      fmt::format("Rank {} compiles again ({} time{}, {}) in steps {} to {}, its peers for {}.",
                  rank.rank.value, compilation.times, compilation.times == 1 ? "" : "s",
                  DurationText(compilation.ns), finding.first_step, finding.last_step,
                  DurationText(compilation.peers_ns));
  finding.explanation = fmt::format(
      "torch.compile ran its compiler on this rank's training thread in {} of {} steps, for {} of "
      "their time; the ranks that exchange data with it wait meanwhile.",
      compilation.steps, rank.batch->steps.size(), PercentText(compilation.ns / window_ns));
  finding.suggested_action = fmt::format(
      "TORCH_LOGS=recompiles on {} says which guard fails. Where it is a shape, mark it as dynamic "
      "(torch._dynamo.mark_dynamic), or pad inputs to few shapes.",
      PlaceOf(rank));
  return finding;
}

}  // namespace

void RecompilationOperator::Evaluate(const CrossRankView& view,
                                     std::vector<Finding>& findings) const {
  for (const Compilation& compilation : CompilationsOf(view)) {
    const double excess_ns = compilation.ns - compilation.peers_ns;
    const MeanStep& step = view.ranks()[compilation.rank].step;
    if (compilation.peers == 0 || compilation.ns <= 0) continue;
    if (excess_ns < options_.min_share * step.duration_ns * step.steps) continue;
    if (excess_ns < options_.min_specificity * compilation.ns) continue;
    findings.push_back(Describe(view, compilation, options_));
  }
}

void DropOtherWordsForRecompilation(std::vector<Finding>& claims) {
  std::set<int32_t> ranks;
  for (const Finding& claim : claims) {
    if (claim.subkind == kRecompilation) ranks.insert(claim.culprits.front().rank);
  }
  std::erase_if(claims, [&ranks](const Finding& claim) {
    return claim.subkind != kRecompilation && claim.culprits.size() == 1 &&
           ranks.contains(claim.culprits.front().rank) &&
           IsInCompiler(claim.stack + "\n" + claim.function);
  });
}

}  // namespace eroica
