#include "ops/cli/run_recording.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "ops/cli/open_log.h"
#include "ops/cli/state_folder.h"
#include "ops/cli/topic_plan.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;

std::string Absolute(const std::string& folder) {
  fs::path path = fs::absolute(folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return path.string();
}

absl::Status CannotMake(const std::string& path, const std::error_code& error) {
  return absl::UnavailableError(
      fmt::format("cannot make the recording {}: {}", path, error.message()));
}

// Whether it was made by this call: of two runs at the same time one makes it.
absl::StatusOr<bool> MakeFolder(const std::string& path) {
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error) return CannotMake(path, error);
  const bool made = fs::create_directory(path, error);
  if (error) return CannotMake(path, error);
  return made;
}

bool HasState(const std::string& path) {
  NodeConfig config;
  config.node.recording = path;
  std::error_code error;
  return fs::exists(StateFolder(config), error);
}

}  // namespace

absl::StatusOr<RunRecording> RunRecording::Claim(const std::string& wanted,
                                                 const std::string& default_name) {
  constexpr int kMostAtOnce = 1'000;
  if (wanted.empty()) {
    for (int number = 1; number <= kMostAtOnce; ++number) {
      const std::string path =
          Absolute(number == 1 ? default_name : fmt::format("{}-{}", default_name, number));
      if (HasState(path)) continue;
      const absl::StatusOr<bool> made = MakeFolder(path);
      if (!made.ok()) return made.status();
      if (*made) return RunRecording(path, true);
    }
    return absl::FailedPreconditionError(
        fmt::format("{} and all its numbers are taken: name a folder with -o", default_name));
  }
  const std::string path = Absolute(wanted);
  if (HasState(path)) {
    return absl::FailedPreconditionError(fmt::format(
        "{}.state belongs to an earlier recording: give another folder with -o, or delete it",
        path));
  }
  const absl::StatusOr<bool> made = MakeFolder(path);
  if (!made.ok()) return made.status();
  if (*made) return RunRecording(path, true);
  std::error_code error;
  const bool empty = fs::is_directory(path, error) && fs::is_empty(path, error) && !error;
  if (!empty) {
    return absl::FailedPreconditionError(
        fmt::format("{} is not empty, and two jobs in one recording would be mixed: give another "
                    "folder with -o, or delete it",
                    path));
  }
  return RunRecording(path, false);
}

absl::Status RunRecording::Prepare(const NodeConfig& config) const {
  const absl::StatusOr<std::unique_ptr<Log>> log = OpenLog(config, LogAccess::kWrite);
  if (!log.ok()) return log.status();
  return CreatePlannedTopics((*log)->admin(), config);
}

void RunRecording::Discard(const NodeConfig& config) const {
  std::error_code error;
  fs::remove_all(StateFolder(config), error);
  fs::remove_all(path_, error);
  if (!made_) fs::create_directory(path_, error);
}

}  // namespace eroica
