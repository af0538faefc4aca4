#include "tests/evaluation/real/real_verdict.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace eroica {
namespace {

// By these words a sentence that blames nobody by name is known to suspect ranks that are not
// recorded, and to leave undecided what is wrong.
constexpr std::array<std::string_view, 2> kOfUnrecorded = {"ranks that are not", "first suspect"};
constexpr std::array<std::string_view, 1> kUndecided = {"undecided"};

template <size_t N>
bool Says(const std::string& sentence, const std::array<std::string_view, N>& words) {
  return std::ranges::any_of(words, [&sentence](std::string_view word) {
    return sentence.find(word) != std::string::npos;
  });
}

bool BlamesNobody(const Finding& finding) { return finding.culprits.empty(); }

// Of culprits and the other ends of links; nothing where a host is named without a rank.
std::optional<std::set<uint32_t>> NamedRanks(const Finding& finding) {
  std::set<uint32_t> ranks;
  for (const Culprit& culprit : finding.culprits) {
    if (culprit.rank < 0) return std::nullopt;
    ranks.insert(static_cast<uint32_t>(culprit.rank));
    if (culprit.peer >= 0) ranks.insert(static_cast<uint32_t>(culprit.peer));
  }
  return ranks;
}

bool IsRecorded(const RealTruth& truth, uint32_t rank) {
  return std::binary_search(truth.ranks.begin(), truth.ranks.end(), rank);
}

bool HasKind(const ExpectedFinding& expected, const Finding& finding) {
  return std::ranges::find(expected.kinds, finding.kind) != expected.kinds.end();
}

bool BlamesOnlyGuilty(const RealTruth& truth, const Finding& finding) {
  const std::optional<std::set<uint32_t>> named = NamedRanks(finding);
  return named && !named->empty() && std::ranges::includes(truth.guilty, *named);
}

// Whether it names ranks that are not recorded, and no others, one of `suspects` among them.
bool SuspectsUnrecorded(const RealTruth& truth, const std::vector<uint32_t>& suspects,
                        const Finding& finding) {
  const std::optional<std::set<uint32_t>> named = NamedRanks(finding);
  if (!named) return false;
  const bool spares_recorded =
      std::ranges::none_of(*named, [&truth](uint32_t rank) { return IsRecorded(truth, rank); });
  return spares_recorded &&
         std::ranges::any_of(suspects, [&named](uint32_t rank) { return named->contains(rank); });
}

// How near a finding comes to what was to be said; nothing where it has nothing to do with it.
using Nearness = std::optional<RealOutcome>;

// Nobody is to be blamed: the kind is what is to be said.
Nearness NearnessOfKind(const RealTruth& truth, const Finding& finding,
                        const Agreement& agreement) {
  if (!agreement.kind) {
    if (finding.kind == FindingKind::kStepTime) return RealOutcome::kUnsure;
    return std::nullopt;
  }
  if (agreement.function || (!truth.stacks && finding.function.empty())) return RealOutcome::kRight;
  // Where all ranks are slower, the function is what is blamed.
  const bool blames_another = finding.kind == FindingKind::kRegression && !finding.function.empty();
  return blames_another ? Nearness() : RealOutcome::kPartly;
}

// Somebody is to blame and the finding, right in kind, blames nobody.
RealOutcome NearnessOfUnnamed(const Finding& finding) {
  const bool undecided = finding.kind == FindingKind::kStepTime || Says(finding.title, kUndecided);
  return undecided ? RealOutcome::kUnsure : RealOutcome::kPartly;
}

// One that has no alternatives.
Nearness NearnessToOne(const ExpectedFinding& expected, const RealTruth& truth,
                       const SaidFinding& said) {
  const Finding& finding = said.finding;
  const bool nobody_to_blame = expected.ranks.empty();
  if (BlamesNobody(finding) && Says(finding.title, kOfUnrecorded))
    return nobody_to_blame && !truth.all_recorded ? Nearness(RealOutcome::kRight) : Nearness();
  const Truth whole{.expected = expected, .first_window = truth.first_window};
  const RunVerdict verdict = Judge({&whole, 1}, {&said, 1}, truth.ranks_per_host);
  const SaidVerdict& one = verdict.said.front();
  if (one.truth < 0) return std::nullopt;
  if (nobody_to_blame) return NearnessOfKind(truth, finding, one.agreement);
  if (BlamesNobody(finding)) return NearnessOfUnnamed(finding);
  const bool is_link = one.agreement.rank && expected.peer_rank >= 0;
  if (!is_link && !BlamesOnlyGuilty(truth, finding)) return std::nullopt;
  if (!one.agreement.rank) return RealOutcome::kPartly;
  const bool function = one.agreement.function || (!truth.stacks && finding.function.empty());
  return function && one.agreement.kind ? RealOutcome::kRight : RealOutcome::kPartly;
}

Nearness NearnessToUnrecordedOne(const ExpectedFinding& expected, const RealTruth& truth,
                                 const SaidFinding& said) {
  const Finding& finding = said.finding;
  if (finding.last_window < truth.first_window) return std::nullopt;
  if (expected.peer_rank >= 0) {  // its other end may be recorded, and tell of it
    if (const Nearness nearness = NearnessToOne(expected, truth, said)) return nearness;
  }
  if (BlamesNobody(finding)) {
    if (Says(finding.title, kOfUnrecorded)) return RealOutcome::kRight;
    const bool true_as_such = HasKind(expected, finding) || finding.kind == FindingKind::kStepTime;
    return true_as_such ? Nearness(NearnessOfUnnamed(finding)) : Nearness();
  }
  return SuspectsUnrecorded(truth, expected.ranks, finding) ? RealOutcome::kRight : Nearness();
}

// The expected finding and its alternatives, each alone.
std::vector<ExpectedFinding> EachOf(ExpectedFinding expected) {
  std::vector<ExpectedFinding> each = std::move(expected.alternatives);
  expected.alternatives.clear();
  each.insert(each.begin(), std::move(expected));
  return each;
}

// To the nearest alternative. What is optional is right in everything or has nothing to do with it.
template <typename NearnessToAlternative>
Nearness Nearest(const ExpectedFinding& expected, NearnessToAlternative nearness_to) {
  Nearness nearest;
  for (const ExpectedFinding& one : EachOf(expected)) {
    const Nearness nearness = nearness_to(one);
    if (nearness && (!nearest || *nearness < *nearest)) nearest = nearness;
  }
  return expected.optional && nearest != RealOutcome::kRight ? Nearness() : nearest;
}

void Improve(Nearness by, RealOutcome* outcome, bool* belongs) {
  if (!by) return;
  *outcome = std::min(*outcome, *by);
  *belongs = true;
}

}  // namespace

