#include "tests/evaluation/score/scored_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace eroica {
namespace {

constexpr size_t kNamesMax = 4;
constexpr size_t kFunctionColumns = 48;

std::string Listed(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kNamesMax);
  std::string text = fmt::format(
      "{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

// Ranks "5", links "3-17", hosts by name.
std::string Who(const std::vector<std::string>& ranks, const std::vector<std::string>& hosts) {
  if (!ranks.empty())
    return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", Listed(ranks));
  if (!hosts.empty())
    return fmt::format("{} {}", hosts.size() == 1 ? "host" : "hosts", Listed(hosts));
  return "nobody";
}

std::string RankName(int64_t rank, int32_t peer) {
  return peer < 0 ? fmt::format("{}", rank) : fmt::format("{}-{}", rank, peer);
}

std::string BriefOne(const ExpectedFinding& expected) {
  std::vector<std::string> kinds;
  for (const FindingKind kind : expected.kinds) kinds.emplace_back(ToString(kind));
  std::vector<std::string> ranks;
  for (const uint32_t rank : expected.ranks) ranks.push_back(RankName(rank, expected.peer_rank));
  std::string text = fmt::format("{}", fmt::join(kinds, " or "));
  if (!expected.subkinds.empty())
    text += fmt::format(" ({})", fmt::join(expected.subkinds, " or "));
  text += fmt::format(" of {}", Who(ranks, expected.hosts));
  if (!expected.functions.empty())
    text += fmt::format(" in {}", fmt::join(expected.functions, " or "));
  return text;
}

}  // namespace

std::string Brief(const SaidFinding& said) {
  const Finding& finding = said.finding;
  std::vector<std::string> ranks;
  std::vector<std::string> hosts;
  for (const Culprit& culprit : finding.culprits) {
    if (culprit.rank >= 0) {
      ranks.push_back(RankName(culprit.rank, culprit.peer));
    } else if (!culprit.host.empty()) {
      hosts.push_back(culprit.host);
    }
  }
  std::string text = fmt::format("{} of {}", ToString(finding.kind), Who(ranks, hosts));
  if (!finding.function.empty())
    text += fmt::format(" in {}", finding.function.substr(0, kFunctionColumns));
  return text + fmt::format(" (window {})", said.opened_window);
}

std::string Brief(const ExpectedFinding& expected) {
  std::string text = BriefOne(expected);
  for (const ExpectedFinding& alternative : expected.alternatives)
    text += ", or " + BriefOne(alternative);
  return text;
}

}  // namespace eroica
