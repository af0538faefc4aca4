#include "stream_ops/recording/recording_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "stream_ops/log/all_partitions_consumer.h"
#include "stream_ops/recording/file.h"

namespace eroica {

namespace {

using nlohmann::json;

constexpr std::string_view kGroupsFolder = "__groups";
constexpr size_t kMaxNameSize = 200;
constexpr int32_t kMaxPartitions = 10'000;

// The names that Kafka allows, less those beginning with two underscores: they become names of
// files.
bool IsLegalName(std::string_view name) {
  const auto legal = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= kMaxNameSize && name != "." && name != ".." &&
         !name.starts_with("__") && std::all_of(name.begin(), name.end(), legal);
}

// Bytes that are no UTF-8 are replaced, not thrown about.
std::string Dump(const json& value) {
  return value.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

absl::Status Unreadable(const std::string& path) {
  return absl::DataLossError(
      fmt::format("{} is damaged: restore it from a copy, or remove it and create it anew", path));
}

// Whoever left out the prefix of the topics is shown one that there is.
absl::Status MissingTopic(const std::string& directory, const std::string& name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos) return UnknownTopicError(name);
  const std::string kind = name.substr(dot);
  std::string other;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string candidate = entry->path().filename();
    if (!candidate.ends_with(kind) || !IsLegalName(candidate)) continue;
    if (other.empty() || candidate < other) other = std::move(candidate);
  }
  if (other.size() <= kind.size()) return UnknownTopicError(name);
  return absl::NotFoundError(
      fmt::format("topic {} does not exist, but {} does: give --topic-prefix {}", name, other,
                  other.substr(0, other.size() - kind.size())));
}

}  // namespace

std::string RecordingDirectory::TopicPath(const std::string& topic) const {
  return fmt::format("{}/{}", path_, topic);
}

std::string RecordingDirectory::PartitionPath(const TopicPartition& partition) const {
  return fmt::format("{}/{}", TopicPath(partition.topic), partition.partition);
}

absl::Status RecordingDirectory::CreateTopic(const TopicSpec& spec) {
  if (!IsLegalName(spec.name)) {
    return absl::InvalidArgumentError(
        fmt::format("'{}' cannot name a topic: letters, digits, '.', '_' and '-' can, up to {}",
                    spec.name, kMaxNameSize));
  }
  if (spec.partitions < 1 || spec.partitions > kMaxPartitions) {
    return absl::InvalidArgumentError(fmt::format("topic {} needs 1 to {} partitions, not {}",
                                                  spec.name, kMaxPartitions, spec.partitions));
  }
  const MutexLock lock(mutex_);
  const absl::StatusOr<TopicSpec> existing = DescribeTopic(spec.name);
  if (existing.ok())
    return absl::AlreadyExistsError(fmt::format("topic {} exists already in {}", spec.name, path_));
  if (!absl::IsNotFound(existing.status())) return existing.status();
  if (absl::Status status = MakeDirectories(TopicPath(spec.name)); !status.ok()) return status;
  const json topic = {{"format", 1}, {"partitions", spec.partitions}, {"config", spec.config}};
  return WriteFileAtomically(TopicPath(spec.name) + "/topic.json", Dump(topic));
}

absl::StatusOr<TopicSpec> RecordingDirectory::DescribeTopic(const std::string& name) {
  if (!IsLegalName(name)) return UnknownTopicError(name);
  const std::string path = TopicPath(name) + "/topic.json";
  const absl::StatusOr<std::string> bytes = ReadWholeFile(path);
  if (absl::IsNotFound(bytes.status())) return MissingTopic(path_, name);
  if (!bytes.ok()) return bytes.status();
  const json topic = json::parse(*bytes, nullptr, /*allow_exceptions=*/false);
  if (!topic.is_object() || !topic.contains("partitions") ||
      !topic["partitions"].is_number_integer())
    return Unreadable(path);
  const int64_t partitions = topic["partitions"].get<int64_t>();
  if (partitions < 1 || partitions > kMaxPartitions) return Unreadable(path);
  TopicSpec spec{.name = name, .partitions = static_cast<int32_t>(partitions), .config = {}};
  if (topic.contains("config") && topic["config"].is_object()) {
    for (const auto& [key, value] : topic["config"].items()) {
      if (value.is_string()) spec.config[key] = value.get<std::string>();
    }
  }
  return spec;
}

absl::Status RecordingDirectory::DeleteTopic(const std::string& name) {
  if (!IsLegalName(name)) return UnknownTopicError(name);
  const MutexLock lock(mutex_);
  std::error_code error;
  std::filesystem::remove_all(TopicPath(name), error);
  return error ? FileError(error.value(), "delete", TopicPath(name)) : absl::OkStatus();
}

absl::StatusOr<std::string> RecordingDirectory::GroupPath(const std::string& group) const {
  if (!IsLegalName(group)) {
    return absl::InvalidArgumentError(
        fmt::format("'{}' cannot name a group: letters, digits, '.', '_' and '-' can, up to {}",
                    group, kMaxNameSize));
  }
  return fmt::format("{}/{}/{}.json", path_, kGroupsFolder, group);
}

absl::StatusOr<RecordingDirectory::Offsets> RecordingDirectory::ReadGroup(
    const std::string& path) const {
  Offsets offsets;
  const absl::StatusOr<std::string> bytes = ReadWholeFile(path);
  if (absl::IsNotFound(bytes.status())) return offsets;
  if (!bytes.ok()) return bytes.status();
  const json group = json::parse(*bytes, nullptr, /*allow_exceptions=*/false);
  if (!group.is_array()) return Unreadable(path);
  for (const json& entry : group) {
    if (!entry.is_object() || !entry.contains("topic") || !entry["topic"].is_string())
      return Unreadable(path);
    if (!entry.contains("partition") || !entry["partition"].is_number_integer())
      return Unreadable(path);
    if (!entry.contains("next_offset") || !entry["next_offset"].is_number_integer())
      return Unreadable(path);
    offsets[{entry["topic"].get<std::string>(), entry["partition"].get<int32_t>()}] =
        std::max<int64_t>(entry["next_offset"].get<int64_t>(), 0);
  }
  return offsets;
}

absl::StatusOr<std::optional<int64_t>> RecordingDirectory::Committed(
    const std::string& group, const TopicPartition& partition) {
  const absl::StatusOr<std::string> path = GroupPath(group);
  if (!path.ok()) return path.status();
  const MutexLock lock(mutex_);
  const absl::StatusOr<Offsets> offsets = ReadGroup(*path);
  if (!offsets.ok()) return offsets.status();
  const auto found = offsets->find(partition);
  if (found == offsets->end()) return std::optional<int64_t>();
  return std::optional(found->second);
}

absl::Status RecordingDirectory::Commit(const std::string& group, const GroupOffsets& offsets) {
  const absl::StatusOr<std::string> path = GroupPath(group);
  if (!path.ok()) return path.status();
  const MutexLock lock(mutex_);
  absl::StatusOr<Offsets> kept = ReadGroup(*path);
  if (!kept.ok()) return kept.status();
  for (const auto& [partition, offset] : offsets) (*kept)[partition] = offset.next;
  json entries = json::array();
  for (const auto& [partition, offset] : *kept) {
    entries.push_back(
        {{"topic", partition.topic}, {"partition", partition.partition}, {"next_offset", offset}});
  }
  if (absl::Status status = MakeDirectories(fmt::format("{}/{}", path_, kGroupsFolder));
      !status.ok())
    return status;
  return WriteFileAtomically(*path, Dump(entries));
}

}  // namespace eroica
