#include "state_store/upgrade.h"

#include <utility>

#include "state_store/key_schema.h"

namespace eroica {

void DiagnosingTasks::Note(std::string_view key) {
  KeyReader reader(key);
  const auto task = reader.TakeString();
  if (!task || !task->starts_with("diagnose/")) return;
  const std::string prefix = EncodeTaskPrefix(*task);
  if (auto row = DecodeProgressKey(key.substr(prefix.size()))) by_job_[row->job] = prefix;
  any_ = prefix;
}

std::optional<std::string> DiagnosingTasks::Upgrade(std::string_view key) const {
  KeyReader reader(key);
  auto job = reader.TakeString();
  if (!job) return std::nullopt;
  const auto found = by_job_.find(JobId(*std::move(job)));
  std::string upgraded = found == by_job_.end() ? any_ : found->second;
  if (upgraded.empty()) return std::nullopt;
  upgraded.append(key);
  return upgraded;
}

}  // namespace eroica
