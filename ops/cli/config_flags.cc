#include "ops/cli/config_flags.h"

#include "ops/config/config_file.h"

namespace eroica {

void ConfigFlags::AddTo(CLI::App& command) {
  command.add_option("-c,--config", file_, "TOML file; docs/reference/config.md lists the keys")
      ->type_name("FILE");
  command.add_option("--set", assignments_, "One option, over what the file says; may be repeated")
      ->type_name("SECTION.KEY=VALUE")
      ->expected(1)
      ->take_all();
  auto* bootstrap = command.add_option("--bootstrap", bootstrap_, "Kafka brokers to begin with")
                        ->type_name("HOST:PORT,...");
  command.add_option("--recording", recording_, "Folder of a recording, instead of Kafka")
      ->type_name("DIR")
      ->excludes(bootstrap);
  command
      .add_option("--topic-prefix", topic_prefix_, "The topics are called PREFIX.events and so on")
      ->type_name("PREFIX");
}

absl::StatusOr<NodeConfig> ConfigFlags::Load() const {
  NodeConfig config;
  if (!file_.empty()) {
    if (absl::Status status = ApplyConfigFile(file_, &config); !status.ok()) return status;
  }
  for (const std::string& assignment : assignments_) {
    if (absl::Status status = ApplyAssignment(assignment, &config); !status.ok()) return status;
  }
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
