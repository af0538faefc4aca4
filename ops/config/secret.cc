#include "ops/config/secret.h"

#include <absl/status/statusor.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "ops/config/text_file.h"

namespace eroica {
namespace {

constexpr std::string_view kFileSuffix = "_file";
constexpr std::string_view kEnvironmentSuffix = "_env";

// Properties of librdkafka whose values are no secrets: all that its CONFIGURATION.md has of
// connections, groups, queues and times, by their beginnings.
constexpr std::string_view kOpenBeginnings[] = {"acks",
                                                "allow.",
                                                "api.version.",
                                                "auto.",
                                                "batch.",
                                                "bootstrap.",
                                                "broker.",
                                                "builtin.",
                                                "check.crcs",
                                                "client.dns.",
                                                "client.id",
                                                "client.rack",
                                                "compression.",
                                                "connections.",
                                                "consume.",
                                                "coordinator.",
                                                "debug",
                                                "delivery.",
                                                "dr_",
                                                "enable.",
                                                "fetch.",
                                                "group.",
                                                "heartbeat.",
                                                "internal.",
                                                "isolation.",
                                                "linger.",
                                                "log.",
                                                "log_level",
                                                "max.",
                                                "message.",
                                                "metadata.",
                                                "msg_",
                                                "offset.",
                                                "partition.",
                                                "partitioner",
                                                "plugin.",
                                                "produce.",
                                                "queue.",
                                                "queued.",
                                                "queuing.",
                                                "receive.",
                                                "reconnect.",
                                                "request.",
                                                "resolve_",
                                                "retries",
                                                "retry.",
                                                "sasl.kerberos.",
                                                "sasl.mechanism",
                                                "sasl.oauthbearer.assertion.algorithm",
                                                "sasl.oauthbearer.client.id",
                                                "sasl.oauthbearer.extensions",
                                                "sasl.oauthbearer.method",
                                                "sasl.oauthbearer.scope",
                                                "sasl.oauthbearer.token.endpoint.url",
                                                "sasl.username",
                                                "security.protocol",
                                                "session.",
                                                "socket.",
                                                "ssl.ca.certificate.stores",
                                                "ssl.ca.location",
                                                "ssl.certificate.location",
                                                "ssl.cipher.suites",
                                                "ssl.crl.location",
                                                "ssl.curves.list",
                                                "ssl.endpoint.",
                                                "ssl.engine.id",
                                                "ssl.engine.location",
                                                "ssl.key.location",
                                                "ssl.keystore.location",
                                                "ssl.providers",
                                                "ssl.sigalgs.list",
                                                "statistics.",
                                                "sticky.",
                                                "topic.",
                                                "transaction.",
                                                "transactional."};

// As shells and people write them: EROICA_PASSWORD.
bool LooksLikeVariable(std::string_view name) {
  return name.find('_') != std::string_view::npos && std::ranges::all_of(name, [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
         });
}

// "/etc/eroica/password", "./password", "password.txt".
bool LooksLikePath(std::string_view path) {
  constexpr size_t kEndingMax = 5;
  if (path.starts_with('/') || path.starts_with("./") || path.starts_with("../")) return true;
  const size_t dot = path.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return false;
  const std::string_view ending = path.substr(dot + 1);
  return !ending.empty() && ending.size() <= kEndingMax &&
         std::ranges::all_of(ending, [](char c) { return c >= 'a' && c <= 'z'; });
}

absl::StatusOr<std::string> SecretOfFile(const std::string& name, const std::string& path) {
  absl::StatusOr<std::string> secret =
      ReadSecretFile(fmt::format("kafka.properties.{}", name), path);
  if (!secret.ok()) return secret.status();
  while (!secret->empty() && (secret->back() == '\n' || secret->back() == '\r')) secret->pop_back();
  return secret;
}

absl::StatusOr<std::string> SecretOfVariable(const std::string& name, const std::string& variable) {
  const char* value = std::getenv(variable.c_str());
  if (value == nullptr) {
    return absl::NotFoundError(
        fmt::format("kafka.properties.{}: {} is not set", name, VariableForMessage(variable)));
  }
  return std::string(value);
}

}  // namespace

bool IsSecretProperty(std::string_view property) {
  for (const std::string_view part :
       {"password", "secret", "ssl.key.pem", "sasl.jaas", "sasl.oauthbearer.config"}) {
    if (property.find(part) != std::string_view::npos) return true;
  }
  return false;
}

bool HoldsSecret(std::string_view entry) {
  return IsSecretProperty(entry) && !entry.ends_with(kFileSuffix) &&
         !entry.ends_with(kEnvironmentSuffix);
}

bool MayShow(std::string_view entry, std::string_view value) {
  if (entry.ends_with(kFileSuffix)) return LooksLikePath(value);
  if (entry.ends_with(kEnvironmentSuffix)) return LooksLikeVariable(value);
  return !IsSecretProperty(entry) &&
         std::ranges::any_of(kOpenBeginnings, [entry](std::string_view beginning) {
           return entry.starts_with(beginning);
         });
}

std::string VariableForMessage(std::string_view variable) {
  return LooksLikeVariable(variable)
             ? fmt::format("the variable {}", variable)
             : "the variable (its name is not shown: it may be the secret itself; name a variable "
               "such as EROICA_PASSWORD)";
}

absl::StatusOr<std::string> ReadSecretFile(const std::string& option, const std::string& path) {
  absl::StatusOr<std::string> secret = ReadTextFile(path);
  if (secret.ok()) return secret;
  return absl::Status(
      secret.status().code(),
      LooksLikePath(path)
          ? fmt::format("{}: {}", option, std::string(secret.status().message()))
          : fmt::format("{}: the file cannot be read (its name is not shown: it may be the secret "
                        "itself; name a path that begins with / or ./)",
                        option));
}

absl::Status ResolveSecrets(NodeConfig* config) {
  std::map<std::string, std::string> resolved;
  for (const auto& [name, value] : config->kafka.properties) {
    const bool from_file = name.ends_with(kFileSuffix);
    const bool from_environment = name.ends_with(kEnvironmentSuffix);
    if (!from_file && !from_environment) {
      if (HoldsSecret(name)) {
        return absl::InvalidArgumentError(
            fmt::format("kafka.properties.{} is a secret and must not stand in the configuration; "
                        "name a file that holds it ({}_file) or "
                        "an environment variable ({}_env)",
                        name, name, name));
      }
      resolved[name] = value;
      continue;
    }
    const std::string property = name.substr(0, name.rfind('_'));
    absl::StatusOr<std::string> secret =
        from_file ? SecretOfFile(name, value) : SecretOfVariable(name, value);
    if (!secret.ok()) return secret.status();
    resolved[property] = *std::move(secret);
  }
  config->kafka.properties = std::move(resolved);
  return absl::OkStatus();
}

}  // namespace eroica
