#include "tests/evaluation/real/recording_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "ops/config/text_file.h"
#include "schemas/codec.h"
#include "stream_ops/recording/recording_log.h"
#include "stream_ops/topics.h"
#include "tests/evaluation/real/variation.h"
#include "tests/evaluation/real/without_stacks.h"

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

std::optional<int64_t> NumberOf(const Json& truth, const char* key) {
  const auto found = truth.find(key);
  if (found == truth.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<int64_t>();
}

std::string TextOf(const Json& truth, const char* key) {
  const auto found = truth.find(key);
  return found == truth.end() || !found->is_string() ? "" : found->get<std::string>();
}

std::vector<std::string> Divided(std::string text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = text.find('|');
    parts.push_back(text.substr(0, end));
    text.erase(0, end == std::string::npos ? end : end + 1);
  }
  return parts;
}

std::optional<ExpectedFinding> ExpectedOf(const Json& truth) {
  const std::optional<int64_t> rank = NumberOf(truth, "rank");
  if (!rank || *rank < 0) return std::nullopt;
  const int64_t peer = NumberOf(truth, "peer").value_or(-1);
  ExpectedFinding expected;
  expected.ranks = {static_cast<uint32_t>(*rank)};
  expected.peer_rank = static_cast<int32_t>(peer);
  expected.kinds = peer >= 0
                       ? std::vector<FindingKind>{FindingKind::kCommunication}
                       : std::vector<FindingKind>{FindingKind::kSlowRank, FindingKind::kContention};
  const std::string stack = TextOf(truth, "stack");
  expected.functions =
      stack.empty() ? Divided(TextOf(truth, "function")) : std::vector<std::string>{stack};
  return expected;
}

absl::StatusOr<RealJob> Load(const RealJob& known, const std::string& folder) {
  RealJob job = known;
  absl::StatusOr<std::vector<EventBatch>> batches = ReadRecordedBatches(folder);
  if (!batches.ok()) return batches.status();
  job.batches = *std::move(batches);
  if (job.batches.empty()) return absl::NotFoundError(fmt::format("{} holds no events", folder));
  if (HasPythonFunctions(job.batches)) {
    for (const EventBatch& batch : job.batches) job.without_stacks.push_back(WithoutStacks(batch));
  }
  job.window_steps = {8, 16, job.batches.front().identity.window_steps, kWholeJob};
  std::ranges::sort(job.window_steps);
  const auto repeated = std::ranges::unique(job.window_steps);
  job.window_steps.erase(repeated.begin(), repeated.end());
  return job;
}

}  // namespace

absl::StatusOr<std::vector<EventBatch>> ReadRecordedBatches(const std::string& folder) {
  const auto log = RecordingLog::Open({.directory = folder, .read_only = true});
  if (!log.ok()) return log.status();
  const auto consumer = (*log)->NewConsumer(ConsumerOptions());
  if (!consumer.ok()) return consumer.status();
  if (absl::Status status =
          (*consumer)->Subscribe({TopicName(kDefaultTopicPrefix, Topic::kEvents)}, nullptr);
      !status.ok())
    return status;
  std::vector<EventBatch> batches;
  std::vector<ConsumerRecord> records;
  Decoder decoder;
  do {
    records.clear();
    // One at a time, so that partitions, which are ranks, are read evenly.
    if (absl::Status status = (*consumer)->Poll(std::chrono::milliseconds(0), 1, &records);
        !status.ok())
      return status;
    for (const ConsumerRecord& record : records) {
      if (decoder.Decode(record.payload(), &batches.emplace_back()) != DropReason::kNone)
        return absl::DataLossError(fmt::format("{} holds what is no batch of events", folder));
    }
  } while (!records.empty());
  if ((*consumer)->corrupt_bytes() > 0)
    return absl::DataLossError(fmt::format("{} is damaged", folder));
  return batches;
}

absl::StatusOr<std::vector<RealJobSource>> RecordingSources(const std::string& folder) {
  const std::string path = folder + "/truth.json";
  const absl::StatusOr<std::string> text = ReadTextFile(path);
  if (!text.ok()) return text.status();
  const Json truths = Json::parse(*text, nullptr, false);
  if (!truths.is_object())
    return absl::InvalidArgumentError(fmt::format("{} holds no JSON object", path));
  std::vector<RealJobSource> sources;
  for (const auto& [name, truth] : truths.items()) {
    RealJob job{.name = name};
    if (!truth.is_null()) {
      std::optional<ExpectedFinding> expected = ExpectedOf(truth);
      if (!expected)
        return absl::InvalidArgumentError(
            fmt::format("{}: {} is neither null nor names a rank", path, name));
      job.expected = {*std::move(expected)};
      job.from_step = NumberOf(truth, "from_step").value_or(0);
    }
    sources.push_back(
        {name, [job, recording = folder + "/" + name] { return Load(job, recording); }});
  }
  return sources;
}

}  // namespace eroica
