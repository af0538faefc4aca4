#include "ops/cli/dead_letter_text.h"

#include <absl/strings/escaping.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "ops/cli/time_text.h"
#include "ops/cli/wrapped_text.h"
#include "schemas/drop_reason.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

std::string PrintableLine(const Json& json) {
  return PrintableJson(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// What a table has room for. The cut falls between characters of UTF-8.
std::string Shortened(std::string_view name) {
  constexpr size_t kBytesMax = 40;
  std::string shown = Printable(name);
  if (shown.size() <= kBytesMax) return shown;
  size_t end = kBytesMax - 3;
  while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xc0) == 0x80) --end;
  return shown.substr(0, end) + "...";
}

std::string SourceText(const DeadLetter& letter) {
  const std::string last =
      letter.end > letter.offset + 1 ? fmt::format("..{}", letter.end - 1) : std::string();
  return fmt::format("{}/{}/{}{}", Shortened(letter.source.topic), letter.source.partition,
                     letter.offset, last);
}

std::string_view StateText(const DeadLetter& letter) {
  return letter.resent ? " (sent back)" : letter.resend_of.empty() ? "" : " (came back)";
}

std::string SizeText(const DeadLetter& letter) {
  if (letter.reason == ToString(DropReason::kUnreadable)) return "none";
  return letter.cut ? fmt::format("{}, cut", letter.value_bytes)
                    : fmt::format("{}", letter.value_bytes);
}

std::string Base64(const std::string& bytes) {
  std::string encoded;
  absl::Base64Escape(absl::string_view(bytes.data(), bytes.size()), &encoded);
  return encoded;
}

}  // namespace

std::string DeadLetterTable(const std::vector<DeadLetter>& letters) {
  constexpr size_t kTextColumns = 6;
  std::vector<std::vector<std::string>> rows = {
      {"time", "reason", "stage", "source", "job", "key", "bytes"}};
  for (const DeadLetter& letter : letters) {
    rows.push_back({TimeText(letter.record.timestamp_ms),
                    Shortened(letter.reason) + std::string(StateText(letter)),
                    Shortened(letter.stage), SourceText(letter), Shortened(letter.job),
                    Shortened(letter.record.key), SizeText(letter)});
  }
  return AlignedColumns(rows, kTextColumns) + "\n";
}

std::string DeadLetterJson(const DeadLetter& letter, bool with_payload) {
  Json json{{"source",
             {{"topic", letter.source.topic},
              {"partition", letter.source.partition},
              {"offset", letter.offset}}},
            {"end_offset", letter.end},
            {"dead_letter",
             {{"topic", letter.record.topic},
              {"partition", letter.record.partition},
              {"offset", letter.record.offset}}},
            {"time", TimeText(letter.record.timestamp_ms)},
            {"reason", letter.reason},
            {"detail", letter.detail.empty() ? Json() : Json(letter.detail)},
            {"stage", letter.stage},
            {"job", letter.job},
            {"key", letter.record.key},
            {"bytes", letter.value_bytes},
            {"whole", !letter.cut},
            {"sent_back", letter.resent},
            {"resend_of", letter.resend_of.empty() ? Json() : Json(letter.resend_of)}};
  if (with_payload) {
    json["key_base64"] = Base64(letter.record.key);
    json["value_base64"] = Base64(letter.record.value);
  }
  return PrintableLine(json);
}

std::string ReasonsText(const ReasonCounts& reasons) {
  std::vector<std::pair<uint64_t, std::string>> sorted;
  uint64_t total = 0;
  for (const auto& [reason, count] : reasons) {
    sorted.emplace_back(count, reason);
    total += count;
  }
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = fmt::format("{} dead letter{}", total, total == 1 ? "" : "s");
  for (const auto& [count, reason] : sorted)
    text += fmt::format("{} {} {}", &count == &sorted.front().first ? ":" : ",", count,
                        Shortened(reason));
  return text;
}

std::string ReasonsJson(const ReasonCounts& reasons) {
  uint64_t total = 0;
  Json counts = Json::object();
  for (const auto& [reason, count] : reasons) {
    counts[reason] = count;
    total += count;
  }
  return PrintableLine({{"dead_letters", total}, {"reasons", std::move(counts)}});
}

}  // namespace eroica
