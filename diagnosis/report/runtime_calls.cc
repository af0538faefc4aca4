#include "diagnosis/report/runtime_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/measurements/mean_step.h"
#include "diagnosis/report/duration_text.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

constexpr double kMinCoverage = 0.5;  // of what is lost, by all calls together
constexpr double kWorthNaming = 0.1;  // of their time, by one of them

struct Call {
  const FunctionPattern* pattern = nullptr;
  double own_ns = 0;    // a step
  double peers_ns = 0;  // median, a step
  double excess_ns() const { return own_ns - peers_ns; }
};

bool IsBelowFrame(const FunctionPattern& pattern) {
  return pattern.function_class == FunctionClass::kCpuOp && pattern.wait == WaitKind::kNone &&
         pattern.critical_ns == 0 && pattern.total_ns > 0;
}

double PeersOf(const CrossRankView& view, const RankView& rank, FunctionId function) {
  std::vector<double> times(view.ranks().size(), 0);
  if (const FunctionColumn* column = view.FindFunction(function)) {
    for (size_t i = 0; i < column->size(); ++i) {
      times[column->rank[i]] =
          PerStep(view.ranks()[column->rank[i]].step, column->pattern[i]->total_ns);
    }
  }
  std::vector<double> peers;
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    const RankView& other = view.ranks()[i];
    if (other.rank != rank.rank && other.role == rank.role && !other.silent)
      peers.push_back(times[i]);
  }
  return peers.empty() ? 0 : Median(std::span(peers));
}

// The longest first.
std::vector<Call> CallsOf(const CrossRankView& view, const RankView& rank) {
  std::vector<Call> calls;
  for (const FunctionPattern& pattern : rank.batch->patterns) {
    if (!IsBelowFrame(pattern)) continue;
    const Call call{.pattern = &pattern,
                    .own_ns = PerStep(*rank.batch, pattern.total_ns),
                    .peers_ns = PeersOf(view, rank, pattern.function)};
    if (call.excess_ns() > 0) calls.push_back(call);
  }
  std::stable_sort(calls.begin(), calls.end(),
                   [](const Call& a, const Call& b) { return a.excess_ns() > b.excess_ns(); });
  return calls;
}

bool IsMemoryCall(std::string_view name) {
  return name.find("Malloc") != std::string_view::npos ||
         name.find("Free") != std::string_view::npos;
}

std::string ActionFor(std::string_view call, uint32_t rank) {
  if (IsMemoryCall(call)) {
    return fmt::format(
        "The allocator of rank {} gives memory back to the driver and asks for it anew: its "
        "memory is short or fragmented. Look for sizes that vary from step to step there, leave "
        "more room, or let segments grow (expandable_segments).",
        rank);
  }
  return fmt::format("Look at what makes {} block on rank {}.", call, rank);
}

}  // namespace

void NameRuntimeCalls(const CrossRankView& view, Finding& claim) {
  if (claim.kind != FindingKind::kSlowRank || claim.culprits.size() != 1 ||
      claim.culprits[0].rank < 0)
    return;
  if (claim.function_class != FunctionClass::kPython || claim.function.empty()) return;
  const RankView* rank = view.FindRank(RankId{static_cast<uint32_t>(claim.culprits[0].rank)});
  if (rank == nullptr) return;
  const std::vector<Call> calls = CallsOf(view, *rank);
  Call all;
  for (const Call& call : calls) {
    all.own_ns += call.own_ns;
    all.peers_ns += call.peers_ns;
  }
  if (calls.empty() || all.excess_ns() < kMinCoverage * claim.lost_ns_per_step) return;
  std::string names;
  uint64_t count = 0;
  for (const Call& call : calls) {
    if (call.excess_ns() < kWorthNaming * all.excess_ns()) break;
    names += (names.empty() ? "" : " and ") + call.pattern->name;
    count += call.pattern->count;
  }
  claim.stack += (claim.stack.empty() ? "" : std::string(kStackSeparator)) + claim.function;
  claim.title +=
      fmt::format(" That time goes into {}, {} a step.", names, DurationText(all.own_ns));
  claim.function = calls.front().pattern->name;
  claim.function_class = FunctionClass::kCpuOp;
  claim.evidence.push_back({"runtime_calls_per_step", "ns", all.own_ns, all.peers_ns,
                            all.peers_ns + kMinCoverage * claim.lost_ns_per_step, count});
  claim.suggested_action = ActionFor(claim.function, rank->rank.value);
}

}  // namespace eroica
