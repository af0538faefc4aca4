#include "ops/cli/replay_gaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "stream_ops/recording/file.h"

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

std::string PathOf(const std::string& folder) { return folder + "/gaps.json"; }

Json JsonOf(const CaptureGaps& gaps) {
  return {{"undecided", gaps.undecided}, {"sentences", gaps.sentences}};
}

CaptureGaps GapsOf(const Json& json) {
  return {.sentences = json.at("sentences").get<std::vector<std::string>>(),
          .undecided = json.at("undecided").get<bool>()};
}

CaptureGaps TakenUpAgain() {
  return {.sentences = {"This replay was stopped and taken up again: what its first part covers of "
                        "the ranks is not known. Replay it once more, into another folder."},
          .undecided = true};
}

}  // namespace

ReplayGaps FindReplayGaps(const std::map<std::string, JobCoverage>& coverages,
                          const std::vector<Finding>& findings) {
  ReplayGaps gaps;
  for (const auto& [name, coverage] : coverages) {
    CaptureGaps& of_job = gaps.jobs[name] = FindLiveGaps(coverage);
    const bool is_silent = std::ranges::none_of(
        findings, [&name](const Finding& finding) { return finding.job.value == name; });
    if (is_silent && !of_job.undecided) AddBusiestRank(coverage, &of_job);
  }
  return gaps;
}

absl::Status WriteReplayGaps(const std::string& folder, const ReplayGaps& gaps) {
  Json jobs = Json::object();
  for (const auto& [name, of_job] : gaps.jobs) jobs[name] = JsonOf(of_job);
  const Json json{{"whole", gaps.is_whole}, {"jobs", std::move(jobs)}};
  return WriteFileAtomically(PathOf(folder),
                             json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

absl::StatusOr<std::optional<ReplayGaps>> ReadReplayGaps(const std::string& folder) {
  const std::string path = PathOf(folder);
  const absl::StatusOr<std::string> bytes = ReadWholeFile(path);
  if (absl::IsNotFound(bytes.status())) return std::optional<ReplayGaps>();
  if (!bytes.ok()) return bytes.status();
  try {
    const Json json = Json::parse(*bytes);
    ReplayGaps gaps{.is_whole = json.at("whole").get<bool>(), .jobs = {}};
    for (const auto& [name, of_job] : json.at("jobs").items()) gaps.jobs[name] = GapsOf(of_job);
    return gaps;
  } catch (const Json::exception&) {
    return absl::DataLossError(
        fmt::format("{} is damaged: delete the folder, or name another", path));
  }
}

void AddReplayGaps(const ReplayGaps& gaps, KnownJobs* known) {
  for (auto& [name, job] : known->jobs) {
    const auto found = gaps.jobs.find(name);
    if (!gaps.is_whole) {
      job.gaps = TakenUpAgain();
    } else {
      job.gaps = found == gaps.jobs.end() ? FindLiveGaps(JobCoverage()) : found->second;
    }
  }
  if (known->jobs.empty()) known->gaps = FindLiveGaps(JobCoverage());
}

}  // namespace eroica
