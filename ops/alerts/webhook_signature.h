// Signature of a webhook by the Standard Webhooks scheme: HMAC-SHA256 over "ID.TIMESTAMP.BODY", so
// that a receiver knows who sent it and that it is no old one sent again. docs/ALERTS.md shows how
// to verify. Pure; any thread.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace eroica {

class WebhookKey {
 public:
  // secret: "whsec_" and base64, as webhook services hand it out; anything else counts byte by
  // byte. kInvalidArgument, without the secret in its message: no base64, or under 16 bytes.
  static absl::StatusOr<WebhookKey> FromSecret(std::string_view secret);

  // "v1,BASE64", for the header webhook-signature.
  std::string Sign(std::string_view id, int64_t timestamp_s, std::string_view body) const;

 private:
  explicit WebhookKey(std::string bytes) : bytes_(std::move(bytes)) {}
  std::string bytes_;  // secret
};

}  // namespace eroica
