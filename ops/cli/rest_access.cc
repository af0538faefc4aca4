#include "ops/cli/rest_access.h"

#include <absl/strings/str_split.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <optional>
#include <utility>

#include "ops/config/text_file.h"
#include "ops/rest/node_directory.h"

namespace eroica {
namespace {

absl::StatusOr<TokenTable> ReadTokens(const std::string& file) {
  // It is read while requests wait.
  const absl::StatusOr<std::string> text = ReadTextFile(file, std::chrono::seconds(1));
  if (!text.ok()) return text.status();
  return TokenTable::Parse(*text, file);
}

}  // namespace

absl::StatusOr<ListenAddress> AddressToListenOn(const NodeConfig& config, const std::string& option,
                                                const std::string& text) {
  absl::StatusOr<ListenAddress> address = ParseListenAddress(text);
  if (!address.ok())
    return absl::InvalidArgumentError(
        fmt::format("{}: {}", option, std::string(address.status().message())));
  if (address->IsLoopback() || !config.rest.token_file.empty() || config.rest.network_without_token)
    return address;
  return absl::InvalidArgumentError(
      fmt::format("{} = \"{}\" would let everybody who reaches this address read the jobs: give "
                  "rest.token_file (`eroica token` makes one), or say that it is meant by "
                  "rest.network_without_token = true",
                  option, text));
}

absl::Status CheckTlsFiles(const NodeConfig& config) {
  if (config.rest.tls_certificate.empty() == config.rest.tls_key.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "rest.tls_certificate and rest.tls_key go together: give both, or none");
}

absl::StatusOr<GateOptions> GateOf(const NodeConfig& config) {
  GateOptions gate{.tokens = std::nullopt,
                   .hosts = absl::StrSplit(config.rest.hosts, ',', absl::SkipEmpty()),
                   .requests_per_second = config.rest.requests_per_second};
  // By which the others call it.
  if (const auto url = ParseNodeUrl(config.rest.advertise)) gate.hosts.push_back(url->host);
  if (config.rest.token_file.empty()) return gate;
  absl::StatusOr<TokenTable> tokens = ReadTokens(config.rest.token_file);
  if (!tokens.ok()) return tokens.status();
  gate.tokens = *std::move(tokens);
  gate.read_tokens = [file = config.rest.token_file, said = false]() mutable {
    absl::StatusOr<TokenTable> now = ReadTokens(file);
    if (!now.ok() && !said)
      spdlog::warn("rest: the tokens stay as they were: {}", std::string(now.status().message()));
    said = !now.ok();
    return now.ok() ? std::optional(*std::move(now)) : std::nullopt;
  };
  return gate;
}

ServerOptions ServerOptionsOf(const NodeConfig& config, const ListenAddress& address) {
  ServerOptions options{
      .address = address.address, .port = address.port, .tls = {}, .peers = {}, .limits = {}};
  options.limits.connections = static_cast<size_t>(config.rest.connections_max);
  if (!config.rest.tls_key.empty())
    options.tls = TlsFiles{.certificate = config.rest.tls_certificate, .key = config.rest.tls_key};
  return options;
}

}  // namespace eroica
