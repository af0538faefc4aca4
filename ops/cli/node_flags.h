// The flags of every subcommand that asks a running node over HTTP: its URL, the token, and whose
// certificates are believed.
#pragma once

#include <absl/status/statusor.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "ops/rest/node_client.h"

namespace eroica {

class NodeFlags {
 public:
  // url: the node to ask where none is named; empty: none is. The flags live as long as the command
  // may be parsed.
  explicit NodeFlags(std::string url = "") : url_(std::move(url)) {}

  void AddTo(CLI::App& command);
  // These options of the command are refused beside --node, which would ignore them.
  void Exclude(CLI::App& command, const std::vector<std::string>& options) const;

  bool IsGiven() const { return !url_.empty(); }
  // Stops waiting for answers when a stop is requested (stop_signal.h). kNotFound: the file
  // of the token is not there; kInvalidArgument: it holds no token.
  absl::StatusOr<NodeClient> Open() const;
  // kInvalidArgument where a flag is given that only serves --node, and --node is not.
  absl::Status CheckUnused() const;

 private:
  std::string url_;
  std::string token_file_;
  std::string ca_certificate_;
};

}  // namespace eroica
