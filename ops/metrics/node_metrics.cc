#include "ops/metrics/node_metrics.h"

#include <prometheus/text_serializer.h>

#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "ops/metrics/metric_table.h"
#include "ops/metrics/process_measures.h"

namespace eroica {
namespace {

using Labels = std::vector<prometheus::ClientMetric::Label>;

prometheus::MetricType TypeOf(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter: return prometheus::MetricType::Counter;
    case MetricKind::kHistogram: return prometheus::MetricType::Histogram;
    default: return prometheus::MetricType::Gauge;
  }
}

// The families of an answer, in the order of their first sample.
class Exposition {
 public:
  void Add(Metric metric, double value, Labels labels = {}) {
    prometheus::ClientMetric sample;
    sample.label = std::move(labels);
    sample.gauge.value = value;
    sample.counter.value = value;
    Family(metric).metric.push_back(std::move(sample));
  }
  void Add(Metric metric, const WindowLatency& latency) {
    prometheus::ClientMetric sample;
    sample.histogram.sample_count = latency.count;
    sample.histogram.sample_sum = latency.sum_seconds;
    uint64_t cumulative = 0;
    for (size_t i = 0; i < latency.buckets.size(); ++i) {
      cumulative += latency.buckets[i];
      sample.histogram.bucket.push_back(
          {.cumulative_count = cumulative, .upper_bound = WindowLatency::kUpperSeconds[i]});
    }
    Family(metric).metric.push_back(std::move(sample));
  }
  std::string Text() const {
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, families_);
    return out.str();
  }

 private:
  prometheus::MetricFamily& Family(Metric metric) {
    const MetricDeclaration& declared = DeclarationOf(metric);
    if (families_.empty() || families_.back().name != declared.name) {
      families_.push_back({.name = std::string(declared.name),
                           .help = std::string(declared.help),
                           .type = TypeOf(declared.kind),
                           .metric = {}});
    }
    return families_.back();
  }

  std::vector<prometheus::MetricFamily> families_;
};

double Number(uint64_t count) { return static_cast<double>(count); }

void AddNode(const MetricSources& sources, Exposition& out) {
  out.Add(Metric::kBuildInfo, 1, {{"version", sources.node.version}});
  out.Add(Metric::kHealthy, sources.node.healthy ? 1 : 0);
  out.Add(Metric::kReady, sources.node.ready() ? 1 : 0);
  out.Add(Metric::kUnhealthyTimes, Number(sources.times_unhealthy));
}

void AddStages(const NodeState& node, Exposition& out) {
  const auto add = [&](Metric metric, uint64_t StageProbe::*count) {
    for (const auto& [stage, probe] : node.stages)
      out.Add(metric, Number(probe.*count), {{"stage", stage}});
  };
  add(Metric::kStageReceived, &StageProbe::records_received);
  add(Metric::kStageReceivedBytes, &StageProbe::bytes_received);
  add(Metric::kStageProcessed, &StageProbe::records_processed);
  add(Metric::kStageIgnored, &StageProbe::records_ignored);
  add(Metric::kStageEmitted, &StageProbe::records_emitted);
  add(Metric::kStageEmittedBytes, &StageProbe::bytes_emitted);
  for (const auto& [stage, probe] : node.stages) {
    const auto add_dropped = [&, name = stage](const auto& counts, const char* what) {
      for (const auto& [reason, count] : counts) {
        out.Add(Metric::kStageDropped, Number(count),
                {{"stage", name}, {"what", what}, {"reason", std::string(ToString(reason))}});
      }
    };
    add_dropped(probe.dead_letters, "dead_letter");
    add_dropped(probe.outputs_dropped, "output");
  }
  for (const auto& [stage, probe] : node.stages) {
    for (const auto& [reason, events] : probe.events_unused)
      out.Add(Metric::kStageEventsUnused, Number(events),
              {{"stage", stage}, {"reason", std::string(ToString(reason))}});
  }
  add(Metric::kStageCommits, &StageProbe::commits);
  add(Metric::kStageRetries, &StageProbe::retries);
  add(Metric::kStageRestarts, &StageProbe::restarts);
  for (const auto& [stage, probe] : node.stages) {
    if (!probe.consumer.lag_records) continue;
    out.Add(Metric::kStageLag, static_cast<double>(*probe.consumer.lag_records),
            {{"stage", stage}});
  }
  add(Metric::kStageTasks, &StageProbe::tasks);
  add(Metric::kStageTasksRestoring, &StageProbe::tasks_restoring);
  add(Metric::kStageChangelogRestored, &StageProbe::changelog_records_read);
}

// librdkafka's, of each stage's consumers and producers together.
void AddKafka(const NodeState& node, Exposition& out) {
  const auto add = [&](Metric metric, auto ClientMeasures::*measure) {
    for (const auto& [stage, probe] : node.stages) {
      for (const auto& [client, measures] :
           {std::pair("consumer", &probe.consumer), std::pair("producer", &probe.producer)})
        out.Add(metric, static_cast<double>(measures->*measure),
                {{"stage", stage}, {"client", client}});
    }
  };
  add(Metric::kKafkaQueuedBytes, &ClientMeasures::queued_bytes);
  add(Metric::kKafkaRequestsWaiting, &ClientMeasures::requests_waiting);
  add(Metric::kKafkaRequestErrors, &ClientMeasures::request_errors);
  add(Metric::kKafkaRequestRetries, &ClientMeasures::request_retries);
  add(Metric::kKafkaRequestTimeouts, &ClientMeasures::request_timeouts);
  add(Metric::kKafkaDisconnects, &ClientMeasures::disconnects);
  add(Metric::kKafkaRoundTrip, &ClientMeasures::round_trip_p99_seconds);
}

