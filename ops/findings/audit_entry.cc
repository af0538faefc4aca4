#include "ops/findings/audit_entry.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, kAuditActionCount> kActions = {
    "acknowledge", "mute", "unmute", "capture", "replay", "act"};

bool TakeText(const Json& json, const char* name, std::string* out) {
  const auto field = json.find(name);
  if (field == json.end() || !field->is_string()) return false;
  *out = field->get<std::string>();
  return true;
}

bool TakeNumber(const Json& json, const char* name, int64_t* out) {
  const auto field = json.find(name);
  if (field == json.end() || !field->is_number_integer()) return false;
  *out = field->get<int64_t>();
  return true;
}

}  // namespace

std::string_view ToString(AuditAction action) { return kActions[static_cast<size_t>(action)]; }

std::string AuditTopicName(std::string_view prefix) { return fmt::format("{}.audit", prefix); }

std::string EncodeAuditEntry(const AuditEntry& entry) {
  const Json json{{"id", entry.id},
                  {"at_ms", entry.at_ms},
                  {"by", entry.by},
                  {"action", ToString(entry.action)},
                  {"target", entry.target},
                  {"detail", entry.detail},
                  {"until_ms", entry.until_ms}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<AuditEntry> DecodeAuditEntry(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  AuditEntry entry;
  std::string action;
  if (!json.is_object() || !TakeText(json, "id", &entry.id) || !TakeText(json, "by", &entry.by) ||
      !TakeText(json, "action", &action) || !TakeText(json, "target", &entry.target) ||
      !TakeText(json, "detail", &entry.detail) || !TakeNumber(json, "at_ms", &entry.at_ms) ||
      !TakeNumber(json, "until_ms", &entry.until_ms))
    return std::nullopt;
  for (size_t i = 0; i < kActions.size(); ++i) {
    if (action != kActions[i]) continue;
    entry.action = static_cast<AuditAction>(i);
    return entry;
  }
  return std::nullopt;
}

void Fold(const AuditEntry& entry, Annotation* annotation) {
  Annotation::Action action{.by = entry.by, .at_ms = entry.at_ms, .note = entry.detail};
  switch (entry.action) {
    case AuditAction::kAcknowledge: annotation->acknowledged = std::move(action); return;
    case AuditAction::kMute:
      annotation->muted = Annotation::Mute{.action = std::move(action), .until_ms = entry.until_ms};
      return;
    case AuditAction::kUnmute: annotation->muted.reset(); return;
    case AuditAction::kCapture:
    case AuditAction::kReplay:
    case AuditAction::kAct: return;
  }
}

}  // namespace eroica
