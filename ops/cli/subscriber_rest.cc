#include "ops/cli/subscriber_rest.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "ops/cli/rest_access.h"
#include "ops/cli/time_text.h"

namespace eroica {

absl::StatusOr<std::unique_ptr<SubscriberRest>> SubscriberRest::Start(const NodeConfig& config,
                                                                      Options options) {
  std::unique_ptr<SubscriberRest> rest(new SubscriberRest(std::move(options)));
  if (rest->options_.listen.empty()) return rest;
  if (absl::Status status = rest->Listen(config); !status.ok()) return status;
  return rest;
}

absl::Status SubscriberRest::Listen(const NodeConfig& config) {
  if (absl::Status status = CheckTlsFiles(config); !status.ok()) return status;
  const absl::StatusOr<ListenAddress> address =
      AddressToListenOn(config, options_.option, options_.listen);
  if (!address.ok()) return address.status();
  absl::StatusOr<GateOptions> gate = GateOf(config);
  if (!gate.ok()) return gate.status();
  const int64_t started_ms = NowMs();
  RestSources sources;
  sources.metrics = [this, started_ms] {
    const RestServer* server = counting_;
    return options_.metrics({.version = EROICA_VERSION,
                             .started_ms = started_ms,
                             .http = server == nullptr ? ServerProbe() : server->probe()});
  };
  sources.node = [this] {
    NodeState state;
    state.reasons = options_.reasons();
    state.healthy = state.reasons.empty();
    return state;
  };
  service_ = std::make_unique<RestService>(sources, *std::move(gate), RestResources::kProcess);
  absl::StatusOr<std::unique_ptr<RestServer>> server =
      RestServer::Start(*service_, ServerOptionsOf(config, *address));
  if (!server.ok())
    return absl::Status(
        server.status().code(),
        fmt::format("{}: {}", options_.option, std::string(server.status().message())));
  server_ = *std::move(server);
  counting_ = server_.get();
  spdlog::info("metrics: listening url={}", url());
  return absl::OkStatus();
}

}  // namespace eroica
