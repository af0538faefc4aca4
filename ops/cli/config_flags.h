// The flags of every subcommand that needs a node's configuration. What holds: the defaults, then
// the file, then --set, then the other flags.
#pragma once

#include <absl/status/statusor.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "ops/config/node_config.h"

namespace eroica {

class ConfigFlags {
 public:
  // The flags live as long as the command may be parsed.
  void AddTo(CLI::App& command);
  // Secrets still stand for files and variables in it: see ResolveSecrets.
  absl::StatusOr<NodeConfig> Load() const;

 private:
  std::string file_;
  std::vector<std::string> assignments_;
  std::string bootstrap_;
  std::string recording_;
  std::string topic_prefix_;
};

}  // namespace eroica
