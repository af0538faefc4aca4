#include "ops/metrics/metric_table.h"

#include <fmt/format.h>

namespace eroica {
namespace {

constexpr auto kCounter = MetricKind::kCounter;
constexpr auto kGauge = MetricKind::kGauge;
constexpr auto kAlert = MetricProgram::kAlert;
constexpr auto kAct = MetricProgram::kAct;
constexpr auto kAll = MetricProgram::kAll;

// By Metric.
constexpr std::array<MetricDeclaration, kMetricCount> kTable = {{
    {"eroica_build_info", kGauge, "version", "1, of the program that runs", kAll},
    {"eroica_node_healthy", kGauge, "", "1 while the node can use what it receives, as /healthz"},
    {"eroica_node_ready", kGauge, "",
     "1 once its tasks are restored and findings read, as /readyz"},
    {"eroica_node_unhealthy_total", kCounter, "", "Times that the node became unhealthy"},
    {"eroica_stage_records_received_total", kCounter, "stage", "Records taken from the log"},
    {"eroica_stage_received_bytes_total", kCounter, "stage", "Bytes of those records"},
    {"eroica_stage_records_processed_total", kCounter, "stage", "Records that the stage worked on"},
    {"eroica_stage_records_ignored_total", kCounter, "stage",
     "Records of partitions that are not the node's, or read again after a restart"},
    {"eroica_stage_records_emitted_total", kCounter, "stage", "Records sent on"},
    {"eroica_stage_emitted_bytes_total", kCounter, "stage", "Bytes of those records"},
    {"eroica_stage_records_dropped_total", kCounter, "stage,what,reason",
     "Records that were not used: dead_letter of the input, output that was refused"},
    {"eroica_stage_events_unused_total", kCounter, "stage,reason",
     "Events that go into no window: late, outside_window (of steps), duplicate"},
    {"eroica_stage_windows_forced_total", kCounter, "stage",
     "Windows closed before all had come, for want of memory: what still comes for them is late"},
    {"eroica_stage_commits_total", kCounter, "stage", "Commits of state and input position"},
    {"eroica_stage_retries_total", kCounter, "stage", "Operations tried again after an error"},
    {"eroica_stage_restarts_total", kCounter, "stage",
     "Times that tasks were set back to their last commit"},
    {"eroica_stage_lag_records", kGauge, "stage",
     "Records before the high watermark that the stage has not taken; absent until known"},
    {"eroica_stage_held_records", kGauge, "stage",
     "Of the lag, behind the last stable offset: open transactions hold them back"},
    {"eroica_stage_held_seconds", kGauge, "stage",
     "How long one of these transactions has been open, at least"},
    {"eroica_stage_records_unreadable_total", kCounter, "stage",
     "Offsets that the log holds and could not give: damaged record sets and entries"},
    {"eroica_stage_changelog_records_unreadable_total", kCounter, "stage",
     "The same, of changelogs that tasks were restored from"},
    {"eroica_stage_tasks", kGauge, "stage", "Tasks that are open on the node"},
    {"eroica_stage_tasks_restoring", kGauge, "stage", "Tasks that wait for their state"},
    {"eroica_stage_tasks_waiting", kGauge, "stage",
     "Tasks whose partition waits, as memory is short, for those that are further behind"},
    {"eroica_stage_unloads_total", kCounter, "stage",
     "Times that a task let go of its open windows for want of memory, to read them again"},
    {"eroica_stage_changelog_records_restored_total", kCounter, "stage",
     "Changelog records read to restore tasks"},
    {"eroica_kafka_queued_bytes", kGauge, "stage,client",
     "Bytes that librdkafka has fetched ahead, or that no broker has taken yet"},
    {"eroica_kafka_requests_waiting", kGauge, "stage,client",
     "Requests that brokers have not answered"},
    {"eroica_kafka_request_errors_total", kCounter, "stage,client", "Requests that failed"},
    {"eroica_kafka_request_retries_total", kCounter, "stage,client", "Requests sent again"},
    {"eroica_kafka_request_timeouts_total", kCounter, "stage,client",
     "Requests without an answer in time"},
    {"eroica_kafka_disconnects_total", kCounter, "stage,client", "Connections to brokers lost"},
    {"eroica_kafka_round_trip_p99_seconds", kGauge, "stage,client",
     "99th percentile of the slowest broker's round trips in the latest seconds"},
    {"eroica_events_total", kCounter, "outcome",
     "Events of the windows that the node diagnosed: used, late, lost, sampled, outside of steps"},
    {"eroica_windows_diagnosed_total", kCounter, "", "Windows that the node diagnosed"},
    {"eroica_windows_diagnosed_early_total", kCounter, "",
     "Of these, before all ranks and communicators had come: diagnose.memory_mib was full"},
    {"eroica_window_to_finding_seconds", MetricKind::kHistogram, "",
     "From the newest event of a window to its diagnosis and findings"},
    {"eroica_watermark_timestamp_seconds", kGauge, "",
     "Newest event time that the node has diagnosed, of any job; 0: none"},
    {"eroica_jobs", kGauge, "state", "Jobs that the node's tasks know"},
    {"eroica_board_bytes", kGauge, "", "Memory of the windows that are held to be shown"},
    {"eroica_findings_open", kGauge, "kind,severity",
     "Open findings of the jobs that run and that the node's tasks have, but those that are muted"},
    {"eroica_finding_versions_total", kCounter, "kind,severity,state",
     "Findings read from the topic since the node began: opened, updated, resolved"},
    {"eroica_findings_evicted_total", kCounter, "", "Findings that left memory for want of room"},
    {"eroica_findings_malformed_total", kCounter, "", "Records of the topic that are no finding",
     MetricProgram::kNodeAndAlert},
    {"eroica_alert_deliveries_total", kCounter, "sink,server,outcome",
     "Messages to a receiver: delivered, failed (tried again), muted (kept back), and dropped as "
     "refused, too_old, no_room",
     kAlert},
    {"eroica_alert_receiver_answers", kGauge, "sink,server",
     "0 while the receiver does not take what is sent; 1 before anything was sent", kAlert},
    {"eroica_alert_messages_waiting", kGauge, "server", "Messages that wait for the webhook",
     kAlert},
    {"eroica_alerts_firing", kGauge, "server", "Alerts that Alertmanager is kept up to date about",
     kAlert},
    {"eroica_act_versions_total", kCounter, "", "Versions of findings that were considered", kAct},
    {"eroica_act_decisions_total", kCounter, "outcome",
     "What a policy's rule came to: refused, dry_run, done, failed", kAct},
    {"eroica_http_responses_total", kCounter, "code", "Answers by status", kAll},
    {"eroica_http_connections", kGauge, "", "Connections that are open", kAll},
    {"eroica_http_connections_refused_total", kCounter, "", "Connections refused for want of room",
     kAll},
    {"eroica_http_connections_evicted_total", kCounter, "", "Idle connections closed for others",
     kAll},
    {"eroica_http_requests_malformed_total", kCounter, "", "Requests that were none, or too slow",
     kAll},
    {"eroica_http_exceptions_total", kCounter, "",
     "Exceptions of libraries or handlers, of which each ended one connection or answer", kAll},
    {"eroica_http_event_streams", kGauge, "", "Streams of findings that are open", kAll},
    {"eroica_state_bytes", kGauge, "", "State on disk, as RocksDB counts its live data"},
    {"eroica_state_memory_bytes", kGauge, "part", "RocksDB's memory: cache, write buffers, tables"},
    {"eroica_state_compactions_pending", kGauge, "", "1 where RocksDB has a compaction to do"},
    {"process_cpu_seconds_total", kCounter, "", "Processor time of the process", kAll},
    {"process_resident_memory_bytes", kGauge, "", "Resident memory of the process", kAll},
    {"process_open_fds", kGauge, "", "Open file descriptors", kAll},
    {"process_max_fds", kGauge, "", "Limit of open file descriptors", kAll},
    {"process_start_time_seconds", kGauge, "", "Start of the process since 1970", kAll},
}};

constexpr std::array<std::string_view, 3> kKinds = {"counter", "gauge", "histogram"};

std::string_view NameOf(MetricProgram program) {
  switch (program) {
    case MetricProgram::kNode: return "node";
    case MetricProgram::kAlert: return "alert";
    case MetricProgram::kNodeAndAlert: return "node, alert";
    case MetricProgram::kAct: return "act";
    case MetricProgram::kAll: return "all";
  }
  return "";
}

}  // namespace

bool IsShownBy(MetricProgram program, const MetricDeclaration& metric) {
  return (static_cast<int>(metric.program) & static_cast<int>(program)) != 0;
}

const MetricDeclaration& DeclarationOf(Metric metric) {
  return kTable[static_cast<size_t>(metric)];
}

std::string MetricReference() {
  std::string text =
      "# Metrics\n\n"
      "Made from `ops/metrics/metric_table.cc` by `eroica node --print-metrics-reference`; a test "
      "holds the two together.\n\n"
      "`GET /metrics` of a node answers in Prometheus' text format, and that of `eroica alert` and "
      "`eroica act` where `alerts.listen` and `act.listen` name an address. No label is a rank, a "
      "function or a job. Alerting rules and a dashboard for Grafana: `ops/metrics/alerts.yml`, "
      "`ops/metrics/grafana.json`.\n\n"
      "| metric | type | labels | of | what it says |\n|---|---|---|---|---|\n";
  for (const MetricDeclaration& metric : kTable) {
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", metric.name,
                        kKinds[static_cast<size_t>(metric.kind)], metric.labels,
                        NameOf(metric.program), metric.help);
  }
  return text;
}

}  // namespace eroica
