#include "ops/archive/recorder.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "stream_ops/recording/file.h"
#include "stream_ops/recording/recorded_slice.h"
#include "stream_ops/recording/recording_log.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;

std::set<std::string> TopicsOf(const LogSlice& slice) {
  std::set<std::string> topics;
  for (const auto& [partition, range] : slice.ranges) topics.insert(partition.topic);
  return topics;
}

// The topics of the slice, as the source has them.
absl::Status DescribeTopics(Log& source, const LogSlice& slice, Manifest* manifest) {
  for (const std::string& topic : TopicsOf(slice)) {
    absl::StatusOr<TopicSpec> spec = source.admin().DescribeTopic(topic);
    if (!spec.ok()) return spec.status();
    manifest->topics[topic] = {
        .partitions = spec->partitions, .config = std::move(spec->config), .by_partition = {}};
  }
  return absl::OkStatus();
}

// Removes what an unfinished copy has left.
absl::Status ClaimFolder(const std::string& folder) {
  if (absl::Status status = MakeDirectories(folder); !status.ok()) return status;
  const absl::StatusOr<std::optional<Manifest>> manifest = ReadManifest(folder);
  if (!manifest.ok()) return manifest.status();
  std::error_code error;
  if (manifest->has_value() && !(*manifest)->complete) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
      if (entry.path().filename() != kManifestName) fs::remove_all(entry.path(), error);
    }
    if (!error) return absl::OkStatus();
    return FileError(error.value(), "empty folder", folder);
  }
  if (absl::Status status = RemoveUnfinishedWrites(fmt::format("{}/{}", folder, kManifestName));
      !status.ok())
    return status;
  if (fs::is_empty(folder, error) && !error) return absl::OkStatus();
  return absl::AlreadyExistsError(
      fmt::format("{} is not empty: name another folder, or delete it", folder));
}

