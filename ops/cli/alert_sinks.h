// The alert sinks that a configuration asks for, with what they read: the findings of all jobs, and
// who has muted which. Owner: the command; one thread.
#pragma once

#include <absl/status/statusor.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "ops/alerts/alertmanager_sink.h"
#include "ops/alerts/webhook_sink.h"
#include "ops/config/node_config.h"
#include "ops/findings/audit_log.h"
#include "ops/findings/finding_follower.h"
#include "ops/metrics/subscriber_metrics.h"
#include "stream_ops/log/log.h"

namespace eroica {

// That something can be sent to each of the URLs of [alerts]; of those that stand in files nothing
// is said. kInvalidArgument names the option and shows no URL.
absl::Status CheckAlertUrls(const NodeConfig& config);

class AlertSinks {
 public:
  // log must outlive the sinks. kInvalidArgument, kNotFound: an option cannot be; none is asked
  // for.
  static absl::StatusOr<std::unique_ptr<AlertSinks>> Open(const NodeConfig& config, Log& log);
  void Start();
  // What each sink has done. Any thread.
  AlertMeasures Measure() const;

 private:
  AlertSinks(const NodeConfig& config, Log& log);
  // A finding that somebody has muted must wake nobody because this program was started anew. It
  // is waited for, but not for ever: an alert too many is better than none. Any thread.
  bool MutesAreKnown();

  FindingIndex index_;
  FindingFollower follower_;
  AuditLog audit_;
  std::chrono::steady_clock::time_point wait_until_;  // set once, before the sinks begin
  std::atomic<bool> has_given_up_ = false;
  std::unique_ptr<WebhookSink> webhook_;  // nullptr: none
  std::vector<std::unique_ptr<AlertmanagerSink>> alertmanagers_;
};

}  // namespace eroica
