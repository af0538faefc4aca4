// Posts findings to a URL: when they open, become graver and are resolved. A member of a consumer
// group of its own, on a thread of its own: what the receiver has taken is committed, and a
// receiver that is dead or slow holds up nothing but this.
//
// At least once: after a crash, also of the broker, between an answer and its commit a message
// comes again, under the same webhook-id. A message is tried again, after pauses that grow, until
// the receiver answers 2xx, or refuses it (4xx but 408, 425 and 429; 3xx), or it is too old, or too
// many wait; the last three are counted and said.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ops/alerts/alert_ledger.h"
#include "ops/alerts/webhook_queue.h"
#include "ops/alerts/webhook_signature.h"
#include "ops/findings/finding_subscription.h"
#include "schemas/boundary_thread.h"
#include "schemas/mutex.h"
#include "stream_ops/log/log.h"
#include "stream_ops/runtime/backoff.h"

namespace eroica {

struct WebhookOptions {
  HttpUrl url;
  std::optional<WebhookKey> key;  // nothing: not signed
  PeerOptions connection;         // CA, and the time of one attempt
  std::string topic_prefix;
  std::string group;
  Severity least = Severity::kMinor;
  size_t messages_max = 1'000;
  std::chrono::milliseconds give_up_after{std::chrono::hours(24)};
  std::chrono::milliseconds pause_first{1'000};
  std::chrono::milliseconds pause_longest{300'000};
  // Whether somebody has muted the finding. Any thread.
  std::function<bool(const std::string& id)> is_muted = [](const std::string&) { return false; };
  // Whether is_muted knows it by now: nothing is read before. Any thread.
  std::function<bool()> mutes_are_known = [] { return true; };
};

// Counted since the start.
struct WebhookProbe {
  uint64_t delivered = 0;
  uint64_t failed = 0;   // attempts that are made again
  uint64_t refused = 0;  // dropped: the receiver does not want it
  uint64_t too_old = 0;  // dropped
  uint64_t no_room = 0;  // dropped
  uint64_t muted = 0;    // kept back until the mute ends
  uint64_t malformed = 0;
  uint64_t waiting = 0;  // now
  bool answers = true;   // the newest attempt was answered
  friend bool operator==(const WebhookProbe&, const WebhookProbe&) = default;
};
std::string ProbeText(const WebhookProbe& probe);

class WebhookSink {
 public:
  // log must outlive the sink.
  WebhookSink(Log& log, WebhookOptions options);
  // Begins; once. The destructor waits for the attempt that is being made, not for its answer.
  void Start();
  WebhookProbe probe() const;  // any thread
  // "https://hooks.example:443": all of the URL that is no secret.
  const std::string& server() const { return options_.url.server; }

 private:
  void Run(const std::stop_token& stop);
  absl::Status Deliver(const std::stop_token& stop);
  void Take(FindingSubscription::Batch batch);
  bool IsMuted(const Finding& finding) const;
  // Now, or when the mute of its finding ends, where that is open still.
  void Queue(FindingSubscription::Version version);
  void QueueUnmuted();
  void Push(const FindingSubscription::Version& version);
  void TryNext(const std::stop_token& stop);
  void Answered(const absl::StatusOr<HttpResponse>& answer);
  void SetAnswers(bool answers, const std::string& why);

  Log& log_;
  const WebhookOptions options_;
  // Of the thread:
  AlertLedger ledger_;
  WebhookQueue queue_;
  Backoff backoff_;
  std::chrono::steady_clock::time_point next_attempt_;
  // Open when the group's first member began: sent when all of the past is known. By id.
  std::map<std::string, FindingSubscription::Version> present_;
  // News of open findings that are muted, oldest first: at most one for each severity of each.
  std::vector<FindingSubscription::Version> muted_;
  mutable Mutex mutex_;
  WebhookProbe probe_ EROICA_GUARDED_BY(mutex_);
  BoundaryThread thread_;  // ends first
};

}  // namespace eroica
