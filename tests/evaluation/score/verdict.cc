#include "tests/evaluation/score/verdict.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace eroica {
namespace {

enum class CulpritMatch : uint8_t { kNone, kUnnamed, kPart, kRight };

// Who a finding names.
struct Named {
  std::set<uint32_t> ranks;
  std::set<std::string> hosts;       // of all culprits
  std::set<std::string> bare_hosts;  // named without a rank
  std::vector<std::pair<uint32_t, uint32_t>> links;
  bool nobody() const { return ranks.empty() && hosts.empty(); }
};

Named NamedBy(const Finding& finding) {
  Named named;
  for (const Culprit& culprit : finding.culprits) {
    if (!culprit.host.empty()) named.hosts.insert(culprit.host);
    if (culprit.rank < 0) {
      if (!culprit.host.empty()) named.bare_hosts.insert(culprit.host);
      continue;
    }
    named.ranks.insert(static_cast<uint32_t>(culprit.rank));
    if (culprit.peer >= 0) named.links.emplace_back(culprit.rank, culprit.peer);
  }
  return named;
}

template <typename T>
bool Overlap(const std::set<T>& a, const std::set<T>& b) {
  return std::any_of(a.begin(), a.end(), [&b](const T& value) { return b.contains(value); });
}

// The two hosts of a link, the lower first; the two ranks where they share a host or hosts are
// unknown.
std::pair<uint32_t, uint32_t> Ends(uint32_t a, uint32_t b, uint32_t ranks_per_host) {
  if (ranks_per_host > 0 && a / ranks_per_host != b / ranks_per_host) {
    a /= ranks_per_host;
    b /= ranks_per_host;
  }
  return std::minmax(a, b);
}

CulpritMatch MatchLink(const ExpectedFinding& expected, const Named& named,
                       uint32_t ranks_per_host) {
  const uint32_t peer = static_cast<uint32_t>(expected.peer_rank);
  std::set<uint32_t> ends(expected.ranks.begin(), expected.ranks.end());
  std::set<std::pair<uint32_t, uint32_t>> links;
  for (const uint32_t rank : expected.ranks) links.insert(Ends(rank, peer, ranks_per_host));
  ends.insert(peer);
  const bool all_right = std::all_of(
      named.links.begin(), named.links.end(), [&links, ranks_per_host](const auto& link) {
        return links.contains(Ends(link.first, link.second, ranks_per_host));
      });
  if (!named.links.empty() && named.links.size() >= named.ranks.size() && all_right)
    return CulpritMatch::kRight;
  for (const auto& [rank, other] : named.links) {
    if (ends.contains(rank) || ends.contains(other)) return CulpritMatch::kPart;
  }
  return Overlap(named.ranks, ends) ? CulpritMatch::kPart : CulpritMatch::kNone;
}

CulpritMatch MatchCulprits(const ExpectedFinding& expected, const Named& named,
                           uint32_t ranks_per_host) {
  const std::set<uint32_t> ranks(expected.ranks.begin(), expected.ranks.end());
  const std::set<std::string> hosts(expected.hosts.begin(), expected.hosts.end());
  if (ranks.empty() && hosts.empty())
    return named.nobody() ? CulpritMatch::kRight : CulpritMatch::kNone;
  if (named.nobody()) return CulpritMatch::kUnnamed;
  const bool only_expected = std::all_of(named.ranks.begin(), named.ranks.end(),
                                         [&ranks](uint32_t rank) { return ranks.contains(rank); });
  if (!hosts.empty() && named.hosts == hosts && (ranks.empty() || only_expected))
    return CulpritMatch::kRight;
  if (expected.peer_rank >= 0) return MatchLink(expected, named, ranks_per_host);
  if (!ranks.empty() && named.ranks == ranks) return CulpritMatch::kRight;
  std::set<uint32_t> touched = named.ranks;  // a link names both of its ends
  for (const auto& [rank, peer] : named.links) touched.insert(peer);
  const bool part =
      Overlap(touched, ranks) || Overlap(ranks.empty() ? named.hosts : named.bare_hosts, hosts);
  return part ? CulpritMatch::kPart : CulpritMatch::kNone;
}

bool MatchFunction(const ExpectedFinding& expected, const Finding& finding) {
  if (expected.functions.empty()) return true;
  return std::any_of(expected.functions.begin(), expected.functions.end(),
                     [&finding](const std::string& part) {
                       return finding.function.find(part) != std::string::npos ||
                              finding.stack.find(part) != std::string::npos;
                     });
}

bool MatchKind(const ExpectedFinding& expected, const Finding& finding) {
  const auto& kinds = expected.kinds;
  const auto& subkinds = expected.subkinds;
  return std::find(kinds.begin(), kinds.end(), finding.kind) != kinds.end() &&
         (subkinds.empty() ||
          std::find(subkinds.begin(), subkinds.end(), finding.subkind) != subkinds.end());
}

// Without its alternatives. Nothing where the finding has to do with something else.
std::optional<Agreement> CompareOne(const ExpectedFinding& expected, const Finding& finding,
                                    const Named& named, uint32_t ranks_per_host) {
  const CulpritMatch culprits = MatchCulprits(expected, named, ranks_per_host);
  if (culprits == CulpritMatch::kNone) return std::nullopt;
  const Agreement agreement{.rank = culprits == CulpritMatch::kRight,
                            .function = MatchFunction(expected, finding),
                            .kind = MatchKind(expected, finding)};
  const bool says_something_true = agreement.kind || finding.kind == FindingKind::kStepTime;
  if (culprits == CulpritMatch::kUnnamed && !says_something_true) return std::nullopt;
  return agreement;
}

// The most telling first.
std::tuple<bool, bool, bool> Shortcomings(const Agreement& agreement) {
  return {!agreement.rank, !agreement.function, !agreement.kind};
}

// With the expected finding or with the alternative that comes nearest.
std::optional<Agreement> Compare(const Truth& truth, const SaidFinding& said,
                                 uint32_t ranks_per_host) {
  const Finding& finding = said.finding;
  if (finding.last_window < truth.first_window) return std::nullopt;
  const Named named = NamedBy(finding);
  std::optional<Agreement> best = CompareOne(truth.expected, finding, named, ranks_per_host);
  for (const ExpectedFinding& alternative : truth.expected.alternatives) {
    const std::optional<Agreement> other = CompareOne(alternative, finding, named, ranks_per_host);
    if (other && (!best || Shortcomings(*other) < Shortcomings(*best))) best = other;
  }
  if (best && truth.expected.optional && !best->all()) return std::nullopt;
  return best;
}

struct Pair {
  Agreement agreement;
  size_t truth = 0;
  size_t said = 0;
  int64_t opened_window = 0;
};

// The better first; the earlier of equally good ones.
bool Better(const Pair& a, const Pair& b) {
  const auto key = [](const Pair& pair) {
    return std::tuple(Shortcomings(pair.agreement), pair.opened_window, pair.truth, pair.said);
  };
  return key(a) < key(b);
}

}  // namespace

