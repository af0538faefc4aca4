#include "ops/rest/body.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "ops/rest/json_fields.h"
#include "schemas/printable_text.h"

namespace eroica {

Body::Body(const HttpRequest& request)
    : CheckedInput("field", request.target), json_(nlohmann::json::object()) {
  if (request.body.empty()) return;
  json_ = ParseForeignJson(request.body);
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

std::optional<int64_t> Body::TimeMs(const std::string& name) {
  const nlohmann::json* field = Take(name);
  if (field == nullptr) return std::nullopt;
  return ReadTimeMs(name, field->is_string() ? field->get<std::string>() : "");
}

std::vector<std::string> Body::Assignments(const std::string& name, size_t count_max) {
  const nlohmann::json* field = Take(name);
  std::vector<std::string> assignments;
  if (field == nullptr) return assignments;
  if (!field->is_object() || field->size() > count_max) {
    Fail(fmt::format("{} must be an object of at most {} members", name, count_max));
    return assignments;
  }
  for (const auto& [key, value] : field->items()) {
    if (!value.is_primitive() || value.is_null())
      Fail(fmt::format("{}: {} must be a text, a number, true or false", name, Printable(key)));
    assignments.push_back(fmt::format(
        "{}={}", key, value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)));
  }
  return assignments;
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
