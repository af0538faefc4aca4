#include "ops/archive/manifest.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "stream_ops/recording/file.h"

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

std::string PathOf(const std::string& folder) {
  return fmt::format("{}/{}", folder, kManifestName);
}

Json PartitionsJson(const TopicManifest& topic) {
  Json partitions = Json::array();
  for (const auto& [number, partition] : topic.by_partition) {
    partitions.push_back({{"partition", number},
                          {"first_offset", partition.first_offset},
                          {"last_offset", partition.last_offset},
                          {"records", partition.records},
                          {"bytes", partition.bytes},
                          {"sha256", partition.sha256}});
  }
  return partitions;
}

Json OptionalJson(const std::optional<int64_t>& value) { return value ? Json(*value) : Json(); }

Json AsJson(const Manifest& manifest) {
  Json topics = Json::array();
  for (const auto& [name, topic] : manifest.topics) {
    topics.push_back({{"topic", name},
                      {"partitions", topic.partitions},
                      {"config", topic.config},
                      {"contents", PartitionsJson(topic)}});
  }
  Json jobs = Json::array();
  for (const auto& [name, job] : manifest.jobs) {
    jobs.push_back({{"job", name},
                    {"records", job.records},
                    {"ranks", job.ranks},
                    {"first_ms", job.first_ms},
                    {"last_ms", job.last_ms}});
  }
  return {{"format", kFormat},
          {"complete", manifest.complete},
          {"eroica_version", manifest.eroica_version},
          {"created_ms", manifest.created_ms},
          {"source", manifest.source},
          {"job", manifest.job},
          {"from_ms", OptionalJson(manifest.from_ms)},
          {"to_ms", OptionalJson(manifest.to_ms)},
          {"timestamps", manifest.stamped_at_arrival ? "arrival" : "event"},
          {"lost", manifest.lost},
          {"topics", std::move(topics)},
          {"jobs", std::move(jobs)}};
}

std::optional<int64_t> OptionalNumber(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<int64_t>());
}

TopicManifest TopicOf(const Json& json) {
  TopicManifest topic;
  topic.partitions = json.at("partitions").get<int32_t>();
  topic.config = json.at("config").get<std::map<std::string, std::string>>();
  for (const Json& entry : json.at("contents")) {
    topic.by_partition[entry.at("partition").get<int32_t>()] = {
        .first_offset = entry.at("first_offset").get<int64_t>(),
        .last_offset = entry.at("last_offset").get<int64_t>(),
        .records = entry.at("records").get<uint64_t>(),
        .bytes = entry.at("bytes").get<uint64_t>(),
        .sha256 = entry.at("sha256").get<std::string>()};
  }
  return topic;
}

Manifest FromJson(const Json& json) {
  Manifest manifest;
  manifest.complete = json.at("complete").get<bool>();
  manifest.eroica_version = json.at("eroica_version").get<std::string>();
  manifest.created_ms = json.at("created_ms").get<int64_t>();
  manifest.source = json.at("source").get<std::string>();
  manifest.job = json.at("job").get<std::string>();
  manifest.from_ms = OptionalNumber(json.at("from_ms"));
  manifest.to_ms = OptionalNumber(json.at("to_ms"));
  manifest.stamped_at_arrival = json.at("timestamps").get<std::string>() == "arrival";
  if (json.contains("lost")) manifest.lost = json.at("lost").get<std::vector<std::string>>();
  for (const Json& topic : json.at("topics"))
    manifest.topics[topic.at("topic").get<std::string>()] = TopicOf(topic);
  for (const Json& job : json.at("jobs")) {
    manifest.jobs[job.at("job").get<std::string>()] = {
        .records = job.at("records").get<uint64_t>(),
        .ranks = job.at("ranks").get<uint64_t>(),
        .first_ms = job.at("first_ms").get<int64_t>(),
        .last_ms = job.at("last_ms").get<int64_t>()};
  }
  return manifest;
}

absl::Status Damaged(const std::string& path, std::string_view why) {
  return absl::DataLossError(
      fmt::format("{} is damaged ({}): restore it from a copy, or record again", path, why));
}

}  // namespace

std::string ToJson(const Manifest& manifest) {
  return AsJson(manifest).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::Status WriteManifest(const std::string& folder, const Manifest& manifest) {
  if (absl::Status status = WriteFileAtomically(PathOf(folder), ToJson(manifest)); !status.ok())
    return status;
  return SyncDirectory(folder);
}

absl::StatusOr<std::optional<Manifest>> ReadManifest(const std::string& folder) {
  const std::string path = PathOf(folder);
  const absl::StatusOr<std::string> bytes = ReadWholeFile(path);
  if (absl::IsNotFound(bytes.status())) return std::optional<Manifest>();
  if (!bytes.ok()) return bytes.status();
  const Json json = Json::parse(*bytes, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("format")) return Damaged(path, "no manifest");
  if (json["format"] != kFormat) {
    return absl::FailedPreconditionError(
        fmt::format("{} has format {}, this program reads {}: use the version of eroica that made "
                    "the recording",
                    path, json["format"].dump(), kFormat));
  }
  try {
    return std::optional(FromJson(json));
  } catch (const Json::exception& error) {
    return Damaged(path, error.what());
  }
}

absl::Status RequireFinished(const std::string& folder) {
  const absl::StatusOr<std::optional<Manifest>> manifest = ReadManifest(folder);
  if (!manifest.ok() || !*manifest || (*manifest)->complete) return manifest.status();
  return absl::FailedPreconditionError(fmt::format(
      "{} is a copy that was not finished: run the `eroica record` that made it again", folder));
}

}  // namespace eroica
