#include "ops/cli/local_page.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <utility>

namespace eroica {
namespace {

bool HasDesktop() {
  return std::getenv("DISPLAY") != nullptr || std::getenv("WAYLAND_DISPLAY") != nullptr;
}

// It may take its time, or fail: the address is on the screen.
void OpenInBrowser(std::string url) {
  std::string program = "xdg-open";
  const std::array<char*, 3> arguments{program.data(), url.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  pid_t pid = 0;
  static_cast<void>(posix_spawnp(&pid, program.c_str(), &actions, nullptr,
                                 const_cast<char**>(arguments.data()), environ));
  posix_spawn_file_actions_destroy(&actions);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocalPage>> LocalPage::Open(NodeConfig config, Log& log) {
  config.rest = {};
  config.rest.replay_memory_mib = 0;
  absl::StatusOr<std::unique_ptr<NodeRest>> rest =
      NodeRest::Open(config, log, JobBoard::JobsOfEndedTask::kStay);
  if (!rest.ok()) return rest.status();
  return std::unique_ptr<LocalPage>(new LocalPage(*std::move(rest)));
}

absl::Status LocalPage::Serve(std::function<std::map<std::string, StageProbe>()> stages) {
  const absl::Status status =
      rest_->Start({.stages = std::move(stages), .health = &health_, .store = nullptr});
  if (!status.ok()) return status;
  std::cerr << fmt::format("page: {}\n", url()) << std::flush;
  if (HasDesktop()) OpenInBrowser(url());
  return absl::OkStatus();
}

}  // namespace eroica
