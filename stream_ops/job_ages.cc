#include "stream_ops/job_ages.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "state_store/key_schema.h"

namespace eroica {

void JobAges::Hear(const JobId& job, int64_t offset, bool goes_on) {
  Age& age = ages_[job];
  age.offset = std::max(age.offset, offset);
  age.silent_minutes = 0;
  if (!goes_on || age.ended_as < 0) return;
  age.ended_as = -1;
  --ended_;
}

void JobAges::End(const JobId& job) {
  Age& age = ages_[job];
  if (age.ended_as >= 0) return;
  age.ended_as = endings_++;
  order_.emplace_back(age.ended_as, job);
  ++ended_;
}

void JobAges::Tick() {
  for (auto& [job, age] : ages_) ++age.silent_minutes;
  tick_passed_ = true;
}

std::vector<JobId> JobAges::TakeOver(int64_t restart_offset) {
  std::vector<JobId> over;
  while (ended_ > retention_.ended_kept && !order_.empty()) {
    const auto& [number, job] = order_.front();
    const auto age = ages_.find(job);
    const bool has_ended = age != ages_.end() && age->second.ended_as == number;
    if (has_ended && age->second.offset >= restart_offset) break;
    if (has_ended) {
      over.push_back(job);
      ages_.erase(age);
      --ended_;
    }
    order_.pop_front();
  }
  if (!std::exchange(tick_passed_, false)) return over;
  for (auto it = ages_.begin(); it != ages_.end();) {
    const Age& age = it->second;
    if (age.silent_minutes < retention_.silent_minutes || age.offset >= restart_offset) {
      ++it;
      continue;
    }
    if (age.ended_as >= 0) --ended_;
    over.push_back(it->first);
    it = ages_.erase(it);
  }
  return over;
}

absl::Status ForgetProgress(std::string_view prefix, ProcessorContext& context) {
  std::vector<std::string> keys;
  const absl::Status scanned =
      context.store().Scan(Table::kProgress, prefix, [&](std::string_view key, std::string_view) {
        keys.emplace_back(key);
        return true;
      });
  if (!scanned.ok()) return scanned;
  for (const StateChanges::Change& change : context.changes().changes()) {
    if (change.table == Table::kProgress && change.key.starts_with(prefix))
      keys.push_back(change.key);
  }
  for (std::string& key : keys) context.changes().Delete(Table::kProgress, std::move(key));
  return absl::OkStatus();
}

absl::Status ForgetJob(const JobId& job, ProcessorContext& context) {
  return ForgetProgress(EncodeKey(job), context);
}

}  // namespace eroica
