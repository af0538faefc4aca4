#include "ops/rest/tokens.h"

#include <absl/strings/ascii.h>
#include <absl/strings/escaping.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <utility>

#include "schemas/check.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

constexpr size_t kTokensMax = 1'000;
constexpr size_t kNameBytesMax = 64;

bool IsTokenName(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytesMax &&
         std::ranges::all_of(name, [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.' || c == '@';
         });
}

std::optional<Scopes> ParseScopes(const std::string& text) {
  Scopes scopes;
  const std::vector<std::string> names = absl::StrSplit(text, ',');
  for (const std::string& part : names) {
    if (part == "read") {
      scopes.read = true;
    } else if (part == "control") {
      scopes.control = true;
    } else {
      return std::nullopt;
    }
  }
  return scopes;
}

std::optional<Sha256Digest> ParseDigest(const std::string& text) {
  Sha256Digest digest;
  if (text.size() != 2 * digest.size() ||
      !std::ranges::all_of(text, [](unsigned char c) { return absl::ascii_isxdigit(c); }))
    return std::nullopt;
  const std::string bytes = absl::HexStringToBytes(text);
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return digest;
}

std::string Hex(const uint8_t* bytes, size_t size) {
  std::string hex;
  for (size_t i = 0; i < size; ++i) hex += fmt::format("{:02x}", bytes[i]);
  return hex;
}

}  // namespace

Sha256Digest Sha256(std::string_view text) {
  Sha256Digest digest;
  unsigned int size = 0;
  const int done =
      EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  EROICA_CHECK(done == 1 && size == digest.size());
  return digest;
}

absl::StatusOr<TokenTable> TokenTable::Parse(std::string_view text, const std::string& file_name) {
  TokenTable table;
  int number = 0;
  const auto error = [&](std::string_view what) {
    return absl::InvalidArgumentError(
        fmt::format("{}:{}: {}; a line is NAME SCOPES SHA256, as `eroica token` prints it",
                    file_name, number, what));
  };
  const std::vector<std::string> lines = absl::StrSplit(std::string(text), '\n');
  for (const std::string& line : lines) {
    ++number;
    const std::vector<std::string> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty() || words[0][0] == '#') continue;
    if (words.size() != 3) return error("the line has not three words");
    if (!IsTokenName(words[0])) return error("the name must be of letters, digits, - _ . and @");
    const std::optional<Scopes> scopes = ParseScopes(words[1]);
    if (!scopes) return error("the scopes are read, control, or read,control");
    const std::optional<Sha256Digest> digest = ParseDigest(words[2]);
    if (!digest) return error("the last word is no SHA-256 in hex");
    if (table.rows_.size() == kTokensMax) return error("there are too many tokens");
    table.rows_.push_back({.digest = *digest, .caller = {.name = words[0], .scopes = *scopes}});
  }
  if (table.rows_.empty())
    return absl::InvalidArgumentError(fmt::format(
        "{}: there is no token in it: `eroica token --name NAME --scope read` makes a line",
        file_name));
  return table;
}

std::optional<Caller> TokenTable::Find(std::string_view authorization) const {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() <= kScheme.size() ||
      !std::ranges::equal(authorization.substr(0, kScheme.size()), kScheme, {},
                          [](unsigned char c) { return absl::ascii_tolower(c); }))
    return std::nullopt;
  const Sha256Digest digest = Sha256(authorization.substr(kScheme.size()));
  const Row* found = nullptr;
  for (const Row& row : rows_) {
    if (CRYPTO_memcmp(row.digest.data(), digest.data(), digest.size()) == 0) found = &row;
  }
  if (found == nullptr) return std::nullopt;
  return found->caller;
}

absl::StatusOr<NewToken> MakeToken(const std::string& name, Scopes scopes) {
  if (!IsTokenName(name))
    return absl::InvalidArgumentError(
        fmt::format("the name {} must be of letters, digits, - _ . and @", Printable(name)));
  std::array<uint8_t, 32> random;
  if (RAND_bytes(random.data(), static_cast<int>(random.size())) != 1)
    return absl::InternalError("the system gives no randomness");
  NewToken made{.token = "eroica_" + Hex(random.data(), random.size()), .line = {}};
  const Sha256Digest digest = Sha256(made.token);
  made.line = fmt::format("{} {}{}{} {}", name, scopes.read ? "read" : "",
                          scopes.read && scopes.control ? "," : "", scopes.control ? "control" : "",
                          Hex(digest.data(), digest.size()));
  return made;
}

}  // namespace eroica
