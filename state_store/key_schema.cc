#include "state_store/key_schema.h"

#include <utility>

#include "state_store/key_encoding.h"

namespace eroica {
namespace {

constexpr uint8_t kTimeTag = 0;
constexpr uint8_t kStepsTag = 1;

void PutWindow(const WindowKey& key, KeyWriter* writer) {
  if (key.kind == WindowKind::kTime) {
    writer->PutByte(kTimeTag).PutInt64(key.index).PutString(key.job.value);
  } else {
    writer->PutByte(kStepsTag).PutString(key.job.value).PutInt64(key.index);
  }
}

std::optional<WindowKey> TakeWindow(KeyReader* reader) {
  const auto tag = reader->TakeByte();
  if (!tag || *tag > kStepsTag) return std::nullopt;
  WindowKey key{
      .job = {}, .kind = *tag == kTimeTag ? WindowKind::kTime : WindowKind::kSteps, .index = 0};
  std::optional<int64_t> index;
  if (key.kind == WindowKind::kTime) index = reader->TakeInt64();
  auto job = reader->TakeString();
  if (key.kind == WindowKind::kSteps) index = reader->TakeInt64();
  if (!index || !job) return std::nullopt;
  key.index = *index;
  key.job = JobId(*std::move(job));
  return key;
}

}  // namespace

std::string EncodeKey(const WindowKey& key) {
  KeyWriter writer;
  PutWindow(key, &writer);
  return std::move(writer).key();
}

std::string EncodeKey(const PatternKey& key) {
  KeyWriter writer;
  PutWindow(key.window, &writer);
  writer.PutUint32(key.rank.value);
  return std::move(writer).key();
}

std::string EncodeKey(const SummaryKey& key) {
  KeyWriter writer;
  PutWindow(key.window, &writer);
  writer.PutUint64(key.communicator.value);
  return std::move(writer).key();
}

std::string EncodeKey(const FindingKey& key) {
  KeyWriter writer;
  writer.PutString(key.job.value).PutString(key.finding);
  return std::move(writer).key();
}

std::string EncodeKey(const JobId& job) {
  KeyWriter writer;
  writer.PutString(job.value);
  return std::move(writer).key();
}

std::optional<PatternKey> DecodePatternKey(std::string_view key) {
  KeyReader reader(key);
  auto window = TakeWindow(&reader);
  const auto rank = reader.TakeUint32();
  if (!window || !rank || !reader.AtEnd()) return std::nullopt;
  return PatternKey{*std::move(window), RankId(*rank)};
}

std::optional<SummaryKey> DecodeSummaryKey(std::string_view key) {
  KeyReader reader(key);
  auto window = TakeWindow(&reader);
  const auto communicator = reader.TakeUint64();
  if (!window || !communicator || !reader.AtEnd()) return std::nullopt;
  return SummaryKey{*std::move(window), CommId(*communicator)};
}

std::optional<FindingKey> DecodeFindingKey(std::string_view key) {
  KeyReader reader(key);
  auto job = reader.TakeString();
  auto finding = reader.TakeString();
  if (!job || !finding || !reader.AtEnd()) return std::nullopt;
  return FindingKey{JobId(*std::move(job)), *std::move(finding)};
}

std::optional<JobId> DecodeJobKey(std::string_view key) {
  KeyReader reader(key);
  auto job = reader.TakeString();
  if (!job || !reader.AtEnd()) return std::nullopt;
  return JobId(*std::move(job));
}

std::string EncodeTaskPrefix(std::string_view task) {
  KeyWriter writer;
  writer.PutString(task);
  return std::move(writer).key();
}

KeyRange TimeWindowsBefore(int64_t index) {
  KeyWriter begin;
  KeyWriter end;
  begin.PutByte(kTimeTag);
  end.PutByte(kTimeTag).PutInt64(index);
  return {std::move(begin).key(), std::move(end).key()};
}

KeyRange StepWindowsBefore(const JobId& job, int64_t index) {
  KeyWriter begin;
  KeyWriter end;
  begin.PutByte(kStepsTag).PutString(job.value);
  end.PutByte(kStepsTag).PutString(job.value).PutInt64(index);
  return {std::move(begin).key(), std::move(end).key()};
}

}  // namespace eroica
