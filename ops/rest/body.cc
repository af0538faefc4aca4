#include "ops/rest/body.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "schemas/printable_text.h"

namespace eroica {

Body::Body(const HttpRequest& request)
    : CheckedInput("field", request.target), json_(nlohmann::json::object()) {
  if (request.body.empty()) return;
  json_ = nlohmann::json::parse(request.body, nullptr, false);
  if (json_.is_object()) return;
  Fail("the body is no JSON object");
  json_ = nlohmann::json::object();
}

const nlohmann::json* Body::Take(const std::string& name) {
  MarkRead(name);
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

bool Body::Flag(const std::string& name) {
  const nlohmann::json* field = Take(name);
  if (field == nullptr) return false;
  if (!field->is_boolean()) Fail(fmt::format("{} must be true or false", name));
  return *field == true;
}

std::optional<HttpResponse> Body::Refuse() {
  std::vector<std::string> given;
  for (const auto& [name, value] : json_.items()) given.push_back(name);
  return RefuseOf(given);
}

}  // namespace eroica
