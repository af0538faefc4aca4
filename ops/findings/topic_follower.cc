#include "ops/findings/topic_follower.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <utility>
#include <vector>

#include "schemas/mutex.h"
#include "stream_ops/log/log_end.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPoll{250};
constexpr milliseconds kRetryAfter{1'000};
constexpr size_t kRecordsMax = 256;

}  // namespace

TopicFollower::TopicFollower(Log& log, std::string topic, std::string name)
    : log_(log), topic_(std::move(topic)), name_(std::move(name)) {}

void TopicFollower::Start(Calls calls) {
  calls_ = std::move(calls);
  thread_ = BoundaryThread([this](const std::stop_token& stop) { Run(stop); },
                           [this](const Thrown& thrown) {
                             spdlog::error(
                                 "{}: an exception ended the reading of the topic, restart this "
                                 "program topic={} error=\"{}\"",
                                 name_, topic_, thrown.text());
                           });
}

void TopicFollower::Run(const std::stop_token& stop) {
  Mutex mutex;
  std::condition_variable_any wake;
  bool said = false;
  while (!stop.stop_requested()) {
    const absl::Status status =
        AtBoundary([&] { return Follow(stop); },
                   [](const Thrown& thrown) { return absl::InternalError(thrown.text()); });
    if (status.ok()) return;
    if (absl::IsNotFound(status) && calls_.missing) calls_.missing();
    if (!std::exchange(said, true))
      spdlog::warn(
          "{}: the topic cannot be read, it is tried again{} topic={} error=\"{}\"", name_,
          absl::IsNotFound(status) ? " (`eroica topics create` makes what is missing)" : "", topic_,
          status.ToString());
    MutexLock lock(mutex);
    wake.wait_for(lock.native(), stop, kRetryAfter, [] { return false; });
  }
}

absl::Status TopicFollower::Follow(const std::stop_token& stop) {
  const absl::StatusOr<std::unique_ptr<LogConsumer>> consumer = log_.NewConsumer({});
  if (!consumer.ok()) return consumer.status();
  if (absl::Status status = (*consumer)->Subscribe({topic_}, nullptr); !status.ok()) return status;
  std::vector<ConsumerRecord> records;
  while (!stop.stop_requested()) {
    if (calls_.look) {
      if (absl::Status status = calls_.look(); !status.ok()) return status;
    }
    records.clear();
    if (absl::Status status = (*consumer)->Poll(kPoll, kRecordsMax, &records); !status.ok())
      return status;
    for (const ConsumerRecord& record : records) calls_.take(record);
    if (!calls_.caught_up) continue;
    const absl::StatusOr<bool> at_end = AtEnd(**consumer);
    if (!at_end.ok()) return at_end.status();
    if (*at_end) std::exchange(calls_.caught_up, nullptr)();
  }
  if (calls_.end) calls_.end();
  return absl::OkStatus();
}

}  // namespace eroica
