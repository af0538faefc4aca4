#include "ops/cli/config_flags.h"

#include <spdlog/spdlog.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "ops/config/config_file.h"

namespace eroica {

void ConfigFlags::AddTo(CLI::App& command) {
  command
      .add_option("-c,--config", file_,
                  "TOML file (default: that of EROICA_CONFIG, else ~/.config/eroica/config.toml); "
                  "docs/reference/config.md lists the keys")
      ->type_name("FILE");
  command
      .add_option("--set", assignments_,
                  "One option, in place of what the file says; may be repeated")
      ->type_name("SECTION.KEY=VALUE")
      ->expected(1)
      ->take_all();
  auto* bootstrap = command
                        .add_option("--bootstrap", bootstrap_,
                                    "Kafka brokers to ask first (default: EROICA_BOOTSTRAP)")
                        ->type_name("HOST:PORT,...");
  command.add_option("--recording", recording_, "Folder of a recording, instead of Kafka")
      ->type_name("DIR")
      ->excludes(bootstrap);
  command
      .add_option("--topic-prefix", topic_prefix_, "The topics are called PREFIX.events and so on")
      ->type_name("PREFIX");
}

namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The file that nobody has named; empty: there is none.
std::string FindConfigFile() {
  std::string folder = Variable("XDG_CONFIG_HOME");
  if (folder.empty()) {
    const std::string home = Variable("HOME");
    if (home.empty()) return "";
    folder = home + "/.config";
  }
  const std::string file = folder + "/eroica/config.toml";
  std::error_code error;
  return std::filesystem::exists(file, error) ? file : "";
}

std::string ChooseFile(const std::string& named) {
  if (!named.empty()) return named;
  const char* variable = std::getenv("EROICA_CONFIG");
  return variable != nullptr ? variable : FindConfigFile();
}

}  // namespace

std::string ConfigFlags::LogFlag() const {
  if (!bootstrap_.empty()) return "--bootstrap";
  return recording_.empty() ? "" : "--recording";
}

absl::StatusOr<NodeConfig> ConfigFlags::Load() const {
  NodeConfig config;
  if (const std::string file = ChooseFile(file_); !file.empty()) {
    spdlog::debug("config: file={}", file);
    if (absl::Status status = ApplyConfigFile(file, &config); !status.ok()) return status;
  }
  const std::string bootstrap = Variable("EROICA_BOOTSTRAP");
  if (!bootstrap.empty()) {
    config.kafka.bootstrap = bootstrap;
    config.node.recording.clear();
  }
  for (const std::string& assignment : assignments_) {
    if (absl::Status status = ApplyAssignment(assignment, &config); !status.ok()) return status;
  }
  // --set node.recording=DIR beats the variable.
  if (!bootstrap.empty() && !config.node.recording.empty() && config.kafka.bootstrap == bootstrap)
    config.kafka.bootstrap.clear();
  // A flag for one transport beats a file that names the other.
  if (!bootstrap_.empty()) {
    config.kafka.bootstrap = bootstrap_;
    config.node.recording.clear();
  }
  if (!recording_.empty()) {
    config.node.recording = recording_;
    config.kafka.bootstrap.clear();
  }
  if (!topic_prefix_.empty()) config.node.topic_prefix = topic_prefix_;
  return config;
}

}  // namespace eroica
