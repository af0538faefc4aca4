#include "ops/cli/dead_letter_resend.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "schemas/printable_text.h"
#include "stream_ops/topics.h"

namespace eroica {
namespace {

constexpr std::chrono::milliseconds kFlushTimeout{30'000};
constexpr size_t kMarksMax = 1'000;

}  // namespace

uint64_t ResendCounts::total_sent() const {
  uint64_t total = 0;
  for (const auto& [topic, count] : sent) total += count;
  return total;
}

bool DeadLetterResend::IsInputOfAStage(const std::string& topic) const {
  constexpr std::array kInputs = {Topic::kEvents, Topic::kCollectives, Topic::kPatterns};
  return std::ranges::any_of(
      kInputs, [&](Topic input) { return TopicName(options_.topic_prefix, input) == topic; });
}

absl::Status DeadLetterResend::Send(const DeadLetter& letter) {
  const bool before = letter.resent || !letter.resend_of.empty();
  uint64_t* const not_sent = !IsInputOfAStage(letter.source.topic) ? &counts_.foreign_topic
                             : letter.cut                          ? &counts_.cut
                             : before && !options_.again           ? &counts_.sent_before
                                                                   : nullptr;
  if (not_sent != nullptr) {
    ++*not_sent;
    return absl::OkStatus();
  }
  if (!options_.dry_run) {
    const std::optional<ProducerRecord> record = ResendOf(letter);
    const absl::Status status =
        record ? Append(*record) : absl::InvalidArgumentError("a part of it is missing");
    if (absl::IsInvalidArgument(status)) {
      ++counts_.refused;
      return absl::OkStatus();
    }
    if (!status.ok()) return status;
    marks_.push_back(ResentMark(letter));
  }
  ++counts_.sent[letter.source.topic];
  return marks_.size() < kMarksMax ? absl::OkStatus() : Finish();
}

// A full queue is waited for.
absl::Status DeadLetterResend::Append(const ProducerRecord& record) {
  absl::Status status = producer_->Append(record);
  if (!absl::IsResourceExhausted(status)) return status;
  if (status = producer_->Flush(kFlushTimeout); !status.ok()) return status;
  return producer_->Append(record);
}

absl::Status DeadLetterResend::Finish() {
  if (marks_.empty()) return absl::OkStatus();
  if (absl::Status status = producer_->Flush(kFlushTimeout); !status.ok()) return status;
  absl::Status status;
  for (size_t i = 0; status.ok() && i < marks_.size(); ++i) status = Append(marks_[i]);
  if (status.ok()) status = producer_->Flush(kFlushTimeout);
  const size_t count = std::exchange(marks_, {}).size();
  if (status.ok()) return status;
  return absl::Status(
      status.code(),
      fmt::format("{} records were sent back, but that could not be marked on the dead-letter "
                  "topic, so another replay would send them again: {}",
                  count, std::string(status.message())));
}

std::string ResendText(const ResendCounts& counts, bool dry_run) {
  std::string text =
      fmt::format("{} {} back", dry_run ? "would send" : "sent", counts.total_sent());
  for (const auto& [topic, count] : counts.sent)
    text += fmt::format("{} {} to {}", &count == &counts.sent.begin()->second ? ":" : ",", count,
                        Printable(topic));
  text += "\n";
  const auto not_sent = [&text](uint64_t count, std::string_view why) {
    if (count > 0) text += fmt::format("not sent: {} {}\n", count, why);
  };
  not_sent(counts.cut, "of which only a part is on the dead-letter topic");
  not_sent(counts.sent_before, "that were sent back before (--again sends them once more)");
  not_sent(counts.foreign_topic, "that came from no topic which a stage reads");
  not_sent(counts.refused, "that the log does not take");
  return text;
}

std::string ResendJson(const ResendCounts& counts, bool dry_run) {
  return nlohmann::ordered_json{{"dry_run", dry_run},
                                {"sent", counts.sent},
                                {"not_sent",
                                 {{"cut", counts.cut},
                                  {"sent_before", counts.sent_before},
                                  {"foreign_topic", counts.foreign_topic},
                                  {"refused", counts.refused}}}}
      .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace eroica
