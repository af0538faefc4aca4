#include "ops/cli/finding_filter.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "ops/cli/flag_values.h"
#include "ops/cli/time_text.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

template <typename Enum>
std::vector<std::string> NamesOf(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.emplace_back(ToString(static_cast<Enum>(i)));
  return names;
}

// name: one of NamesOf.
template <typename Enum>
Enum ValueOf(const std::string& name, int count) {
  int value = 0;
  while (value + 1 < count && ToString(static_cast<Enum>(value)) != name) ++value;
  return static_cast<Enum>(value);
}

// Where no time of the job is known, when it was said.
int64_t LastHeardNs(const Finding& finding) {
  return IsTimeOfDay(finding.last_seen_ns) ? finding.last_seen_ns : finding.emitted_at_ns;
}

CLI::Validator Time() {
  const auto check = [](std::string& text) -> std::string {
    const absl::StatusOr<int64_t> time = ParseTimeMs(text, NowMs());
    return time.ok() ? "" : std::string(time.status().message());
  };
  return CLI::Validator(check, "");
}

}  // namespace

bool FindingFilter::Wants(const Finding& finding) const {
  if (!job.empty() && finding.job.value != job) return false;
  if (LastHeardNs(finding) / kNsPerMs < since_ms || finding.severity < least) return false;
  if (only_open && finding.state == FindingState::kResolved) return false;
  if (!kinds.empty() && std::ranges::find(kinds, finding.kind) == kinds.end()) return false;
  const auto is_meant = [this](const Culprit& culprit) { return culprit.rank == rank; };
  return rank < 0 || std::ranges::any_of(finding.culprits, is_meant);
}

void AddFilterFlags(CLI::App& command, FindingFilter* filter) {
  command.add_option("--job", filter->job, "Only of this job")->type_name("JOB");
  command
      .add_option_function<std::string>(
          "--since",
          [filter](const std::string& text) { filter->since_ms = *ParseTimeMs(text, NowMs()); },
          "Only what was seen since then: 30m, 2h, 3d, or a time such as '2026-11-24 10:00' (UTC)")
      ->type_name("TIME")
      ->check(Time());
  command
      .add_option_function<std::string>(
          "--severity",
          [filter](const std::string& name) {
            filter->least = ValueOf<Severity>(name, kSeverityCount);
          },
          "Only of this severity and above: info, minor, major, critical")
      ->type_name("LEVEL")
      ->check(OneOf(NamesOf<Severity>(kSeverityCount)));
  command.add_flag("--open", filter->only_open, "Only what is not resolved");
  command
      .add_option_function<std::vector<std::string>>(
          "--kind",
          [filter](const std::vector<std::string>& names) {
            for (const std::string& name : names)
              filter->kinds.push_back(ValueOf<FindingKind>(name, kFindingKindCount));
          },
          "Only of these kinds; docs/FINDINGS.md has a section for each")
      ->type_name("KIND,...")
      ->delimiter(',')
      ->check(OneOf(NamesOf<FindingKind>(kFindingKindCount)));
  command.add_option("--rank", filter->rank, "Only with this rank as a culprit")
      ->type_name("RANK")
      ->check(WholeNumber(0, (1 << 20) - 1));
}

void SortByWeight(std::vector<Finding>* findings) {
  const auto weight = [](const Finding& finding) {
    return std::make_tuple(finding.state == FindingState::kResolved,
                           -static_cast<int>(finding.severity), -finding.lost_ns_per_step,
                           -finding.lost_gpu_seconds_per_hour);
  };
  std::ranges::stable_sort(*findings, [&](const Finding& a, const Finding& b) {
    return std::make_tuple(weight(a), std::cref(a.job.value), std::cref(a.id)) <
           std::make_tuple(weight(b), std::cref(b.job.value), std::cref(b.id));
  });
}

}  // namespace eroica
