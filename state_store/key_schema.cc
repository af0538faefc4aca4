#include "state_store/key_schema.h"

#include <utility>

namespace eroica {

std::string EncodeKey(const FindingKey& key) {
  return KeyWriter().PutString(key.job.value).PutString(key.finding).key();
}

std::string EncodeKey(const JobId& job) { return KeyWriter().PutString(job.value).key(); }

KeyWriter BeginProgressKey(const JobId& job, ProgressFamily family) {
  KeyWriter writer;
  writer.PutString(job.value).PutByte(static_cast<uint8_t>(family));
  return writer;
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

std::optional<ProgressKey> DecodeProgressKey(std::string_view key) {
  KeyReader reader(key);
  auto job = reader.TakeString();
  const auto family = reader.TakeByte();
  if (!job || !family || *family >= kProgressFamilyCount) return std::nullopt;
  return ProgressKey{JobId(*std::move(job)), static_cast<ProgressFamily>(*family), reader};
}

std::string EncodeTaskPrefix(std::string_view task) { return KeyWriter().PutString(task).key(); }

std::optional<std::string_view> WithoutTask(std::string_view key) {
  KeyReader reader(key);
  const std::optional<std::string> task = reader.TakeString();
  if (!task) return std::nullopt;
  return key.substr(EncodeTaskPrefix(*task).size());
}

}  // namespace eroica
