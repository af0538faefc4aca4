#include "stream_ops/runtime/dead_letter.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "stream_ops/runtime/stream_task.h"
#include "stream_ops/topics.h"

namespace eroica {
namespace {

constexpr std::string_view kPrefix = "dead-letter-";

std::optional<std::string_view> FindLastHeader(const Headers& headers, std::string_view name) {
  const auto found = std::find_if(headers.rbegin(), headers.rend(),
                                  [name](const auto& header) { return header.first == name; });
  if (found == headers.rend()) return std::nullopt;
  return std::string_view(found->second);
}

std::string TextOf(const Headers& headers, std::string_view name) {
  return std::string(FindLastHeader(headers, name).value_or(std::string_view()));
}

template <typename Number>
std::optional<Number> NumberOf(const Headers& headers, std::string_view name) {
  const std::optional<std::string_view> text = FindLastHeader(headers, name);
  Number number = 0;
  if (!text) return std::nullopt;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc{} || stop != end || number < 0) return std::nullopt;
  return number;
}

}  // namespace

std::optional<DeadLetter> ReadDeadLetter(ConsumerRecord record) {
  const auto partition = NumberOf<int32_t>(record.headers, kHeaderDeadLetterPartition);
  const auto offset = NumberOf<int64_t>(record.headers, kHeaderDeadLetterOffset);
  DeadLetter letter;
  letter.source.topic = TextOf(record.headers, kHeaderDeadLetterTopic);
  letter.reason = TextOf(record.headers, kHeaderDeadLetterReason);
  if (!partition || !offset || letter.source.topic.empty() || letter.reason.empty())
    return std::nullopt;
  letter.source.partition = *partition;
  letter.offset = *offset;
  letter.end = NumberOf<int64_t>(record.headers, kHeaderDeadLetterEnd).value_or(*offset + 1);
  letter.detail = TextOf(record.headers, kHeaderDeadLetterDetail);
  letter.stage = TextOf(record.headers, kHeaderDeadLetterStage);
  letter.job = TextOf(record.headers, kHeaderJob);
  // Behind the letter's own headers; one before them is the refused record's.
  const auto is = [](std::string_view name) {
    return [name](const auto& header) { return header.first == name; };
  };
  const auto reason =
      std::find_if(record.headers.rbegin(), record.headers.rend(), is(kHeaderDeadLetterReason));
  letter.cut = std::any_of(record.headers.rbegin(), reason, is(kHeaderDeadLetterCut));
  letter.value_bytes = record.value.size();
  if (letter.cut) {
    letter.value_bytes =
        NumberOf<uint64_t>(record.headers, kHeaderDeadLetterCut).value_or(letter.value_bytes);
  }
  letter.resend_of = TextOf(record.headers, kHeaderResendOf);
  letter.record = std::move(record);
  return letter;
}

std::string SourcePosition(const DeadLetter& letter) {
  return fmt::format("{}/{}/{}", letter.source.topic, letter.source.partition, letter.offset);
}

std::optional<ProducerRecord> ResendOf(const DeadLetter& letter) {
  if (letter.cut) return std::nullopt;
  ProducerRecord record;
  record.topic = letter.source.topic;
  record.key = letter.record.key;
  record.value = letter.record.value;
  record.timestamp_ms = letter.record.timestamp_ms;
  for (const auto& header : letter.record.headers) {
    if (!header.first.starts_with(kPrefix) && header.first != kHeaderResendOf)
      record.headers.push_back(header);
  }
  record.headers.emplace_back(kHeaderResendOf, SourcePosition(letter));
  // Its key leads to the task of its job, also where the topic has got more partitions since.
  if (record.key.empty()) record.partition = letter.source.partition;
  return record;
}

ProducerRecord ResentMark(const DeadLetter& letter) {
  ProducerRecord record;
  record.topic = letter.record.topic;
  record.key = letter.record.key;
  record.timestamp_ms = letter.record.timestamp_ms;
  record.headers.emplace_back(kHeaderDeadLetterResent, SourcePosition(letter));
  return record;
}

// A stage ends the headers of a letter with its own, so that no record which it refuses passes for
// a mark. Nor is another record's own word for a resend (resend-of) taken for one.
std::optional<std::string> ResentPosition(const ConsumerRecord& record) {
  const bool is_mark =
      !record.headers.empty() && record.headers.back().first == kHeaderDeadLetterResent;
  return is_mark ? std::optional(record.headers.back().second) : std::nullopt;
}

}  // namespace eroica
