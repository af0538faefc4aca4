#include "ops/alerts/alertmanager_sink.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <utility>

#include "schemas/mutex.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kLook{250};
// As Prometheus does: an alert outlives three pushes that fail.
constexpr int kResendsUntilExpired = 4;

int64_t NowMs() {
  return std::chrono::duration_cast<milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

std::string ProbeText(const AlertmanagerProbe& probe) {
  return fmt::format("pushes={} failed={} refused={} firing={}", probe.pushes, probe.failed,
                     probe.refused, probe.firing);
}

AlertmanagerSink::AlertmanagerSink(const FindingIndex& index, AlertmanagerOptions options)
    : index_(index),
      options_(std::move(options)),
      backoff_({.first = options_.pause_first,
                .longest = options_.pause_longest,
                .times_max = std::numeric_limits<uint32_t>::max()}) {
  while (options_.url.target.ends_with('/')) options_.url.target.pop_back();
  options_.url.target += "/api/v2/alerts";
}

void AlertmanagerSink::Start() {
  thread_ = BoundaryThread([this](const std::stop_token& stop) { Run(stop); },
                           [](const Thrown& thrown) {
                             spdlog::error(
                                 "alerts: an exception ended the pushes to Alertmanager, restart "
                                 "this program error=\"{}\"",
                                 thrown.text());
                           });
}

AlertmanagerProbe AlertmanagerSink::probe() const {
  const MutexLock lock(mutex_);
  return probe_;
}

void AlertmanagerSink::Run(const std::stop_token& stop) {
  Mutex mutex;
  std::condition_variable_any wake;
  while (!stop.stop_requested()) {
    RunAtBoundary([&] { Turn(stop); }, [this](const Thrown& thrown) { TurnFailed(thrown); });
    MutexLock lock(mutex);
    wake.wait_for(lock.native(), stop, kLook, [] { return false; });
  }
}

void AlertmanagerSink::Turn(const std::stop_token& stop) {
  const int64_t now_ms = NowMs();
  if (index_.caught_up() && options_.mutes_are_known() && Look(now_ms) &&
      steady_clock::now() >= next_attempt_)
    Push(stop, now_ms);
}

void AlertmanagerSink::TurnFailed(const Thrown& thrown) {
  Answered(absl::InternalError(thrown.text()), {});
}

bool AlertmanagerSink::Look(int64_t now_ms) {
  firing_ = AlertsOf(index_.Select({.state = StateFilter::kOpen,
                                    .severity_min = options_.least,
                                    .muted = false,
                                    .now_ms = now_ms}));
  {
    const MutexLock lock(mutex_);
    probe_.firing = firing_.size();
  }
  // What merely says itself a little differently waits for its time.
  const auto same_key = [](const auto& a, const auto& b) { return a.first == b.first; };
  if (!std::ranges::equal(firing_, pushed_, same_key)) return true;
  return !firing_.empty() && steady_clock::now() >= resend_at_;
}

void AlertmanagerSink::Push(const std::stop_token& stop, int64_t now_ms) {
  FiringAlerts ended = pushed_;
  std::erase_if(ended, [&](const auto& alert) { return firing_.contains(alert.first); });
  const int64_t expires_ms = now_ms + kResendsUntilExpired * options_.resend_every.count();
  const HttpPost post{.url = options_.url,
                      .headers = {{"Content-Type", "application/json"}},
                      .body = AlertsJson(firing_, ended, now_ms, expires_ms)};
  const absl::StatusOr<HttpResponse> answer = SendPost(post, options_.connection, stop);
  if (!stop.stop_requested() || answer.ok()) Answered(answer, firing_);
}

void AlertmanagerSink::Answered(const absl::StatusOr<HttpResponse>& answer, FiringAlerts sent) {
  const bool taken = answer.ok() && answer->status >= 200 && answer->status < 300;
  const bool refused = answer.ok() && answer->status >= 300 && answer->status < 500;
  if (taken) {
    pushed_ = std::move(sent);
    resend_at_ = steady_clock::now() + options_.resend_every;
    next_attempt_ = {};
    backoff_.Reset();
  } else {
    next_attempt_ = steady_clock::now() + (refused ? options_.resend_every : *backoff_.Next());
  }
  const MutexLock lock(mutex_);
  ++(taken ? probe_.pushes : refused ? probe_.refused : probe_.failed);
  if (std::exchange(probe_.answers, taken) == taken) return;
  if (taken) {
    spdlog::info("alerts: Alertmanager takes alerts again server={}", options_.url.server);
  } else {
    spdlog::warn("alerts: Alertmanager takes no alerts, it is tried again server={} error=\"{}\"",
                 options_.url.server,
                 answer.ok() ? fmt::format("it answers {}: {}", answer->status,
                                           Printable(answer->body->substr(0, 200)))
                             : Printable(std::string(answer.status().message())));
  }
}

}  // namespace eroica