std::string_view ToString(RealOutcome outcome) {
  switch (outcome) {
    case RealOutcome::kRight: return "right";
    case RealOutcome::kPartly: return "partly";
    case RealOutcome::kUnsure: return "unsure";
    case RealOutcome::kMissed: return "missed";
    case RealOutcome::kWrong: return "wrong";
  }
  return "unknown";
}

RealTruth TruthOf(const RealJob& job, const Variation& variation) {
  RealTruth truth{.ranks = variation.ranks,
                  .all_recorded = variation.part == RecordedPart::kAll,
                  .stacks = variation.stacks,
                  .ranks_per_host = job.ranks_per_host};
  if (variation.step_marks == StepMarks::kKept)
    truth.first_window = job.from_step / variation.window_steps;
  truth.healthy = job.healthy();
  for (const ExpectedFinding& expected : job.expected) {
    std::vector<ExpectedFinding> visible;  // of its alternatives
    for (ExpectedFinding& one : EachOf(expected)) {
      std::ranges::copy(one.ranks, std::back_inserter(truth.guilty));
      if (one.peer_rank >= 0) truth.guilty.push_back(static_cast<uint32_t>(one.peer_rank));
      const bool blames = !one.ranks.empty();
      std::erase_if(one.ranks, [&truth](uint32_t rank) { return !IsRecorded(truth, rank); });
      if (!blames || !one.ranks.empty()) visible.push_back(std::move(one));
    }
    if (visible.empty()) {
      truth.unrecorded.push_back(expected);
      continue;
    }
    ExpectedFinding& recorded = truth.recorded.emplace_back(visible.front());
    recorded.optional = expected.optional;
    recorded.alternatives.assign(std::make_move_iterator(visible.begin() + 1),
                                 std::make_move_iterator(visible.end()));
  }
  std::ranges::sort(truth.guilty);
  return truth;
}

