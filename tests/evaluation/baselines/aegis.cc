#include "tests/evaluation/baselines/aegis.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "diagnosis/report/duration_text.h"
#include "tests/evaluation/baselines/claim.h"
#include "tests/evaluation/baselines/slow_connections.h"

namespace eroica {
namespace {

constexpr double kShortDuration = 0.8;
constexpr double kSlowFactor = kAegisSlowFactor;

std::string NameOf(const CollectiveSummary& summary) {
  if (!summary.communicator_description.empty()) return summary.communicator_description;
  return summary.communicator_name.empty() ? fmt::format("{:016x}", summary.communicator.value)
                                           : summary.communicator_name;
}

// Those who launched less than the most that any member of the communicator did.
std::vector<RankId> LaunchedLess(const CollectiveSummary& summary) {
  const auto launched = [](const MemberSummary& member) {
    return member.count + member.incomplete;
  };
  uint64_t most = 0;
  for (const MemberSummary& member : summary.members) most = std::max(most, launched(member));
  std::vector<RankId> ranks = summary.missing;
  for (const MemberSummary& member : summary.members) {
    const bool missing = std::find(summary.missing.begin(), summary.missing.end(), member.rank) !=
                         summary.missing.end();
    if (!missing && launched(member) < most) ranks.push_back(member.rank);
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

std::vector<Claim> Hangs(const CrossRankView& view) {
  std::vector<Claim> claims;
  std::set<std::vector<RankId>> said;
  for (const CollectiveSummary& summary : view.summaries()) {
    if (summary.incomplete == 0) continue;
    Claim claim{
        .kind = FindingKind::kHang, .subkind = "computation", .ranks = LaunchedLess(summary)};
    if (claim.ranks.empty() || !said.insert(claim.ranks).second) continue;
    claim.evidence = {{"incomplete_operations", "count", static_cast<double>(summary.incomplete), 0,
                       0, summary.operations + summary.incomplete}};
    claim.title = fmt::format(
        "On communicator {} {} launched fewer operations than the others; {} were never completed.",
        NameOf(summary), RankList(claim.ranks), summary.incomplete);
    claims.push_back(std::move(claim));
  }
  return claims;
}

// The communicator on which a rank's duration was shortest against the members' mean.
struct Short {
  const CollectiveSummary* summary = nullptr;
  double duration_ns = 0;
  double mean_ns = 0;
  double ratio() const { return duration_ns / mean_ns; }
};

std::vector<Claim> SlowComputing(const CrossRankView& view) {
  std::map<RankId, Short> by_rank;
  for (const CollectiveSummary& summary : view.summaries()) {
    if (summary.operations == 0 || summary.members.size() < 2) continue;
    const auto operations = static_cast<double>(summary.operations);
    const auto duration = [&](const MemberSummary& m) {
      return (static_cast<double>(m.wait_ns) + static_cast<double>(summary.transfer_ns)) /
             operations;
    };
    double mean = 0;
    for (const MemberSummary& member : summary.members)
      mean += duration(member) / static_cast<double>(summary.members.size());
    for (const MemberSummary& member : summary.members) {
      const Short found{&summary, duration(member), mean};
      if (!(found.duration_ns < kShortDuration * mean)) continue;
      const auto [it, is_new] = by_rank.try_emplace(member.rank, found);
      if (!is_new && found.ratio() < it->second.ratio()) it->second = found;
    }
  }
  std::vector<std::pair<RankId, Short>> worst(by_rank.begin(), by_rank.end());
  std::stable_sort(worst.begin(), worst.end(), [](const auto& a, const auto& b) {
    return a.second.ratio() < b.second.ratio();
  });
  std::vector<Claim> claims;
  for (const auto& [rank, found] : worst) {
    Claim claim{.subkind = "computation", .ranks = {rank}};
    claim.evidence = {{"collective_duration", "ns", found.duration_ns, found.mean_ns,
                       kShortDuration * found.mean_ns, found.summary->operations}};
    claim.title = fmt::format(
        "{} computes slowly: it spends {} in a collective of communicator {}, where the mean is "
        "{}.",
        RankList(claim.ranks), DurationText(found.duration_ns), NameOf(*found.summary),
        DurationText(found.mean_ns));
    claims.push_back(std::move(claim));
  }
  return claims;
}

bool IsFabric(Resource resource) {
  return resource == Resource::kNic || resource == Resource::kPcieTx ||
         resource == Resource::kNvlink;
}

void AddSlowSenders(const CrossRankView& view, const FunctionColumn& column,
                    std::set<SlowConnection>* slow) {
  if (column.sample->function_class != FunctionClass::kCollective) return;
  std::vector<size_t> measured;
  double mean = 0;
  for (size_t i = 0; i < column.size(); ++i) {
    if (column.pattern[i]->resource_samples == 0 || !IsFabric(column.pattern[i]->resource))
      continue;
    measured.push_back(i);
    mean += column.pattern[i]->mu;
  }
  if (measured.empty()) return;
  mean /= static_cast<double>(measured.size());
  for (const size_t i : measured) {
    if (column.pattern[i]->mu * kSlowFactor < mean)
      slow->insert({.source = view.ranks()[column.rank[i]].rank.value});
  }
}

double DelayOf(const PairSummary& pair) {
  return pair.count == 0 ? 0
                         : static_cast<double>(std::min(pair.send_wait_ns, pair.receive_wait_ns)) /
                               static_cast<double>(pair.count);
}

void AddSlowPairs(const CollectiveSummary& summary, std::set<SlowConnection>* slow) {
  double mean = 0;
  for (const PairSummary& pair : summary.pairs)
    mean += DelayOf(pair) / static_cast<double>(summary.pairs.size());
  for (const PairSummary& pair : summary.pairs) {
    if (DelayOf(pair) > kSlowFactor * mean)
      slow->insert({pair.source.value, pair.destination.value});
  }
}

RankId AsRank(int64_t rank) { return RankId{static_cast<uint32_t>(rank)}; }

std::vector<Claim> SlowCommunication(const CrossRankView& view) {
  std::set<SlowConnection> slow;
  if (HasConnections(view)) {
    slow = FindSlowConnections(view);
  } else {
    for (const FunctionColumn& column : view.functions()) AddSlowSenders(view, column, &slow);
    for (const CollectiveSummary& summary : view.summaries()) AddSlowPairs(summary, &slow);
  }
  if (slow.empty()) return {};
  const MatrixReading reading = ReadMatrix(slow);
  Claim claim{.kind = FindingKind::kCommunication, .subkind = "network"};
  std::string where = "the network";
  if (reading.rank >= 0) claim.ranks = {AsRank(reading.rank)};
  switch (reading.shape) {
    case MatrixShape::kLink:
      claim.subkind = "link";
      claim.peer = static_cast<int32_t>(reading.peer);
      where = fmt::format("the link from rank {} to rank {}", reading.rank, reading.peer);
      break;
    case MatrixShape::kSender:
      claim.subkind = "sender";
      where = fmt::format("the sending side of rank {}", reading.rank);
      break;
    case MatrixShape::kReceiver:
      claim.subkind = "receiver";
      where = fmt::format("the receiving side of rank {}", reading.rank);
      break;
    case MatrixShape::kRank:
      claim.subkind = "rank";
      where = fmt::format("all that rank {} sends and receives", reading.rank);
      break;
    case MatrixShape::kNetwork: break;
  }
  claim.evidence = {
      {"slow_connections", "count", static_cast<double>(slow.size()), 0, 0, slow.size()}};
  claim.title = fmt::format("{} slow connections (beyond {:.1f} times the mean): {}.", slow.size(),
                            kSlowFactor, where);
  return {std::move(claim)};
}

}  // namespace

void AegisBaseline::Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const {
  for (const auto& rule : {Hangs, SlowComputing, SlowCommunication}) {
    for (Claim& claim : rule(view)) findings.push_back(ToFinding(view, *this, std::move(claim)));
  }
}

}  // namespace eroica
