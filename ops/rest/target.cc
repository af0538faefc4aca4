#include "ops/rest/target.h"

#include <absl/strings/ascii.h>
#include <fmt/format.h>

#include <utility>

#include "schemas/printable_text.h"

namespace eroica {
namespace {

constexpr size_t kQueryParametersMax = 32;

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

absl::StatusOr<std::string> Decode(std::string_view text, bool plus_is_space) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      decoded += ' ';
    } else if (text[i] != '%') {
      if (!absl::ascii_isgraph(static_cast<unsigned char>(text[i])))
        return absl::InvalidArgumentError(
            "the target holds a byte that must be percent-encoded (RFC 3986)");
      decoded += text[i];
    } else {
      const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
      if (high < 0 || low < 0)
        return absl::InvalidArgumentError("a % in the target is not followed by two hex digits");
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  if (decoded.find('\0') != std::string::npos || !IsUtf8(decoded))
    return absl::InvalidArgumentError(
        "the target, once it is decoded, is not valid UTF-8 or holds a NUL");
  return decoded;
}

absl::Status ParsePath(std::string_view path, Target* target) {
  if (path.empty() || path[0] != '/')
    return absl::InvalidArgumentError("the target does not begin with a slash");
  path.remove_prefix(1);
  while (!path.empty()) {
    const size_t slash = path.find('/');
    absl::StatusOr<std::string> segment = Decode(path.substr(0, slash), false);
    if (!segment.ok()) return segment.status();
    if (segment->empty() || *segment == "." || *segment == "..")
      return absl::InvalidArgumentError("the path has an empty segment, or one of dots");
    target->path.push_back(*std::move(segment));
    path = slash == std::string_view::npos ? "" : path.substr(slash + 1);
    if (slash != std::string_view::npos && path.empty())
      return absl::InvalidArgumentError("the path ends with a slash: leave it out");
  }
  return absl::OkStatus();
}

absl::Status ParseQuery(std::string_view query, Target* target) {
  while (!query.empty()) {
    const size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    query = end == std::string_view::npos ? "" : query.substr(end + 1);
    if (pair.empty()) continue;
    const size_t equals = pair.find('=');
    absl::StatusOr<std::string> name = Decode(pair.substr(0, equals), true);
    if (!name.ok()) return name.status();
    absl::StatusOr<std::string> value =
        Decode(equals == std::string_view::npos ? "" : pair.substr(equals + 1), true);
    if (!value.ok()) return value.status();
    if (target->query.size() == kQueryParametersMax)
      return absl::InvalidArgumentError("the query has too many parameters");
    if (!target->query.emplace(*name, *std::move(value)).second)
      return absl::InvalidArgumentError(
          fmt::format("the parameter {} stands twice", Printable(*name)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Target> ParseTarget(std::string_view target) {
  if (target.size() > kTargetBytesMax)
    return absl::InvalidArgumentError(
        fmt::format("the target is longer than {} bytes", kTargetBytesMax));
  if (target.find('#') != std::string_view::npos)
    return absl::InvalidArgumentError("the target holds a fragment");
  Target parsed;
  const size_t question = target.find('?');
  if (absl::Status status = ParsePath(target.substr(0, question), &parsed); !status.ok())
    return status;
  if (question == std::string_view::npos) return parsed;
  if (absl::Status status = ParseQuery(target.substr(question + 1), &parsed); !status.ok())
    return status;
  return parsed;
}

std::string EncodeComponent(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool unreserved = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
                            c == '.' || c == '_' || c == '~';
    encoded +=
        unreserved ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

}  // namespace eroica