namespace {

bool SuspectsMissing(const CaptureGaps& gaps) {
  return std::ranges::any_of(
      gaps.sentences, [](const std::string& sentence) { return Says(sentence, kOfUnrecorded); });
}

// That missing ranks are suspected is right of faults of theirs, and of those that are nobody's, to
// which they may have their part. outcomes: of the recorded ones, then of the others. Whether it is
// right of any.
bool ImproveSuspected(const RealTruth& truth, std::vector<RealOutcome>& outcomes) {
  bool any = false;
  for (size_t t = 0; t < outcomes.size(); ++t) {
    const bool of_missing =
        t >= truth.recorded.size() || (truth.recorded[t].ranks.empty() && !truth.all_recorded);
    if (of_missing) outcomes[t] = RealOutcome::kRight;
    any = any || of_missing;
  }
  return any;
}

// Of all that had to be said. What is said of one fault is no silence on another.
RealOutcome Together(const RealTruth& truth, std::span<const RealOutcome> outcomes,
                     bool cannot_tell) {
  RealOutcome best = RealOutcome::kWrong;
  RealOutcome worst = RealOutcome::kRight;
  for (size_t t = 0; t < outcomes.size(); ++t) {
    const size_t recorded = truth.recorded.size();
    if (t < recorded ? truth.recorded[t].optional : truth.unrecorded[t - recorded].optional)
      continue;
    const RealOutcome outcome =
        cannot_tell ? std::min(outcomes[t], RealOutcome::kUnsure) : outcomes[t];
    best = std::min(best, outcome);
    worst = std::max(worst, outcome);
  }
  return worst == RealOutcome::kMissed && best != worst ? std::max(best, RealOutcome::kPartly)
                                                        : worst;
}

}  // namespace

RealVerdict JudgeReal(const RealTruth& truth, std::span<const SaidFinding> said,
                      const CaptureGaps& gaps) {
  RealVerdict verdict{.wrong = std::vector<bool>(said.size())};
  const size_t recorded = truth.recorded.size();
  std::vector<RealOutcome> outcomes(recorded + truth.unrecorded.size(), RealOutcome::kMissed);
  bool any_wrong = false;
  for (size_t i = 0; i < said.size(); ++i) {
    const Finding& finding = said[i].finding;
    if (finding.kind == FindingKind::kMonitoringGap) continue;
    bool belongs = false;
    for (size_t t = 0; t < outcomes.size(); ++t) {
      const ExpectedFinding& expected =
          t < recorded ? truth.recorded[t] : truth.unrecorded[t - recorded];
      Improve(Nearest(expected,
                      [&](const ExpectedFinding& one) {
                        return t < recorded ? NearnessToOne(one, truth, said[i])
                                            : NearnessToUnrecordedOne(one, truth, said[i]);
                      }),
              &outcomes[t], &belongs);
    }
    // Of several culprits of one fault, one that is not recorded: it need not be named, but may be.
    const bool in_time = !truth.healthy && finding.last_window >= truth.first_window;
    belongs = belongs || (in_time && (BlamesOnlyGuilty(truth, finding) ||
                                      SuspectsUnrecorded(truth, truth.guilty, finding)));
    verdict.wrong[i] = !belongs;
    any_wrong = any_wrong || !belongs;
  }
  if (SuspectsMissing(gaps)) verdict.wrong_suspects = !ImproveSuspected(truth, outcomes);
  const bool cannot_tell = said.empty() && gaps.undecided;
  verdict.outcome = truth.healthy ? (cannot_tell ? RealOutcome::kUnsure : RealOutcome::kRight)
                                  : Together(truth, outcomes, cannot_tell);
  // Whoever reads who it is reads further down that others are suspected.
  const bool found = !truth.healthy && verdict.outcome <= RealOutcome::kPartly;
  if (verdict.wrong_suspects) verdict.outcome = found ? RealOutcome::kPartly : RealOutcome::kWrong;
  if (any_wrong) verdict.outcome = RealOutcome::kWrong;
  return verdict;
}

}  // namespace eroica
