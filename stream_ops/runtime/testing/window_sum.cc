#include "stream_ops/runtime/testing/window_sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <new>

namespace eroica::testing {
namespace {

bool ParseNumber(std::string_view text, int64_t* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

bool ParseRecord(std::string_view text, std::string* key, int64_t* window, int64_t* amount) {
  const size_t first = text.find(':');
  const size_t second = text.find(':', first == std::string_view::npos ? first : first + 1);
  if (second == std::string_view::npos) return false;
  *key = std::string(text.substr(0, first));
  return ParseNumber(text.substr(first + 1, second - first - 1), window) &&
         ParseNumber(text.substr(second + 1), amount);
}

}  // namespace

absl::Status WindowSum::Init(ProcessorContext& context) {
  context_ = &context;
  return context.store().Scan(Table::kProgress, "",
                              [this](std::string_view key, std::string_view value) {
                                return ParseNumber(value, &closed_[std::string(key)]);
                              });
}

absl::Status WindowSum::Process(const ConsumerRecord& record) {
  if (record.value == "fail") return absl::InternalError("told to fail");
  if (record.value == "throw") throw std::bad_alloc();
  if (record.value == "throw a number") throw 7;
  std::string key;
  int64_t window = 0;
  int64_t amount = 0;
  if (!ParseRecord(record.value, &key, &window, &amount)) {
    context_->DeadLetter(DropReason::kMalformedEvent);
    return absl::OkStatus();
  }
  if (const auto closed = closed_.find(key); closed != closed_.end() && window <= closed->second)
    return absl::OkStatus();
  CloseWindowsOf(key, window);
  Open& open = open_.try_emplace({key, window}, Open{record.offset, 0, {}}).first->second;
  const bool repeated = !open.amounts.insert(amount).second;
  if (!repeated || repeats_ == Repeats::kAdd) open.sum += amount;
  return absl::OkStatus();
}

absl::Status WindowSum::Punctuate(PunctuationType type) {
  if (told_ != nullptr) told_->push_back(type);
  while (!open_.empty())
    CloseWindowsOf(std::string(open_.begin()->first.first), std::numeric_limits<int64_t>::max());
  return absl::OkStatus();
}

int64_t WindowSum::RestartOffset(int64_t next) const {
  for (const auto& [window, open] : open_) next = std::min(next, open.first_offset);
  return next;
}

void WindowSum::CloseWindowsOf(const std::string& key, int64_t before) {
  for (auto it = open_.lower_bound({key, std::numeric_limits<int64_t>::min()});
       it != open_.end() && it->first.first == key;) {
    if (it->first.second >= before) break;
    const std::string text = fmt::format("{}:{}:{}", key, it->first.second, it->second.sum);
    context_->Forward(output_, key, PayloadType::kPatternBatch,
                      std::as_bytes(std::span(text.data(), text.size())), it->first.second,
                      JobId("job"));
    context_->changes().Put(Table::kProgress, key, std::to_string(it->first.second));
    closed_[key] = it->first.second;
    it = open_.erase(it);
  }
}

Topology TwoSums() {
  return Topology(
      {{"first", Topic::kEvents, [] { return std::make_unique<WindowSum>(Topic::kPatterns); }},
       {"second", Topic::kPatterns,
        [] { return std::make_unique<WindowSum>(Topic::kFindings, Repeats::kIgnore); }}});
}

}  // namespace eroica::testing