void AddBoard(const JobBoard& board, Exposition& out) {
  const BoardCounts counts = board.counts();
  const Completeness& events = counts.events;
  out.Add(Metric::kEvents, Number(events.events), {{"outcome", "used"}});
  out.Add(Metric::kEvents, Number(events.late), {{"outcome", "late"}});
  out.Add(Metric::kEvents, Number(events.lost), {{"outcome", "lost"}});
  out.Add(Metric::kEvents, Number(events.sampled), {{"outcome", "sampled"}});
  out.Add(Metric::kEvents, Number(events.outside), {{"outcome", "outside"}});
  out.Add(Metric::kWindows, Number(counts.windows));
  out.Add(Metric::kWindowsEarly, Number(counts.windows_early));
  out.Add(Metric::kWindowToFinding, counts.latency);
  constexpr double kMsPerSecond = 1'000;
  out.Add(Metric::kWatermark, static_cast<double>(counts.newest_ms) / kMsPerSecond);
  uint64_t running = 0;
  uint64_t ended = 0;
  for (const auto& job : board.Jobs()) ++(job->newest.last_of_job ? ended : running);
  out.Add(Metric::kJobs, Number(running), {{"state", "running"}});
  out.Add(Metric::kJobs, Number(ended), {{"state", "ended"}});
  out.Add(Metric::kBoardBytes, Number(board.bytes()));
}

void AddFindings(const MetricSources& sources, Exposition& out) {
  // Nobody needs to be woken for a job that is over.
  std::set<std::string> running;
  for (const auto& job : sources.board->Jobs()) {
    if (!job->newest.last_of_job) running.insert(job->job.value);
  }
  const FindingCounts counts = sources.findings->CountOf(running, sources.now_ms);
  // Every series is there from the beginning, so that a rate over the first finding is one.
  for (int kind = 0; kind < kFindingKindCount; ++kind) {
    for (int severity = 0; severity < kSeverityCount; ++severity) {
      const std::pair key(static_cast<FindingKind>(kind), static_cast<Severity>(severity));
      const auto open = counts.open.find(key);
      out.Add(Metric::kFindingsOpen, open == counts.open.end() ? 0 : Number(open->second),
              {{"kind", std::string(ToString(key.first))},
               {"severity", std::string(ToString(key.second))}});
    }
  }
  for (const auto& [key, count] : counts.versions) {
    const auto& [kind, severity, state] = key;
    out.Add(Metric::kFindingVersions, Number(count),
            {{"kind", std::string(ToString(kind))},
             {"severity", std::string(ToString(severity))},
             {"state", std::string(ToString(state))}});
  }
  out.Add(Metric::kFindingsEvicted, Number(sources.findings->evicted()));
  out.Add(Metric::kFindingsMalformed, Number(sources.findings_malformed));
}

void AddHttp(const ServerProbe& http, Exposition& out) {
  for (const auto& [status, count] : http.responses)
    out.Add(Metric::kHttpResponses, Number(count), {{"code", std::to_string(status)}});
  out.Add(Metric::kHttpConnections, Number(http.connections_open));
  out.Add(Metric::kHttpConnectionsRefused, Number(http.connections_refused));
  out.Add(Metric::kHttpConnectionsEvicted, Number(http.connections_evicted));
  out.Add(Metric::kHttpMalformed, Number(http.malformed));
  out.Add(Metric::kHttpEventStreams, Number(http.event_streams_open));
}

void AddState(const StoreMeasures& state, Exposition& out) {
  out.Add(Metric::kStateBytes, Number(state.live_bytes));
  out.Add(Metric::kStateMemoryBytes, Number(state.cache_bytes), {{"part", "cache"}});
  out.Add(Metric::kStateMemoryBytes, Number(state.write_buffer_bytes), {{"part", "write_buffers"}});
  out.Add(Metric::kStateMemoryBytes, Number(state.table_bytes), {{"part", "tables"}});
  out.Add(Metric::kStateCompactionsPending, state.compaction_pending ? 1 : 0);
}

void AddProcess(const NodeState& node, Exposition& out) {
  const ProcessMeasures process = MeasureProcess();
  constexpr double kMsPerSecond = 1'000;
  out.Add(Metric::kCpuSeconds, process.cpu_seconds);
  out.Add(Metric::kResidentMemory, Number(process.resident_bytes));
  out.Add(Metric::kOpenFds, Number(process.open_fds));
  out.Add(Metric::kMaxFds, Number(process.max_fds));
  out.Add(Metric::kStartTime, static_cast<double>(node.started_ms) / kMsPerSecond);
}

}  // namespace

std::string NodeMetrics(const MetricSources& sources) {
  Exposition out;
  AddNode(sources, out);
  AddStages(sources.node, out);
  AddKafka(sources.node, out);
  AddBoard(*sources.board, out);
  AddFindings(sources, out);
  AddHttp(sources.http, out);
  if (sources.state) AddState(*sources.state, out);
  AddProcess(sources.node, out);
  return out.Text();
}

}  // namespace eroica
