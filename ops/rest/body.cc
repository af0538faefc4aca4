#include "ops/rest/body.h"

#include <absl/strings/str_join.h>
#include <absl/time/time.h>
#include <fmt/format.h>

#include <cmath>

#include "ops/rest/problem.h"
#include "schemas/printable_text.h"

namespace eroica {

Body::Body(const HttpRequest& request) : request_(request), json_(nlohmann::json::object()) {
  if (request.body.empty()) return;
  json_ = nlohmann::json::parse(request.body, nullptr, false);
  if (json_.is_object()) return;
  Fail("the body is no JSON object");
  json_ = nlohmann::json::object();
}

const nlohmann::json* Body::Take(const std::string& name) {
  read_.insert(name);
  const auto field = json_.find(name);
  return field == json_.end() ? nullptr : &*field;
}

std::optional<std::string> Body::Text(const std::string& name, size_t characters_max) {
  const nlohmann::json* field = Take(name);
  if (field == nullptr) return std::nullopt;
  if (field->is_string() && CharacterCount(field->get_ref<const std::string&>()) <= characters_max)
    return field->get<std::string>();
  Fail(fmt::format("{} must be a text of at most {} characters", name, characters_max));
  return std::nullopt;
}

std::optional<int64_t> Body::Integer(const std::string& name, int64_t min, int64_t max) {
  const nlohmann::json* field = Take(name);
  if (field == nullptr) return std::nullopt;
  // JSON knows numbers alone: 60.0 is 60. All bounds are such that a double holds them.
  if (field->is_number()) {
    const auto value = field->get<double>();
    if (value >= static_cast<double>(min) && value <= static_cast<double>(max) &&
        value == std::floor(value))
      return static_cast<int64_t>(value);
  }
  Fail(fmt::format("{} must be a whole number from {} to {}", name, min, max));
  return std::nullopt;
}

std::optional<int64_t> Body::TimeMs(const std::string& name) {
  constexpr size_t kTimeBytesMax = 64;
  const std::optional<std::string> text = Text(name, kTimeBytesMax);
  if (!text) return std::nullopt;
  absl::Time time;
  std::string error;
  if (absl::ParseTime(absl::RFC3339_full, *text, &time, &error)) return absl::ToUnixMillis(time);
  Fail(fmt::format("{} must be a time such as 2026-11-24T10:00:00Z", name));
  return std::nullopt;
}

bool Body::Flag(const std::string& name) {
  const nlohmann::json* field = Take(name);
  if (field == nullptr) return false;
  if (!field->is_boolean()) Fail(fmt::format("{} must be true or false", name));
  return *field == true;
}

void Body::Require(bool given, const std::string& name) {
  if (!given) Fail(fmt::format("the field {} is missing", name));
}

void Body::Fail(const std::string& what) {
  if (error_.empty()) error_ = what;
}

std::optional<HttpResponse> Body::Refuse() {
  for (const auto& [name, value] : json_.items()) {
    if (read_.contains(name)) continue;
    Fail(fmt::format("there is no field {} here; there are: {}", name,
                     read_.empty() ? "none" : absl::StrJoin(read_, ", ")));
  }
  if (error_.empty()) return std::nullopt;
  return Problem(ProblemType::kBadRequest, error_, request_.target);
}

}  // namespace eroica
