#include "stream_ops/replay/replay_checkpoint.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "state_store/task_store.h"

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kTask = "replay";
constexpr const char* kKey = "checkpoint";

Json NumbersJson(const std::map<TopicPartition, int64_t>& numbers) {
  Json json = Json::array();
  for (const auto& [partition, number] : numbers)
    json.push_back({partition.topic, partition.partition, number});
  return json;
}

std::map<TopicPartition, int64_t> NumbersOf(const Json& json) {
  std::map<TopicPartition, int64_t> numbers;
  for (const Json& entry : json) {
    numbers[{entry.at(0).get<std::string>(), entry.at(1).get<int32_t>()}] =
        entry.at(2).get<int64_t>();
  }
  return numbers;
}

}  // namespace

absl::Status StageCheckpoint(const ReplayCheckpoint& checkpoint, StateStore& store) {
  const Json json{{"read", NumbersJson(checkpoint.read)},
                  {"ends", NumbersJson(checkpoint.ends)},
                  {"quiet_ms", NumbersJson(checkpoint.quiet_ms)},
                  {"clock_ms", checkpoint.clock_ms},
                  {"fed_ms", checkpoint.fed_ms},
                  {"finished", checkpoint.finished}};
  StateChanges changes;
  changes.Put(Table::kPositions, kKey, json.dump());
  return TaskStore(&store, kTask).Write(changes);
}

absl::StatusOr<std::optional<ReplayCheckpoint>> LoadCheckpoint(StateStore& store) {
  const absl::StatusOr<std::optional<std::string>> row =
      TaskStore(&store, kTask).Get(Table::kPositions, kKey);
  if (!row.ok()) return row.status();
  if (!row->has_value()) return std::optional<ReplayCheckpoint>();
  const Json json = Json::parse(**row, nullptr, /*allow_exceptions=*/false);
  try {
    return std::optional(ReplayCheckpoint{.read = NumbersOf(json.at("read")),
                                          .ends = NumbersOf(json.at("ends")),
                                          .quiet_ms = NumbersOf(json.at("quiet_ms")),
                                          .clock_ms = json.at("clock_ms").get<int64_t>(),
                                          .fed_ms = json.at("fed_ms").get<int64_t>(),
                                          .finished = json.at("finished").get<bool>()});
  } catch (const Json::exception&) {
    return absl::DataLossError(
        "the replay's checkpoint cannot be read: delete the replay's folder and begin anew");
  }
}

}  // namespace eroica
