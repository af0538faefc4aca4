// Who may ask a process of ours over HTTP, and how: the section `rest` of the configuration, as the
// server takes it. Functions of the configuration and of the files that it names; any thread.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>

#include "ops/config/node_config.h"
#include "ops/rest/gate.h"
#include "ops/rest/listen_address.h"
#include "ops/rest/server.h"

namespace eroica {

// text: of this option. kInvalidArgument: it is no address, or everybody who reaches it could read
// the jobs and nobody has said that this is meant.
absl::StatusOr<ListenAddress> AddressToListenOn(const NodeConfig& config, const std::string& option,
                                                const std::string& text);

// kInvalidArgument: a certificate without its key, or a key without its certificate.
absl::Status CheckTlsFiles(const NodeConfig& config);

// kNotFound, kInvalidArgument: the tokens cannot be read. Later the file is read again as it
// changes.
absl::StatusOr<GateOptions> GateOf(const NodeConfig& config);

// Without peers.
ServerOptions ServerOptionsOf(const NodeConfig& config, const ListenAddress& address);

}  // namespace eroica
