#include "ops/config/secret.h"

#include <absl/status/statusor.h>
#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <utility>

#include "ops/config/text_file.h"

namespace eroica {
namespace {

constexpr std::string_view kFileSuffix = "_file";
constexpr std::string_view kEnvironmentSuffix = "_env";

absl::StatusOr<std::string> ReadSecretFile(const std::string& name, const std::string& path) {
  absl::StatusOr<std::string> secret = ReadTextFile(path);
  if (!secret.ok())
    return absl::NotFoundError(
        fmt::format("kafka.properties.{}: {}", name, std::string(secret.status().message())));
  while (!secret->empty() && (secret->back() == '\n' || secret->back() == '\r')) secret->pop_back();
  return secret;
}

absl::StatusOr<std::string> ReadSecretVariable(const std::string& name,
                                               const std::string& variable) {
  const char* value = std::getenv(variable.c_str());
  if (value == nullptr) {
    return absl::NotFoundError(fmt::format(
        "kafka.properties.{} names the environment variable {}, which is not set", name, variable));
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
        from_file ? ReadSecretFile(name, value) : ReadSecretVariable(name, value);
    if (!secret.ok()) return secret.status();
    resolved[property] = *std::move(secret);
  }
  config->kafka.properties = std::move(resolved);
  return absl::OkStatus();
}

}  // namespace eroica
