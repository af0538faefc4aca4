#include "stream_ops/job_ages.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "schemas/time_unit.h"
#include "state_store/key_encoding.h"
#include "state_store/key_schema.h"

namespace eroica {
namespace {

std::string AgeKey(const JobId& job) { return BeginProgressKey(job, ProgressFamily::kAge).key(); }

}  // namespace

void JobAges::Restore(const JobId& job, int64_t offset) {
  Age& age = ages_[job];
  age.offset = std::max(age.offset, offset);
}

bool JobAges::RestoreRow(const JobId& job, std::string_view value) {
  KeyReader reader(value);
  const auto silent_minutes = reader.TakeInt64();
  const auto ended_as = reader.TakeInt64();
  if (!silent_minutes || *silent_minutes < 0 || !ended_as || *ended_as < -1 || !reader.AtEnd())
    return false;
  Age& age = ages_[job];
  age.silent_minutes = *silent_minutes;
  age.ended_as = *ended_as;
  return *ended_as < 0 || ended_.try_emplace(*ended_as, job).second;
}

void JobAges::Hear(const JobId& job, int64_t offset, bool goes_on) {
  Age& age = ages_[job];
  age.offset = std::max(age.offset, offset);
  if (age.silent_minutes >= kMinutesPerHour) changed_.insert(job);
  age.silent_minutes = 0;
  if (!goes_on || age.ended_as < 0) return;
  ended_.erase(age.ended_as);
  age.ended_as = -1;
  changed_.insert(job);
}

void JobAges::End(const JobId& job) {
  Age& age = ages_[job];
  if (age.ended_as >= 0) return;
  age.ended_as = ended_.empty() ? 0 : ended_.rbegin()->first + 1;
  ended_.emplace(age.ended_as, job);
  changed_.insert(job);
}

void JobAges::Tick() {
  for (auto& [job, age] : ages_) {
    if (++age.silent_minutes % kMinutesPerHour == 0) changed_.insert(job);
  }
  tick_passed_ = true;
}

std::vector<JobId> JobAges::TakeOver(int64_t restart_offset) {
  std::vector<JobId> over;
  while (ended_.size() > retention_.ended_kept) {
    const auto oldest = ended_.begin();
    const auto age = ages_.find(oldest->second);
    if (age->second.offset >= restart_offset) break;
    over.push_back(oldest->second);
    ages_.erase(age);
    ended_.erase(oldest);
  }
  if (!std::exchange(tick_passed_, false)) return over;
  for (auto it = ages_.begin(); it != ages_.end();) {
    const Age& age = it->second;
    if (age.silent_minutes < retention_.silent_minutes || age.offset >= restart_offset) {
      ++it;
      continue;
    }
    if (age.ended_as >= 0) ended_.erase(age.ended_as);
    over.push_back(it->first);
    it = ages_.erase(it);
  }
  return over;
}

void JobAges::Keep(StateChanges& changes) {
  for (const JobId& job : changed_) {
    const auto found = ages_.find(job);
    if (found == ages_.end()) continue;  // forgotten, with its row
    const Age& age = found->second;
    if (age.ended_as < 0 && age.silent_minutes < kMinutesPerHour) {
      changes.Delete(Table::kProgress, AgeKey(job));
    } else {
      changes.Put(Table::kProgress, AgeKey(job),
                  KeyWriter()
                      .PutInt64(age.silent_minutes / kMinutesPerHour * kMinutesPerHour)
                      .PutInt64(age.ended_as)
                      .key());
    }
  }
  changed_.clear();
}

bool JobAges::has_ended(const JobId& job) const {
  const auto found = ages_.find(job);
  return found != ages_.end() && found->second.ended_as >= 0;
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
