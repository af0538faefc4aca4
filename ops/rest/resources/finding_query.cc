#include "ops/rest/resources/finding_query.h"

#include <limits>
#include <string>
#include <vector>

namespace eroica {
namespace {

constexpr size_t kReplayCharactersMax = 256;

// The names of an enum of which all values from 0 to count - 1 are known.
template <typename Enum>
std::vector<std::string> NamesOf(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.emplace_back(ToString(static_cast<Enum>(i)));
  return names;
}

}  // namespace

FindingQuery ReadStreamQuery(Parameters& parameters) {
  FindingQuery query;
  query.job = parameters.Text("job", kJobCharactersMax).value_or("");
  if (const auto severity = parameters.Choice("severity", NamesOf<Severity>(kSeverityCount)))
    query.severity_min = static_cast<Severity>(*severity);
  return query;
}

FindingView ReadFindingView(Parameters& parameters) {
  return static_cast<FindingView>(parameters.Choice("view", {"full", "brief"}).value_or(0));
}

FindingQuery ReadFindingQuery(Parameters& parameters) {
  FindingQuery query = ReadStreamQuery(parameters);
  constexpr StateFilter kStates[] = {StateFilter::kOpen, StateFilter::kOpened,
                                     StateFilter::kUpdated, StateFilter::kResolved};
  if (const auto state = parameters.Choice("state", {"open", "opened", "updated", "resolved"}))
    query.state = kStates[*state];
  if (const auto kind = parameters.Choice("kind", NamesOf<FindingKind>(kFindingKindCount)))
    query.kind = static_cast<FindingKind>(*kind);
  constexpr int64_t kRankMaxOfFindings = std::numeric_limits<int32_t>::max();
  if (const auto rank = parameters.OptionalInteger("rank", 0, kRankMaxOfFindings))
    query.rank = static_cast<int32_t>(*rank);
  query.since_ms = parameters.TimeMs("since");
  query.until_ms = parameters.TimeMs("until");
  query.replay_id = parameters.Text("replay", kReplayCharactersMax).value_or("");
  query.muted = parameters.Boolean("muted", true);
  return query;
}

}  // namespace eroica
