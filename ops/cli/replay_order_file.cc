#include "ops/cli/replay_order_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ops/rest/json_fields.h"
#include "stream_ops/recording/file.h"

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

std::string PathIn(const std::string& folder) { return folder + "/order.json"; }

Json NumberOrNull(const std::optional<int64_t>& number) { return number ? Json(*number) : Json(); }
ReplayState StateOf(const std::string& name) {
  for (int i = 0; i < kReplayStateCount; ++i) {
    const auto state = static_cast<ReplayState>(i);
    if (ToString(state) == name) return state;
  }
  return ReplayState::kInterrupted;
}

ReplayStatus StatusOf(const Json& json) {
  ReplayStatus replay;
  replay.id = json.at("id").get<std::string>();
  replay.order = {.job = json.at("job").get<std::string>(),
                  .from_ms = OptionalIntegerOf(json.at("from_ms")),
                  .to_ms = OptionalIntegerOf(json.at("to_ms")),
                  .options = json.at("options").get<std::vector<std::string>>()};
  replay.by = json.at("by").get<std::string>();
  replay.state = StateOf(json.at("state").get<std::string>());
  replay.asked_ms = json.at("asked_ms").get<int64_t>();
  replay.started_ms = OptionalIntegerOf(json.at("started_ms"));
  replay.ended_ms = OptionalIntegerOf(json.at("ended_ms"));
  replay.done = json.at("done").get<int64_t>();
  replay.total = json.at("total").get<int64_t>();
  replay.error = json.at("error").get<std::string>();
  replay.records_missing = json.at("records_missing").get<int64_t>();
  // Since nodes say it.
  replay.verdict = json.value("verdict", "");
  replay.nothing_because = json.value("nothing_because", "");
  replay.left_open = json.value("left_open", std::vector<std::string>());
  return replay;
}

}  // namespace

absl::Status WriteReplayOrder(const ReplayStatus& replay) {
  const Json json{{"id", replay.id},
                  {"job", replay.order.job},
                  {"from_ms", NumberOrNull(replay.order.from_ms)},
                  {"to_ms", NumberOrNull(replay.order.to_ms)},
                  {"options", replay.order.options},
                  {"by", replay.by},
                  {"state", ToString(replay.state)},
                  {"asked_ms", replay.asked_ms},
                  {"started_ms", NumberOrNull(replay.started_ms)},
                  {"ended_ms", NumberOrNull(replay.ended_ms)},
                  {"done", replay.done},
                  {"total", replay.total},
                  {"error", replay.error},
                  {"records_missing", replay.records_missing},
                  {"verdict", replay.verdict},
                  {"nothing_because", replay.nothing_because},
                  {"left_open", replay.left_open}};
  return WriteFileAtomically(PathIn(replay.folder),
                             json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

absl::StatusOr<ReplayStatus> ReadReplayOrder(const std::string& folder) {
  const absl::StatusOr<std::string> text = ReadWholeFile(PathIn(folder));
  if (!text.ok()) return text.status();
  const Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  try {
    ReplayStatus replay = StatusOf(json);
    replay.folder = folder;
    // A node that died could not write how it ended.
    if (IsLive(replay.state)) replay.state = ReplayState::kInterrupted;
    return replay;
  } catch (const Json::exception&) {
    return absl::DataLossError(fmt::format("{} is damaged", PathIn(folder)));
  }
}

}  // namespace eroica