absl::Status MakeTopics(LogAdmin& admin, const Manifest& manifest) {
  for (const auto& [name, topic] : manifest.topics) {
    TopicSpec spec{.name = name, .partitions = topic.partitions, .config = topic.config};
    spec.config["retention.ms"] = "-1";
    if (absl::Status status = admin.CreateTopic(spec); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Copy(const OpenReaders& readers, const RecordRequest& request, LogProducer& target,
                  std::function<std::string(const std::string&)> target_of, Contents* contents) {
  const absl::StatusOr<std::unique_ptr<SliceReader>> reader =
      SliceReader::Open(request.slice, {}, readers);
  if (!reader.ok()) return reader.status();
  const absl::Status status = CopySlice(**reader, target,
                                        {.job = request.manifest.job,
                                         .target_of = std::move(target_of),
                                         .progress = request.progress},
                                        contents);
  if (!status.ok()) return status;
  if (const uint64_t corrupt = (*reader)->corrupt_bytes(); corrupt > request.lost_bytes) {
    return absl::DataLossError(
        fmt::format("{} bytes of the source are damaged (see the log lines): what is left is not "
                    "the whole",
                    corrupt - request.lost_bytes));
  }
  if ((*reader)->damaged_records() > 0) {
    return absl::DataLossError(
        fmt::format("{} records of the source cannot be read, as the log lines say: what is left "
                    "is not the whole",
                    (*reader)->damaged_records()));
  }
  if ((*reader)->missing_records() == 0) return absl::OkStatus();
  return absl::DataLossError(
      fmt::format("{} records left the source by its retention before they were copied: choose a "
                  "later --from, or a longer retention",
                  (*reader)->missing_records()));
}

// The topics that the target lacks, and whether the others have room.
absl::Status PrepareTopics(const Manifest& manifest, LogAdmin& admin,
                           const std::function<std::string(const std::string&)>& target_of) {
  for (const auto& [name, topic] : manifest.topics) {
    const std::string target = target_of(name);
    const absl::StatusOr<TopicSpec> spec = admin.DescribeTopic(target);
    if (absl::IsNotFound(spec.status())) {
      // Its records keep their times, which may be of long ago: none is old enough to be deleted.
      if (absl::Status status = admin.CreateTopic(
              {.name = target,
               .partitions = topic.partitions,
               .config = {{"message.timestamp.type", "CreateTime"}, {"retention.ms", "-1"}}});
          !status.ok())
        return status;
      continue;
    }
    if (!spec.ok()) return spec.status();
    if (spec->partitions >= topic.partitions) continue;
    return absl::FailedPreconditionError(fmt::format(
        "topic {} has {} partitions, and {} has {}: a record keeps its partition, so give the "
        "topic {}, or name another prefix",
        target, spec->partitions, name, topic.partitions, topic.partitions));
  }
  return absl::OkStatus();
}

// In words, per partition; empty where all is as the manifest says.
std::string Differences(const Manifest& expected, const Manifest& found) {
  std::string text;
  const auto describe = [&](const std::string& topic, int32_t partition, const PartitionManifest& a,
                            const PartitionManifest& b) {
    if (a.records != b.records) {
      text += fmt::format(
          "{}/{} holds {} records, the manifest says {}: {}\n", topic, partition, b.records,
          a.records,
          b.records < a.records ? "it is truncated or damaged" : "something was appended to it");
    } else if (a.sha256 != b.sha256) {
      text += fmt::format("{}/{} holds other bytes than the manifest says\n", topic, partition);
    }
  };
  static const std::map<int32_t, PartitionManifest> kNone;
  const auto partitions = [](const Manifest& manifest, const std::string& topic) -> const auto& {
    const auto entry = manifest.topics.find(topic);
    return entry == manifest.topics.end() ? kNone : entry->second.by_partition;
  };
  for (const auto& [topic, ignored] : expected.topics) {
    const auto& before = partitions(expected, topic);
    const auto& now = partitions(found, topic);
    for (const auto& [number, partition] : before)
      describe(topic, number, partition,
               now.contains(number) ? now.at(number) : PartitionManifest());
    for (const auto& [number, partition] : now) {
      if (!before.contains(number)) describe(topic, number, {}, partition);
    }
  }
  return text;
}

absl::StatusOr<Manifest> CountAgain(
    const std::string& folder, const Manifest& manifest,
    const std::function<bool(int64_t done, int64_t total)>& progress) {
  const absl::StatusOr<std::unique_ptr<RecordingLog>> log =
      RecordingLog::Open({.directory = folder, .read_only = true});
  if (!log.ok()) return log.status();
  SliceRequest request;
  for (const auto& [topic, ignored] : manifest.topics) request.topics.push_back(topic);
  const absl::StatusOr<LogSlice> slice = TakeSlice(**log, request);
  if (!slice.ok()) return slice.status();
  const absl::StatusOr<std::unique_ptr<SliceReader>> reader =
      SliceReader::Open(*slice, {}, ReadersOf(**log));
  if (!reader.ok()) return reader.status();
  Contents contents;
  while (true) {
    const absl::StatusOr<const ConsumerRecord*> next = (*reader)->Next();
    if (!next.ok()) return next.status();
    if (*next == nullptr) break;
    contents.Add((*reader)->Pop());
    if (!progress((*reader)->done(), slice->size())) return absl::CancelledError("stopped");
  }
  Manifest found;
  contents.Finish(&found);
  return found;
}

// In words, a line a partition. The count of its records says nothing of bytes behind the last one.
absl::StatusOr<std::string> CutEndsOf(const std::string& folder, const Manifest& manifest) {
  const absl::StatusOr<std::unique_ptr<RecordingLog>> log =
      RecordingLog::Open({.directory = folder, .read_only = true});
  if (!log.ok()) return log.status();
  std::vector<std::string> topics;
  for (const auto& [topic, ignored] : manifest.topics) topics.push_back(topic);
  const absl::StatusOr<std::vector<CutEnd>> ends = (*log)->CutEnds(topics);
  if (!ends.ok()) return ends.status();
  std::string text;
  for (const CutEnd& end : *ends) text += CutEndText(end) + "\n";
  return text;
}

}  // namespace

absl::StatusOr<Manifest> RecordIntoFolder(Log& source, const OpenReaders& readers,
                                          RecordRequest request, const std::string& folder) {
  Manifest& manifest = request.manifest;
  manifest.complete = false;
  if (absl::Status status = DescribeTopics(source, request.slice, &manifest); !status.ok())
    return status;
  if (absl::Status status = ClaimFolder(folder); !status.ok()) return status;
  if (absl::Status status = WriteManifest(folder, manifest); !status.ok()) return status;
  const absl::StatusOr<std::unique_ptr<RecordingLog>> log =
      RecordingLog::Open({.directory = folder});
  if (!log.ok()) return log.status();
  if (absl::Status status = MakeTopics((*log)->admin(), manifest); !status.ok()) return status;
  const absl::StatusOr<std::unique_ptr<LogProducer>> producer = (*log)->NewProducer();
  if (!producer.ok()) return producer.status();
  Contents contents;
  if (absl::Status status = Copy(
          readers, request, **producer, [](const std::string& topic) { return topic; }, &contents);
      !status.ok())
    return status;
  contents.Finish(&manifest);
  manifest.complete = true;
  if (absl::Status status = WriteManifest(folder, manifest); !status.ok()) return status;
  return manifest;
}

absl::StatusOr<Manifest> RecordIntoTopics(
    Log& source, const OpenReaders& readers, RecordRequest request, Log& target,
    std::function<std::string(const std::string&)> target_of) {
  Manifest& manifest = request.manifest;
  if (absl::Status status = DescribeTopics(source, request.slice, &manifest); !status.ok())
    return status;
  if (absl::Status status = PrepareTopics(manifest, target.admin(), target_of); !status.ok())
    return status;
  const absl::StatusOr<std::unique_ptr<LogProducer>> producer = target.NewProducer();
  if (!producer.ok()) return producer.status();
  Contents contents;
  if (absl::Status status = Copy(readers, request, **producer, std::move(target_of), &contents);
      !status.ok()) {
    return absl::Status(status.code(),
                        fmt::format("{}\n{} records were copied before that",
                                    std::string(status.message()), contents.records()));
  }
  contents.Finish(&manifest);
  manifest.complete = true;
  return manifest;
}

absl::StatusOr<Manifest> VerifyRecording(
    const std::string& folder, const std::function<bool(int64_t done, int64_t total)>& progress) {
  if (absl::Status status = CheckDirectory(folder); !status.ok()) return status;
  absl::StatusOr<std::optional<Manifest>> manifest = ReadManifest(folder);
  if (!manifest.ok()) return manifest.status();
  if (!manifest->has_value()) {
    return absl::NotFoundError(fmt::format(
        "{} has no {}: it is no recording that `eroica record` made, and nothing says what it "
        "should hold",
        folder, kManifestName));
  }
  if (absl::Status status = RequireFinished(folder); !status.ok()) return status;
  const absl::StatusOr<Manifest> found = CountAgain(folder, **manifest, progress);
  if (!found.ok()) return found.status();
  std::string differences = Differences(**manifest, *found);
  const absl::StatusOr<std::string> cuts = CutEndsOf(folder, **manifest);
  if (!cuts.ok()) return cuts.status();
  differences += *cuts;
  if (differences.empty()) return **std::move(manifest);
  return absl::DataLossError(fmt::format(
      "{}{} is not what was recorded: copy it again from where it came", differences, folder));
}

}  // namespace eroica
