// The flags of every subcommand that needs a node's configuration. Each of these beats those before
// it: the defaults; the file, which is that of --config, else of EROICA_CONFIG (empty: none), else
// config.toml in $XDG_CONFIG_HOME/eroica or ~/.config/eroica where it is there; EROICA_BOOTSTRAP;
// --set; the other flags.
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
  // The flag that names a log on this command line, for messages; empty where none does.
  std::string LogFlag() const;

 private:
  std::string file_;
  std::vector<std::string> assignments_;
  std::string bootstrap_;
  std::string recording_;
  std::string topic_prefix_;
};

}  // namespace eroica
