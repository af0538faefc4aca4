#include "ops/alerts/webhook_signature.h"

#include <absl/strings/escaping.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <utility>

#include "schemas/check.h"

namespace eroica {

absl::StatusOr<WebhookKey> WebhookKey::FromSecret(std::string_view secret) {
  constexpr std::string_view kPrefix = "whsec_";
  constexpr size_t kBytesMin = 16;
  std::string bytes(secret);
  if (secret.starts_with(kPrefix)) {
    secret.remove_prefix(kPrefix.size());
    if (!absl::Base64Unescape(std::string(secret), &bytes))
      return absl::InvalidArgumentError("the webhook's secret is no base64 behind whsec_");
  }
  if (bytes.size() < kBytesMin)
    return absl::InvalidArgumentError(
        fmt::format("the webhook's secret has {} bytes, {} are the least: `openssl rand -base64 "
                    "32` makes one",
                    bytes.size(), kBytesMin));
  return WebhookKey(std::move(bytes));
}

std::string WebhookKey::Sign(std::string_view id, int64_t timestamp_s,
                             std::string_view body) const {
  const std::string text = fmt::format("{}.{}.{}", id, timestamp_s, body);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  const unsigned char* done =
      HMAC(EVP_sha256(), bytes_.data(), static_cast<int>(bytes_.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), &size);
  EROICA_CHECK(done != nullptr);
  return "v1," +
         std::string(absl::Base64Escape({reinterpret_cast<const char*>(digest.data()), size}));
}

}  // namespace eroica
