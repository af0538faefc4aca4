#include "ops/cli/node_rest.h"

#include <absl/strings/ascii.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <utility>

#include "ops/cli/rest_access.h"
#include "ops/cli/state_folder.h"
#include "ops/cli/time_text.h"
#include "ops/config/memory_shares.h"
#include "ops/config/text_file.h"
#include "ops/metrics/node_metrics.h"
#include "producers/core/control_topic.h"

namespace eroica {
namespace {

constexpr std::string_view kOff = "off";

// Of what REST may hold, the findings' part.
constexpr int64_t kFindingsPart = 4;

std::string NodeName(const NodeConfig& config) {
  if (!config.kafka.instance_id.empty()) return config.kafka.instance_id;
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) return "node";
  return fmt::format("{}-{}", host.data(), getpid());
}

absl::StatusOr<ListenAddress> AddressOf(const NodeConfig& config) {
  if (config.rest.listen.empty())
    return ListenAddress{.address = "127.0.0.1", .port = kDefaultPort};
  return AddressToListenOn(config, "rest.listen", config.rest.listen);
}

}  // namespace

absl::Status CheckRest(const NodeConfig& config) {
  if (config.rest.listen == kOff) return absl::OkStatus();
  if (absl::Status status = CheckTlsFiles(config); !status.ok()) return status;
  return AddressOf(config).status();
}

absl::StatusOr<std::unique_ptr<NodeRest>> NodeRest::Open(const NodeConfig& config, Log& log,
                                                         JobBoard::JobsOfEndedTask ended) {
  std::unique_ptr<NodeRest> rest(new NodeRest(config, log));
  if (absl::Status status = CheckRest(config); !status.ok()) return status;
  if (config.rest.listen == kOff) return rest;
  const int64_t bytes = SharesOf(config).shown;
  rest->board_ =
      std::make_shared<JobBoard>(static_cast<uint64_t>(bytes - bytes / kFindingsPart), ended);
  rest->findings_ = std::make_unique<FindingIndex>(static_cast<uint64_t>(bytes / kFindingsPart));
  rest->follower_ =
      std::make_unique<FindingFollower>(log, config.node.topic_prefix, *rest->findings_);
  if (!config.kafka.bootstrap.empty())
    rest->nodes_ = std::make_unique<NodeDirectory>(log, config.node.topic_prefix, NowMs);
  rest->audit_ = std::make_unique<AuditLog>(log, config.node.topic_prefix, *rest->findings_);
  return rest;
}

absl::Status NodeRest::Start(Node node) {
  if (board_ == nullptr) return absl::OkStatus();
  absl::StatusOr<GateOptions> gate = GateOf(config_);
  if (!gate.ok()) return gate.status();
  const auto state = [this, node, name = NodeName(config_), roles = config_.node.roles,
                      started_ms = NowMs()] {
    return NodeState{.name = name,
                     .version = EROICA_VERSION,
                     .started_ms = started_ms,
                     .roles = roles,
                     .healthy = node.health->healthy(),
                     .reasons = node.health->reasons(),
                     .stages = node.stages(),
                     .findings_read = findings_->caught_up()};
  };
  const auto others = [this] {
    const bool may_ask = config_.rest.token_file.empty() || !config_.rest.peer_token_file.empty();
    return may_ask && nodes_ != nullptr ? nodes_->Others() : std::vector<KnownNode>();
  };
  const auto request_capture = [this](const Control& control) {
    return WriteControl(log_, config_.node.topic_prefix, control);
  };
  replays_ = std::make_unique<NodeReplays>(config_, StateFolder(config_) + "-replays");
  service_ = std::make_unique<RestService>(
      RestSources{.board = board_.get(),
                  .findings = findings_.get(),
                  .audit = audit_.get(),
                  .replays = replays_.get(),
                  .request_capture = request_capture,
                  .metrics = [this, node, state] { return Metrics(node, state()); },
                  .others = others,
                  .node = state,
                  .wall_clock_ms = NowMs},
      *std::move(gate));
  if (absl::Status status = Listen(); !status.ok()) return status;
  follower_->Start();
  if (nodes_ != nullptr)
    nodes_->Start(NodeName(config_),
                  config_.rest.advertise.empty() ? url() : config_.rest.advertise);
  audit_->Start();
  return absl::OkStatus();
}

std::string NodeRest::Metrics(const Node& node, const NodeState& state) const {
  const RestServer* server = counting_;
  return NodeMetrics(
      {.node = state,
       .now_ms = NowMs(),
       .times_unhealthy = node.health->times_unhealthy(),
       .findings_malformed = follower_->malformed(),
       .board = board_.get(),
       .findings = findings_.get(),
       .http = server == nullptr ? ServerProbe() : server->probe(),
       .state = node.store == nullptr ? std::nullopt : std::optional(node.store->Measure())});
}

absl::StatusOr<PeerOptions> NodeRest::Peers() const {
  PeerOptions peers{.token = {}, .ca_certificate = config_.rest.peer_ca_certificate};
  if (config_.rest.peer_token_file.empty()) return peers;
  absl::StatusOr<std::string> token = ReadTextFile(config_.rest.peer_token_file);
  if (!token.ok()) return token.status();
  peers.token = std::string(absl::StripAsciiWhitespace(*token));
  return peers;
}

absl::Status NodeRest::Listen() {
  absl::StatusOr<PeerOptions> peers = Peers();
  if (!peers.ok()) return peers.status();
  ServerOptions options = ServerOptionsOf(config_, *AddressOf(config_));
  options.peers = *std::move(peers);
  absl::StatusOr<std::unique_ptr<RestServer>> server = RestServer::Start(*service_, options);
  if (absl::IsUnavailable(server.status()) && config_.rest.listen.empty()) {
    options.port = 0;
    server = RestServer::Start(*service_, options);
  }
  if (!server.ok())
    return absl::Status(server.status().code(),
                        fmt::format("rest.listen: {}; set another one, or \"off\"",
                                    std::string(server.status().message())));
  server_ = *std::move(server);
  counting_ = server_.get();
  spdlog::info("rest: listening url={}", url());
  return absl::OkStatus();
}

}  // namespace eroica
