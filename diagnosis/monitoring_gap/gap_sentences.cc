#include "diagnosis/monitoring_gap/gap_sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "diagnosis/report/duration_text.h"

namespace eroica {
namespace {

constexpr double kSilent = 0.9;        // of the steps: nothing comes any more
constexpr size_t kMostInSentence = 8;  // ranks
constexpr size_t kMostMeasures = 32;   // rows of evidence

std::string HostList(const std::vector<GapOfRank>& ranks) {
  std::set<std::string> hosts;
  for (const GapOfRank& rank : ranks) {
    if (!rank.host.empty()) hosts.insert(rank.host);
  }
  if (hosts.empty()) return "their hosts";
  std::string list;
  size_t named = 0;
  for (const std::string& host : hosts) {
    if (++named > kMostInSentence)
      return fmt::format("hosts {} and {} more", list, hosts.size() - kMostInSentence);
    list += (list.empty() ? "" : ", ") + host;
  }
  return fmt::format("host{} {}", hosts.size() == 1 ? "" : "s", list);
}

std::string ShareText(const std::vector<GapOfRank>& ranks) {
  const auto [least, most] = std::minmax_element(
      ranks.begin(), ranks.end(), [](const auto& a, const auto& b) { return a.share < b.share; });
  if (PercentText(least->share) == PercentText(most->share)) return PercentText(most->share);
  return fmt::format("{} to {}", PercentText(least->share), PercentText(most->share));
}

}  // namespace

std::string RankNumbers(const std::vector<RankId>& ranks) {
  std::string list;
  for (size_t i = 0; i < std::min(ranks.size(), kMostInSentence); ++i)
    list += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i].value);
  if (ranks.size() > kMostInSentence)
    list += fmt::format(" and {} more", ranks.size() - kMostInSentence);
  return list;
}

void Tell(const GapStory& story, Finding* finding) {
  const size_t count = story.ranks.size();
  const char* plural = count == 1 ? "" : "s";
  const auto silent = static_cast<size_t>(std::count_if(
      story.ranks.begin(), story.ranks.end(), [](const auto& r) { return r.share >= kSilent; }));
  int64_t since = story.window;
  std::vector<RankId> ranks;
  for (const GapOfRank& rank : story.ranks) {
    since = std::min(since, rank.since);
    ranks.push_back(rank.rank);
  }
  for (size_t i = 0; i < std::min(count, kMostMeasures); ++i) {
    const GapOfRank& rank = story.ranks[i];
    finding->evidence.push_back({fmt::format("steps_missing_of_rank_{}", rank.rank.value), "ratio",
                                 rank.share, story.usual_share, story.threshold,
                                 static_cast<uint64_t>(story.steps + 0.5)});
  }
  finding->severity = silent > 0 ? Severity::kMinor : Severity::kInfo;
  finding->confidence = 0.95;
  finding->title = fmt::format(
      "The telemetry of {} rank{} has gaps: {} of the steps of rank{} {} are missing since window "
      "{}.",
      count, plural, ShareText(story.ranks), plural, RankNumbers(ranks), since);
  finding->explanation = fmt::format(
      "The job ran these steps, since the other ranks tell of them (of theirs {} are missing). "
      "Whether {} slow in the missing steps cannot be judged, and a fault of {} may be seen late "
      "or not at all. Nothing says that {} slow: nobody is blamed.{}",
      PercentText(story.usual_share), count == 1 ? "this rank was" : "these ranks were",
      count == 1 ? "it" : "theirs", count == 1 ? "it is" : "they are",
      silent > 0 ? fmt::format(" {} of them send{} nothing at all.", silent, silent == 1 ? "s" : "")
                 : "");
  finding->suggested_action = fmt::format(
      "Look at the producers on {}: full queues, a collector that stopped, the way to the broker. "
      "Training itself goes on as ever.",
      HostList(story.ranks));
}

}  // namespace eroica