size_t RunVerdict::false_findings() const {
  return static_cast<size_t>(std::count_if(said.begin(), said.end(),
                                           [](const SaidVerdict& one) { return one.truth < 0; }));
}

size_t RunVerdict::repetitions() const {
  return static_cast<size_t>(
      std::count_if(said.begin(), said.end(), [](const SaidVerdict& one) { return one.repeats; }));
}

bool RunVerdict::right() const {
  return false_findings() == 0 &&
         std::all_of(truths.begin(), truths.end(),
                     [](const TruthVerdict& one) { return !one.required || one.agreement.all(); });
}

bool RunVerdict::quiet() const {
  return std::none_of(truths.begin(), truths.end(),
                      [](const TruthVerdict& one) { return one.required; });
}

RunVerdict Judge(std::span<const Truth> truths, std::span<const SaidFinding> said,
                 uint32_t ranks_per_host) {
  RunVerdict verdict{.truths = std::vector<TruthVerdict>(truths.size()),
                     .said = std::vector<SaidVerdict>(said.size())};
  std::vector<Pair> pairs;
  for (size_t t = 0; t < truths.size(); ++t) {
    verdict.truths[t].required = !truths[t].expected.optional;
    for (size_t s = 0; s < said.size(); ++s) {
      if (const auto agreement = Compare(truths[t], said[s], ranks_per_host))
        pairs.push_back({*agreement, t, s, said[s].opened_window});
    }
  }
  std::sort(pairs.begin(), pairs.end(), Better);
  for (const Pair& pair :
       pairs) {  // each finding stands for one expected finding, the best pairs choose first
    TruthVerdict& truth = verdict.truths[pair.truth];
    SaidVerdict& one = verdict.said[pair.said];
    if (truth.said >= 0 || one.truth >= 0) continue;
    truth.said = static_cast<int>(pair.said);
    truth.agreement = pair.agreement;
    one.truth = static_cast<int>(pair.truth);
    one.agreement = pair.agreement;
  }
  for (const Pair& pair : pairs) {
    SaidVerdict& one = verdict.said[pair.said];
    if (one.truth < 0)
      one = {.truth = static_cast<int>(pair.truth), .repeats = true, .agreement = pair.agreement};
    if (one.truth != static_cast<int>(pair.truth) || !pair.agreement.culprit()) continue;
    TruthVerdict& truth = verdict.truths[pair.truth];
    const Truth& expected = truths[pair.truth];
    const int64_t windows = std::max<int64_t>(
        1, pair.opened_window - expected.shown_window.value_or(expected.first_window) + 1);
    if (truth.windows < 0 || windows < truth.windows) truth.windows = windows;
  }
  return verdict;
}

}  // namespace eroica
