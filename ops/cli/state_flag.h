// The flag --state of the subcommands that read a node's state store: whether it is given, and the
// folder that it names. It lives as long as its command may be parsed.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "ops/config/node_config.h"

namespace eroica {

class StateFlag {
 public:
  // Answers the option, for what it excludes.
  CLI::Option* AddTo(CLI::App& command);
  bool IsGiven() const { return option_ != nullptr && option_->count() > 0; }
  // That of the flag, or else that of the configuration.
  std::string Folder(const NodeConfig& config) const;

 private:
  std::string folder_;
  CLI::Option* option_ = nullptr;  // the command's
};

}  // namespace eroica
