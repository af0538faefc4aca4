#include "ops/findings/finding_follower.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace eroica {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPoll{100};
constexpr milliseconds kRetryAfter{1'000};

}  // namespace

FindingFollower::FindingFollower(Log& log, std::string topic_prefix, FindingIndex& index)
    : log_(log), topic_prefix_(std::move(topic_prefix)), index_(index) {}

FindingFollower::~FindingFollower() = default;

void FindingFollower::Start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void FindingFollower::Run(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  while (!stop.stop_requested()) {
    const absl::Status status = Follow(stop);
    if (status.ok()) return;
    if (reading_.exchange(false))
      spdlog::warn("findings: cannot be read, REST shows what was there error=\"{}\"",
                   status.ToString());
    std::unique_lock lock(mutex);
    wake.wait_for(lock, stop, kRetryAfter, [] { return false; });
  }
}

absl::Status FindingFollower::Follow(const std::stop_token& stop) {
  const absl::StatusOr<std::unique_ptr<FindingReader>> reader =
      FindingReader::Open(log_, topic_prefix_);
  if (!reader.ok()) return reader.status();
  const FindingPosition known = index_.position();
  const uint64_t malformed_before = malformed_;
  std::vector<PublishedFinding> published;
  while (!stop.stop_requested()) {
    published.clear();
    if (absl::Status status = (*reader)->Poll(kPoll, &published); !status.ok()) return status;
    reading_ = true;
    malformed_ = malformed_before + (*reader)->malformed();
    for (const PublishedFinding& one : published) {
      const auto seen = known.find(one.partition);
      if (seen == known.end() || one.offset >= seen->second) index_.Add(one);
    }
    if (index_.caught_up()) continue;
    const absl::StatusOr<bool> at_end = (*reader)->AtEnd();
    if (!at_end.ok()) return at_end.status();
    if (*at_end) index_.SetCaughtUp();
  }
  return absl::OkStatus();
}

}  // namespace eroica
