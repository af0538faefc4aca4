#include "stream_ops/diagnose/job_board.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "schemas/outside_time.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

uint64_t BytesOf(const WindowSnapshot& window) {
  constexpr uint64_t kStepRow = 5 * sizeof(int64_t) + sizeof(uint32_t);
  return sizeof(window) + window.steps.step.size() * kStepRow +
         (window.detail == nullptr ? 0 : window.detail->bytes);
}

uint64_t BytesOf(const BoardJob& job) {
  return std::transform_reduce(job.windows.begin(), job.windows.end(), uint64_t{0}, std::plus<>(),
                               [](const auto& window) { return BytesOf(*window); });
}

std::shared_ptr<const WindowSnapshot> WithoutDetail(const WindowSnapshot& window) {
  return std::make_shared<WindowSnapshot>(
      WindowSnapshot{.summary = window.summary, .steps = window.steps, .detail = nullptr});
}

}  // namespace

JobBoard::Share::~Share() {
  const MutexLock lock(board_.mutex_);
  if (board_.ended_ == JobsOfEndedTask::kStay) {
    for (auto& [job, entry] : board_.jobs_)
      if (entry.owner == this) entry.owner = nullptr;
    return;
  }
  std::erase_if(board_.jobs_, [this](const auto& entry) EROICA_REQUIRES(board_.mutex_) {
    if (entry.second.owner != this) return false;
    board_.bytes_ -= entry.second.bytes;
    return true;
  });
  ++board_.version_;
}

void JobBoard::Share::Publish(const JobId& job, WindowSnapshot snapshot, int64_t diagnosed_at_ns) {
  const MutexLock lock(board_.mutex_);
  board_.Count(snapshot.summary, diagnosed_at_ns);
  Entry& entry = board_.jobs_[job];
  entry.owner = this;
  BoardJob next{.job = job,
                .newest = snapshot.summary,
                .diagnosed_at_ns = diagnosed_at_ns,
                .windows = entry.job == nullptr
                               ? std::vector<std::shared_ptr<const WindowSnapshot>>{}
                               : entry.job->windows};
  next.windows.push_back(std::make_shared<const WindowSnapshot>(std::move(snapshot)));
  if (next.windows.size() > kWindowsMax) next.windows.erase(next.windows.begin());
  board_.Replace(&entry, std::move(next));
  if (entry.job->windows.size() > kDetailsMax) {
    const size_t last_without = entry.job->windows.size() - kDetailsMax - 1;
    if (entry.job->windows[last_without]->detail != nullptr) board_.EvictOldest(&entry);
  }
  board_.KeepWithinBytes();
}

void JobBoard::Share::Restore(const JobId& job, WindowSummary newest) {
  const MutexLock lock(board_.mutex_);
  Entry& entry = board_.jobs_[job];
  entry.owner = this;
  if (entry.job != nullptr) return;
  board_.Replace(&entry,
                 {.job = job, .newest = std::move(newest), .diagnosed_at_ns = 0, .windows = {}});
}

void JobBoard::Share::Forget(const JobId& job) {
  const MutexLock lock(board_.mutex_);
  const auto entry = board_.jobs_.find(job);
  if (entry == board_.jobs_.end() || entry->second.owner != this) return;
  board_.bytes_ -= entry->second.bytes;
  board_.jobs_.erase(entry);
  ++board_.version_;
}

void WindowLatency::Add(double seconds) {
  ++count;
  sum_seconds += seconds;
  const auto bucket = std::ranges::lower_bound(kUpperSeconds, seconds);
  if (bucket != kUpperSeconds.end()) ++buckets[static_cast<size_t>(bucket - kUpperSeconds.begin())];
}

void JobBoard::Count(const WindowSummary& window, int64_t diagnosed_at_ns) {
  ++counts_.windows;
  if (window.early) ++counts_.windows_early;
  counts_.events.events += window.completeness.events;
  counts_.events.late += window.completeness.late;
  counts_.events.lost += window.completeness.lost;
  counts_.events.sampled += window.completeness.sampled;
  counts_.events.outside += window.completeness.outside;
  counts_.newest_ms = std::max(counts_.newest_ms, window.timestamp_ms);
  const int64_t after_ns = diagnosed_at_ns - BoundedNsOfMs(window.timestamp_ms);
  counts_.latency.Add(static_cast<double>(std::max<int64_t>(0, after_ns)) / kNsPerSecond);
}

void JobBoard::Replace(Entry* entry, BoardJob job) {
  bytes_ -= entry->bytes;
  entry->bytes = BytesOf(job);
  bytes_ += entry->bytes;
  entry->job = std::make_shared<const BoardJob>(std::move(job));
  ++version_;
}

bool JobBoard::EvictOldest(Entry* entry) {
  BoardJob next = *entry->job;
  if (next.windows.size() < 2) return false;
  const auto newest = next.windows.end() - 1;
  const auto oldest = std::find_if(next.windows.begin(), newest,
                                   [](const auto& window) { return window->detail != nullptr; });
  if (oldest == newest) {
    next.windows.erase(next.windows.begin());
  } else {
    *oldest = WithoutDetail(**oldest);
    ++details_evicted_;
  }
  Replace(entry, std::move(next));
  return true;
}

void JobBoard::KeepWithinBytes() {
  while (bytes_ > bytes_max_) {
    // The job that holds the most beside its newest window.
    Entry* largest = nullptr;
    uint64_t most = 0;
    for (auto& [id, entry] : jobs_) {
      if (entry.job->windows.empty()) continue;
      const uint64_t beside = entry.bytes - BytesOf(*entry.job->windows.back());
      if (beside <= most) continue;
      most = beside;
      largest = &entry;
    }
    if (largest == nullptr || !EvictOldest(largest)) return;
  }
}

std::vector<std::shared_ptr<const BoardJob>> JobBoard::Jobs() const {
  const MutexLock lock(mutex_);
  std::vector<std::shared_ptr<const BoardJob>> jobs;
  jobs.reserve(jobs_.size());
  for (const auto& [id, entry] : jobs_) jobs.push_back(entry.job);
  return jobs;
}

std::shared_ptr<const BoardJob> JobBoard::Find(const JobId& job) const {
  const MutexLock lock(mutex_);
  const auto entry = jobs_.find(job);
  return entry == jobs_.end() ? nullptr : entry->second.job;
}

uint64_t JobBoard::version() const {
  const MutexLock lock(mutex_);
  return version_;
}

BoardCounts JobBoard::counts() const {
  const MutexLock lock(mutex_);
  return counts_;
}

uint64_t JobBoard::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

uint64_t JobBoard::details_evicted() const {
  const MutexLock lock(mutex_);
  return details_evicted_;
}

}  // namespace eroica
