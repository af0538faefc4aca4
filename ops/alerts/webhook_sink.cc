#include "ops/alerts/webhook_sink.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <random>
#include <utility>

#include "schemas/finding_json.h"
#include "schemas/finding_version.h"
#include "schemas/mutex.h"
#include "schemas/printable_text.h"
#include "stream_ops/diagnose/finding_event.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kPoll{250};
constexpr milliseconds kAskForMutes{50};
constexpr milliseconds kReopenAfter{1'000};

// CloudEvents' binding to HTTP calls its headers ce-type, that to Kafka ce_type.
std::string HttpName(std::string name) {
  if (name.starts_with("ce_")) name[2] = '-';
  return name;
}

bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

bool IsTaken(int status) { return status >= 200 && status < 300; }
bool IsTriedAgain(int status) {
  return status >= 500 || status == 408 || status == 425 || status == 429;
}

// Half to all of it, so that many who wait for one receiver do not come at once.
milliseconds Jittered(milliseconds pause) {
  static thread_local std::minstd_rand random{std::random_device{}()};
  return milliseconds(
      std::uniform_int_distribution<int64_t>(pause.count() / 2, pause.count())(random));
}

int64_t NowSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

std::string ProbeText(const WebhookProbe& probe) {
  return fmt::format(
      "delivered={} failed={} refused={} too_old={} no_room={} muted={} malformed={} waiting={}",
      probe.delivered, probe.failed, probe.refused, probe.too_old, probe.no_room, probe.muted,
      probe.malformed, probe.waiting);
}

WebhookSink::WebhookSink(Log& log, WebhookOptions options)
    : log_(log),
      options_(std::move(options)),
      ledger_(options_.least),
      queue_(options_.messages_max),
      backoff_({.first = options_.pause_first,
                .longest = options_.pause_longest,
                .times_max = std::numeric_limits<uint32_t>::max()}) {}

void WebhookSink::Start() {
  thread_ = BoundaryThread([this](const std::stop_token& stop) { Run(stop); },
                           [](const Thrown& thrown) {
                             spdlog::error(
                                 "alerts: an exception ended the pushes to the webhook, restart "
                                 "this program error=\"{}\"",
                                 thrown.text());
                           });
}

WebhookProbe WebhookSink::probe() const {
  const MutexLock lock(mutex_);
  return probe_;
}

void WebhookSink::Run(const std::stop_token& stop) {
  Mutex mutex;
  std::condition_variable_any wake;
  LogRate rate;
  const auto rest = [&](milliseconds time) {
    MutexLock lock(mutex);
    wake.wait_for(lock.native(), stop, time, [] { return false; });
  };
  while (!stop.stop_requested() && !options_.mutes_are_known()) rest(kAskForMutes);
  while (!stop.stop_requested()) {
    const absl::Status status =
        AtBoundary([&] { return Deliver(stop); },
                   [](const Thrown& thrown) { return absl::InternalError(thrown.text()); });
    if (status.ok()) return;
    if (const auto held_back = rate.Due(steady_clock::now()))
      spdlog::warn("alerts: the findings cannot be read, it is tried again error=\"{}\"",
                   status.ToString());
    rest(kReopenAfter);
  }
}

absl::Status WebhookSink::Deliver(const std::stop_token& stop) {
  const absl::StatusOr<std::unique_ptr<FindingSubscription>> subscription =
      FindingSubscription::Open(log_, options_.topic_prefix, options_.group);
  if (!subscription.ok()) return subscription.status();
  while (!stop.stop_requested()) {
    const auto now = steady_clock::now();
    const bool waits = queue_.size() > 0;
    const milliseconds timeout =
        !waits ? kPoll
               : std::clamp(std::chrono::ceil<milliseconds>(next_attempt_ - now), milliseconds(0),
                            kPoll);
    FindingSubscription::Batch batch;
    const absl::Status polled = (*subscription)->Poll(timeout, &batch);
    if (!polled.ok() && !MayPass(polled)) return polled;
    Take(std::move(batch));
    QueueUnmuted();
    if (steady_clock::now() >= next_attempt_) TryNext(stop);
    const absl::Status committed =
        (*subscription)->Commit(queue_.Handled((*subscription)->Positions()));
    if (!committed.ok() && !MayPass(committed)) return committed;
    const MutexLock lock(mutex_);
    probe_.waiting = queue_.size();
    probe_.malformed = (*subscription)->malformed();
  }
  return absl::OkStatus();
}

void WebhookSink::Take(FindingSubscription::Batch batch) {
  for (const int32_t partition : batch.forgotten) {
    ledger_.Forget(partition);
    queue_.Forget(partition);
    std::erase_if(present_, [&](const auto& entry) { return entry.second.partition == partition; });
    std::erase_if(muted_, [&](const auto& version) { return version.partition == partition; });
  }
  for (FindingSubscription::Version& version : batch.versions) {
    const AlertNews news = ledger_.Take(version.partition, version.finding);
    if (news == AlertNews::kResolved) {
      std::erase_if(muted_,
                    [&](const auto& muted) { return muted.finding.id == version.finding.id; });
    }
    if (version.past == FindingSubscription::Past::kEarlier) {
      if (news == AlertNews::kResolved) present_.erase(version.finding.id);
      if (news == AlertNews::kOpened || news == AlertNews::kRaised)
        present_[version.finding.id] = std::move(version);
    } else if (news != AlertNews::kNone &&
               (version.past == FindingSubscription::Past::kNews || IsMuted(version.finding))) {
      Queue(std::move(version));
    }
  }
  for (const int32_t partition : batch.begun) {
    for (auto& [id, version] : present_) {
      if (version.partition == partition) Queue(std::move(version));
    }
    std::erase_if(present_, [&](const auto& entry) { return entry.second.partition == partition; });
  }
}

bool WebhookSink::IsMuted(const Finding& finding) const {
  return finding.state != FindingState::kResolved && options_.is_muted(finding.id);
}

void WebhookSink::QueueUnmuted() {
  std::vector<FindingSubscription::Version> muted;
  for (FindingSubscription::Version& version : std::exchange(muted_, {})) {
    if (IsMuted(version.finding)) {
      muted.push_back(std::move(version));
    } else {
      Push(version);
    }
  }
  muted_ = std::move(muted);
}

void WebhookSink::Queue(FindingSubscription::Version version) {
  if (!IsMuted(version.finding)) return Push(version);
  muted_.push_back(std::move(version));
  const MutexLock lock(mutex_);
  ++probe_.muted;
}

void WebhookSink::Push(const FindingSubscription::Version& version) {
  const Finding& finding = version.finding;
  WebhookMessage message{.id = FindingVersionId(finding),
                         .finding_id = finding.id,
                         .body = ToJson(finding),
                         .headers = {},
                         .partition = version.partition,
                         .offset = version.offset,
                         .since = steady_clock::now()};
  for (auto& [name, value] :
       FindingEventHeaders(finding, FindingFormat::kJson, "/" + options_.topic_prefix))
    message.headers.emplace_back(HttpName(name), value);
  if (queue_.Push(std::move(message))) return;
  spdlog::warn("alerts: too many messages wait for the webhook, the oldest is dropped");
  const MutexLock lock(mutex_);
  ++probe_.no_room;
}

void WebhookSink::TryNext(const std::stop_token& stop) {
  const WebhookMessage* message = queue_.Next();
  if (message == nullptr) return;
  if (steady_clock::now() - message->since > options_.give_up_after) {
    spdlog::warn("alerts: the webhook never took this one, it is dropped id={}", message->id);
    queue_.Remove();
    const MutexLock lock(mutex_);
    ++probe_.too_old;
    return;
  }
  const int64_t timestamp_s = NowSeconds();
  HttpPost post{.url = options_.url, .headers = message->headers, .body = message->body};
  post.headers.emplace_back("webhook-id", message->id);
  post.headers.emplace_back("idempotency-key", message->id);
  post.headers.emplace_back("webhook-timestamp", std::to_string(timestamp_s));
  if (options_.key)
    post.headers.emplace_back("webhook-signature",
                              options_.key->Sign(message->id, timestamp_s, message->body));
  const absl::StatusOr<HttpResponse> answer = SendPost(post, options_.connection, stop);
  if (!stop.stop_requested() || answer.ok()) Answered(answer);
}

void WebhookSink::Answered(const absl::StatusOr<HttpResponse>& answer) {
  const bool again = !answer.ok() || IsTriedAgain(answer->status);
  if (again) {
    SetAnswers(false, answer.ok() ? fmt::format("it answers {}", answer->status)
                                  : std::string(answer.status().message()));
    queue_.Rotate();
    next_attempt_ = steady_clock::now() + Jittered(*backoff_.Next());
    const MutexLock lock(mutex_);
    ++probe_.failed;
    return;
  }
  SetAnswers(true, "");
  backoff_.Reset();
  const bool taken = IsTaken(answer->status);
  if (!taken)
    spdlog::warn("alerts: the webhook refuses a message, it is dropped status={} id={}",
                 answer->status, queue_.Next()->id);
  queue_.Remove();
  const MutexLock lock(mutex_);
  ++(taken ? probe_.delivered : probe_.refused);
}

// Its path may be a secret: only the server is named.
void WebhookSink::SetAnswers(bool answers, const std::string& why) {
  {
    const MutexLock lock(mutex_);
    if (std::exchange(probe_.answers, answers) == answers) return;
  }
  if (answers) {
    spdlog::info("alerts: the webhook takes messages again server={}", options_.url.server);
  } else {
    spdlog::warn("alerts: the webhook takes no message, it is tried again server={} error=\"{}\"",
                 options_.url.server, Printable(why));
  }
}

}  // namespace eroica
