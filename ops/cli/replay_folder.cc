#include "ops/cli/replay_folder.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "ops/archive/content_digest.h"
#include "ops/cli/time_text.h"
#include "ops/config/config_text.h"
#include "ops/rest/json_fields.h"
#include "stream_ops/recording/file.h"

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

Json OptionalJson(const std::optional<int64_t>& value) { return value ? Json(*value) : Json(); }
Json SliceJson(const LogSlice& slice) {
  Json json = Json::array();
  for (const auto& [partition, range] : slice.ranges)
    json.push_back({partition.topic, partition.partition, range.start, range.end});
  return json;
}

LogSlice SliceOf(const Json& json) {
  LogSlice slice;
  for (const Json& entry : json) {
    slice.ranges[{entry.at(0).get<std::string>(), entry.at(1).get<int32_t>()}] = {
        entry.at(2).get<int64_t>(), entry.at(3).get<int64_t>()};
  }
  return slice;
}

Json RequestJson(const ReplayRequest& request) {
  return {{"source", request.source},
          {"from_ms", OptionalJson(request.from_ms)},
          {"to_ms", OptionalJson(request.to_ms)},
          {"job", request.job},
          {"config", request.config}};
}

std::string FileText(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::Status WriteRecord(const std::string& folder, const ReplayRecord& record) {
  return WriteFileAtomically(ReplayRecordPath(folder),
                             FileText({{"format", kFormat},
                                       {"replay_id", record.replay_id},
                                       {"topic_prefix", record.topic_prefix},
                                       {"request", RequestJson(record.request)},
                                       {"slice", SliceJson(record.slice)},
                                       {"until_ms", OptionalJson(record.until_ms)},
                                       {"eroica_version", record.eroica_version}}));
}

ReplayRecord RecordOf(const Json& json) {
  const Json& request = json.at("request");
  return {.replay_id = json.at("replay_id").get<std::string>(),
          .topic_prefix = json.at("topic_prefix").get<std::string>(),
          .request = {.source = request.at("source").get<std::string>(),
                      .from_ms = OptionalIntegerOf(request.at("from_ms")),
                      .to_ms = OptionalIntegerOf(request.at("to_ms")),
                      .job = request.at("job").get<std::string>(),
                      .config = request.at("config").get<std::string>()},
          .slice = SliceOf(json.at("slice")),
          .until_ms = OptionalIntegerOf(json.at("until_ms")),
          .eroica_version = json.at("eroica_version").get<std::string>()};
}

std::string TimeCell(const std::optional<int64_t>& time_ms) {
  return time_ms ? TimeText(*time_ms) : "not given";
}

// In what the replay that is there differs from the one that is wanted.
std::string Differences(const ReplayRecord& there, const std::string& replay_id,
                        const ReplayRequest& wanted) {
  std::string text;
  const auto compare = [&text](std::string_view what, const std::string& a, const std::string& b) {
    if (a != b) text += fmt::format("\nits {} is {}, not {}", what, a, b);
  };
  compare("source", there.request.source, wanted.source);
  compare("--from", TimeCell(there.request.from_ms), TimeCell(wanted.from_ms));
  compare("--to", TimeCell(there.request.to_ms), TimeCell(wanted.to_ms));
  compare("--job", there.request.job, wanted.job);
  if (there.request.config != wanted.config) text += "\nits configuration is another";
  if (text.empty()) compare("id", there.replay_id, replay_id);
  return text;
}

}  // namespace

std::string ReplayConfigText(const NodeConfig& config) {
  NodeConfig relevant;
  relevant.node.topic_prefix = config.node.topic_prefix;
  relevant.summarize = config.summarize;
  relevant.align = config.align;
  relevant.state.job_retention_minutes = config.state.job_retention_minutes;
  relevant.state.ended_jobs_kept = config.state.ended_jobs_kept;
  relevant.state.findings_retention_days = config.state.findings_retention_days;
  relevant.runtime.idle_timeout_ms = config.runtime.idle_timeout_ms;
  return ConfigToToml(relevant);
}

std::string ReplayIdOf(const ReplayRequest& request) {
  constexpr size_t kDigits = 12;
  ContentDigest digest;
  ConsumerRecord text;
  text.value = FileText(RequestJson(request));
  digest.Add(text);
  return digest.Finish().substr(0, kDigits);
}

absl::StatusOr<std::optional<ReplayRecord>> ReadReplayRecord(const std::string& folder) {
  const std::string path = ReplayRecordPath(folder);
  const absl::StatusOr<std::string> bytes = ReadWholeFile(path);
  if (absl::IsNotFound(bytes.status())) return std::optional<ReplayRecord>();
  if (!bytes.ok()) return bytes.status();
  const Json json = Json::parse(*bytes, nullptr, /*allow_exceptions=*/false);
  if (json.is_object() && json.contains("format") && json["format"] != kFormat) {
    return absl::FailedPreconditionError(
        fmt::format("{} was made by another version of eroica: name another folder", path));
  }
  try {
    return std::optional(RecordOf(json));
  } catch (const Json::exception&) {
    return absl::DataLossError(
        fmt::format("{} is damaged: delete the folder, or name another", path));
  }
}

absl::StatusOr<ReplayFolder> ReplayFolder::Open(
    const std::string& path, const std::string& replay_id, const ReplayRequest& request,
    const std::function<absl::StatusOr<ReplayRecord>()>& take) {
  if (absl::Status status = MakeDirectories(path); !status.ok()) return status;
  absl::StatusOr<std::optional<ReplayRecord>> there = ReadReplayRecord(path);
  if (!there.ok()) return there.status();
  if (there->has_value()) {
    const std::string differences = Differences(**there, replay_id, request);
    if (differences.empty()) return ReplayFolder(path, **std::move(there), false);
    return absl::FailedPreconditionError(fmt::format(
        "{} holds another replay: name another folder with -o, or delete it{}", path, differences));
  }
  if (absl::Status status = RemoveUnfinishedWrites(ReplayRecordPath(path)); !status.ok())
    return status;
  std::error_code error;
  if (!std::filesystem::is_empty(path, error) || error) {
    return absl::AlreadyExistsError(
        fmt::format("{} is not empty and holds no replay: name another folder with -o", path));
  }
  absl::StatusOr<ReplayRecord> record = take();
  if (!record.ok()) return record.status();
  if (absl::Status status = WriteRecord(path, *record); !status.ok()) return status;
  return ReplayFolder(path, *std::move(record), true);
}

}  // namespace eroica
