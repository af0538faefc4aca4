// Who may ask, and for what: bearer tokens (RFC 6750). The node knows their SHA-256 only, from a
// file with a token a line:
//
//   # NAME   SCOPES        SHA-256 of the token
//   grafana  read          9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
//   oncall   read,control  60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752
//
// `eroica token` makes a token and its line. Immutable once read: any thread.
#pragma once

#include <absl/status/statusor.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace eroica {

struct Scopes {
  bool read = false;
  bool control = false;
};

// Who asks: a token's name, or nobody in particular.
struct Caller {
  std::string name;
  Scopes scopes;
};

using Sha256Digest = std::array<uint8_t, 32>;
Sha256Digest Sha256(std::string_view text);

class TokenTable {
 public:
  // kInvalidArgument names the line. file_name is for messages.
  static absl::StatusOr<TokenTable> Parse(std::string_view text, const std::string& file_name);

  // Of the token behind "Bearer "; nothing where it is none of ours. Takes the same time whichever
  // it is: all of them are compared, as wholes.
  std::optional<Caller> Find(std::string_view authorization) const;
  size_t size() const { return rows_.size(); }

 private:
  struct Row {
    Sha256Digest digest;
    Caller caller;
  };
  std::vector<Row> rows_;
};

// A new token, 256 bits of the system's randomness, and its line of the file.
struct NewToken {
  std::string token;
  std::string line;
};
absl::StatusOr<NewToken> MakeToken(const std::string& name, Scopes scopes);

}  // namespace eroica
