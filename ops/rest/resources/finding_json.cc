#include "ops/rest/resources/finding_json.h"

#include <fmt/format.h>

#include "ops/rest/resources/answer.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

Json ActionJson(const Annotation::Action& action) {
  return {{"by", action.by}, {"at", TimeOfMs(action.at_ms)}, {"note", action.note}};
}

Json AnnotationJson(const Annotation& annotation) {
  Json json{{"acknowledged", nullptr}, {"muted", nullptr}};
  if (annotation.acknowledged) json["acknowledged"] = ActionJson(*annotation.acknowledged);
  if (annotation.muted) {
    json["muted"] = ActionJson(annotation.muted->action);
    json["muted"]["until"] = TimeOfMs(annotation.muted->until_ms);
  }
  return json;
}

}  // namespace

std::string ShownFinding(const FindingEntry& entry, FindingView view) {
  const bool brief = view == FindingView::kBrief && !entry.brief_json.empty();
  const std::string& json = brief ? entry.brief_json : entry.json;
  const std::string annotation =
      AnnotationJson(entry.annotation).dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::string times =
      entry.json_has_times
          ? ""
          : fmt::format(R"("first_seen":"{}","last_seen":"{}",)", TimeOfMs(entry.first_seen_ms),
                        TimeOfMs(entry.last_seen_ms));
  // The JSON is an object: its last byte closes it.
  return fmt::format(R"({},{}"victims_total":{},"annotation":{}}})",
                     std::string_view(json).substr(0, json.size() - 1), times, entry.victims,
                     PrintableJson(annotation));
}

}  // namespace eroica
