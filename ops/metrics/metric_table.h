// Every metric that a program of ours exposes, declared once: from here come /metrics' help lines
// and types and docs/reference/metrics.md. Names and units by Prometheus' rules; no label is a
// rank, a function or a job, so that the number of series is bounded. Pure data, any thread.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace eroica {

enum class MetricKind : uint8_t { kCounter = 0, kGauge = 1, kHistogram = 2 };

// The programs that show it, a bit each: `eroica node`, `eroica alert`, `eroica act`.
enum class MetricProgram : uint8_t { kNode = 1, kAlert = 2, kNodeAndAlert = 3, kAct = 4, kAll = 7 };

struct MetricDeclaration {
  std::string_view name;
  MetricKind kind = MetricKind::kGauge;
  std::string_view labels;  // comma separated; empty: none
  std::string_view help;    // a sentence, without full stop
  MetricProgram program = MetricProgram::kNode;
};

enum class Metric : uint8_t {
  kBuildInfo = 0,
  kHealthy,
  kReady,
  kUnhealthyTimes,
  kStageReceived,
  kStageReceivedBytes,
  kStageProcessed,
  kStageIgnored,
  kStageEmitted,
  kStageEmittedBytes,
  kStageDropped,
  kStageEventsUnused,
  kStageWindowsForced,
  kStageCommits,
  kStageRetries,
  kStageRestarts,
  kStageLag,
  kStageHeld,
  kStageHeldSeconds,
  kStageUnreadable,
  kStageChangelogUnreadable,
  kStageTasks,
  kStageTasksRestoring,
  kStageTasksWaiting,
  kStageUnloads,
  kStageChangelogRestored,
  kKafkaQueuedBytes,
  kKafkaRequestsWaiting,
  kKafkaRequestErrors,
  kKafkaRequestRetries,
  kKafkaRequestTimeouts,
  kKafkaDisconnects,
  kKafkaRoundTrip,
  kEvents,
  kWindows,
  kWindowsEarly,
  kWindowToFinding,
  kWatermark,
  kJobs,
  kBoardBytes,
  kFindingsOpen,
  kFindingVersions,
  kFindingsEvicted,
  kFindingsMalformed,
  kAlertDeliveries,
  kAlertReceiverAnswers,
  kAlertMessagesWaiting,
  kAlertsFiring,
  kActVersions,
  kActDecisions,
  kHttpResponses,
  kHttpConnections,
  kHttpConnectionsRefused,
  kHttpConnectionsEvicted,
  kHttpMalformed,
  kHttpExceptions,
  kHttpEventStreams,
  kStateBytes,
  kStateMemoryBytes,
  kStateCompactionsPending,
  kCpuSeconds,
  kResidentMemory,
  kOpenFds,
  kMaxFds,
  kStartTime,
};
inline constexpr int kMetricCount = static_cast<int>(Metric::kStartTime) + 1;

const MetricDeclaration& DeclarationOf(Metric metric);
bool IsShownBy(MetricProgram program, const MetricDeclaration& metric);

// docs/reference/metrics.md.
std::string MetricReference();

}  // namespace eroica
