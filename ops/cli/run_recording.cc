#include "ops/cli/run_recording.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "ops/cli/open_log.h"
#include "ops/cli/state_folder.h"
#include "ops/cli/topic_plan.h"
#include "schemas/file_access.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<std::string> Absolute(const std::string& folder) {
  std::error_code error;  // of a working folder that was removed
  fs::path path = fs::absolute(folder, error).lexically_normal();
  if (error) return absl::NotFoundError("no working folder: " + error.message());
  if (!path.has_filename()) path = path.parent_path();
  return path.string();
}

bool IsEmptyFolder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error) && fs::is_empty(path, error) && !error;
}

absl::Status CannotMake(const std::string& path, const std::error_code& error) {
  return absl::UnavailableError(
      fmt::format("cannot make the recording {}: {}", path, error.message()));
}

// Whether it was made by this call: of two runs at the same time one makes it.
absl::StatusOr<bool> MakeRecordingFolder(const std::string& path) {
  bool made = false;
  std::error_code error = MakeFolders(fs::path(path).parent_path().string());
  if (!error) error = MakeFolder(path, &made);
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
  const absl::StatusOr<std::string> name = Absolute(wanted.empty() ? default_name : wanted);
  if (!name.ok()) return name.status();
  for (int number = 1; number <= kMostAtOnce; ++number) {
    const std::string path = number == 1 ? *name : fmt::format("{}-{}", *name, number);
    if (HasState(path)) continue;
    const absl::StatusOr<bool> made = MakeRecordingFolder(path);
    std::error_code error;
    if (!made.ok() && !fs::exists(fs::symlink_status(path, error))) return made.status();
    const bool is_another = !wanted.empty() && number > 1;
    if (made.ok() && *made) return RunRecording(path, true, is_another);
    if (!wanted.empty() && IsEmptyFolder(path)) return RunRecording(path, false, is_another);
  }
  return absl::FailedPreconditionError(
      fmt::format("{} and all its numbers are taken: name another folder with -o", *name));
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
  bool made_again = false;
  if (!made_) MakeFolder(path_, &made_again);
}

}  // namespace eroica
