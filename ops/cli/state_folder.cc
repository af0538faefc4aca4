#include "ops/cli/state_folder.h"

#include <filesystem>

namespace eroica {

std::string StateFolder(const NodeConfig& config) {
  if (!config.state.folder.empty()) return config.state.folder;
  if (config.node.recording.empty()) return "eroica-state";
  std::filesystem::path recording = std::filesystem::path(config.node.recording).lexically_normal();
  if (!recording.has_filename()) recording = recording.parent_path();
  return recording.string() + ".state";
}

}  // namespace eroica
