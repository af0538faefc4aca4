#include "ops/cli/state_folder.h"

#include <filesystem>

namespace eroica {
namespace {

constexpr const char* kReplayRecord = "replay.json";
constexpr const char* kReplayState = "state";

}  // namespace

std::string ReplayRecordPath(const std::string& folder) { return folder + "/" + kReplayRecord; }

std::string ReplayStatePath(const std::string& folder) { return folder + "/" + kReplayState; }

std::string StateFolder(const NodeConfig& config) {
  if (!config.state.folder.empty()) return config.state.folder;
  if (config.node.recording.empty()) return "eroica-state";
  if (IsReplayFolder(config)) return ReplayStatePath(config.node.recording);
  std::filesystem::path recording = std::filesystem::path(config.node.recording).lexically_normal();
  if (!recording.has_filename()) recording = recording.parent_path();
  return recording.string() + ".state";
}

bool IsReplayFolder(const NodeConfig& config) {
  std::error_code error;
  return !config.node.recording.empty() &&
         std::filesystem::exists(ReplayRecordPath(config.node.recording), error);
}

}  // namespace eroica
