// Pushes the open findings to an Alertmanager: at once when something changes, and again and
// again while they are open, since Alertmanager forgets what it does not hear of. It always sends
// how things are now: nothing queues up while Alertmanager is away, and several senders say the
// same. An alert whose end was never delivered (this program had ended) expires by itself.
//
// A thread of its own. Start and the destructor are for the owner; probe is thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "ops/alerts/firing_alerts.h"
#include "ops/findings/finding_index.h"
#include "ops/rest/http_client.h"
#include "schemas/boundary_thread.h"
#include "schemas/mutex.h"
#include "stream_ops/runtime/backoff.h"

namespace eroica {

struct AlertmanagerOptions {
  HttpUrl url;             // of the server, or of the folder that /api/v2/alerts is in
  PeerOptions connection;  // CA, and the time of one attempt
  Severity least = Severity::kMinor;
  std::chrono::milliseconds resend_every{60'000};
  std::chrono::milliseconds pause_first{1'000};
  std::chrono::milliseconds pause_longest{60'000};
  // Whether the index knows who has muted what: nothing is sent before. Any thread.
  std::function<bool()> mutes_are_known = [] { return true; };
};

// Counted since the start.
struct AlertmanagerProbe {
  uint64_t pushes = 0;   // taken
  uint64_t failed = 0;   // tried again
  uint64_t refused = 0;  // 4xx: not tried again until something changes, or it is time
  uint64_t firing = 0;   // alerts, now
  bool answers = true;   // the newest push was taken
  friend bool operator==(const AlertmanagerProbe&, const AlertmanagerProbe&) = default;
};
std::string ProbeText(const AlertmanagerProbe& probe);

class AlertmanagerSink {
 public:
  // index must outlive the sink. Nothing is sent before it has caught up.
  AlertmanagerSink(const FindingIndex& index, AlertmanagerOptions options);
  void Start();
  AlertmanagerProbe probe() const;
  const std::string& server() const { return options_.url.server; }

 private:
  void Run(const std::stop_token& stop);
  void Turn(const std::stop_token& stop);
  // An attempt that a library's exception ended: it is tried again as one that was not answered.
  void TurnFailed(const Thrown& thrown);
  // Whether there is something to say; into firing_.
  bool Look(int64_t now_ms);
  void Push(const std::stop_token& stop, int64_t now_ms);
  void Answered(const absl::StatusOr<HttpResponse>& answer, FiringAlerts sent);

  const FindingIndex& index_;
  AlertmanagerOptions options_;
  // Of the thread:
  FiringAlerts firing_;
  FiringAlerts pushed_;  // that Alertmanager believes to fire
  Backoff backoff_;
  std::chrono::steady_clock::time_point next_attempt_;
  std::chrono::steady_clock::time_point resend_at_;
  mutable Mutex mutex_;
  AlertmanagerProbe probe_ EROICA_GUARDED_BY(mutex_);
  BoundaryThread thread_;  // ends first
};

}  // namespace eroica
