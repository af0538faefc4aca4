#include "ops/metrics/node_metrics.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ops/metrics/exposition.h"

namespace eroica {
namespace {

void AddNode(const MetricSources& sources, Exposition& out) {
  out.AddProgram(sources.node.version);
  out.Add(Metric::kHealthy, sources.node.healthy ? 1.0 : 0.0);
  out.Add(Metric::kReady, sources.node.ready() ? 1.0 : 0.0);
  out.Add(Metric::kUnhealthyTimes, sources.times_unhealthy);
}

void AddStages(const NodeState& node, Exposition& out) {
  const auto add = [&](Metric metric, uint64_t StageProbe::*count) {
    for (const auto& [stage, probe] : node.stages)
      out.Add(metric, probe.*count, {{"stage", stage}});
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
        out.Add(Metric::kStageDropped, count,
                {{"stage", name}, {"what", what}, {"reason", std::string(ToString(reason))}});
      }
    };
    add_dropped(probe.dead_letters, "dead_letter");
    add_dropped(probe.outputs_dropped, "output");
  }
  for (const auto& [stage, probe] : node.stages) {
    for (const auto& [reason, events] : probe.events_unused)
      out.Add(Metric::kStageEventsUnused, events,
              {{"stage", stage}, {"reason", std::string(ToString(reason))}});
  }
  add(Metric::kStageWindowsForced, &StageProbe::windows_forced);
  add(Metric::kStageCommits, &StageProbe::commits);
  add(Metric::kStageRetries, &StageProbe::retries);
  add(Metric::kStageRestarts, &StageProbe::restarts);
  for (const auto& [stage, probe] : node.stages) {
    if (!probe.consumer.lag_records) continue;
    out.Add(Metric::kStageLag, static_cast<double>(*probe.consumer.lag_records),
            {{"stage", stage}});
  }
  for (const auto& [stage, probe] : node.stages) {
    out.Add(Metric::kStageHeld, probe.consumer.held_records, {{"stage", stage}});
    out.Add(Metric::kStageHeldSeconds, static_cast<double>(probe.consumer.held_seconds),
            {{"stage", stage}});
  }
  add(Metric::kStageUnreadable, &StageProbe::records_unreadable);
  add(Metric::kStageChangelogUnreadable, &StageProbe::changelog_unreadable);
  add(Metric::kStageTasks, &StageProbe::tasks);
  add(Metric::kStageTasksRestoring, &StageProbe::tasks_restoring);
  add(Metric::kStageTasksWaiting, &StageProbe::tasks_waiting);
  add(Metric::kStageUnloads, &StageProbe::unloads);
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
  out.Add(Metric::kEvents, events.events, {{"outcome", "used"}});
  out.Add(Metric::kEvents, events.late, {{"outcome", "late"}});
  out.Add(Metric::kEvents, events.lost, {{"outcome", "lost"}});
  out.Add(Metric::kEvents, events.sampled, {{"outcome", "sampled"}});
  out.Add(Metric::kEvents, events.outside, {{"outcome", "outside"}});
  out.Add(Metric::kWindows, counts.windows);
  out.Add(Metric::kWindowsEarly, counts.windows_early);
  out.Add(Metric::kWindowToFinding, counts.latency);
  constexpr double kMsPerSecond = 1'000;
  out.Add(Metric::kWatermark, static_cast<double>(counts.newest_ms) / kMsPerSecond);
  uint64_t running = 0;
  uint64_t ended = 0;
  for (const auto& job : board.Jobs()) ++(job->newest.last_of_job ? ended : running);
  out.Add(Metric::kJobs, running, {{"state", "running"}});
  out.Add(Metric::kJobs, ended, {{"state", "ended"}});
  out.Add(Metric::kBoardBytes, board.bytes());
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
      out.Add(Metric::kFindingsOpen, open == counts.open.end() ? 0 : open->second,
              {{"kind", std::string(ToString(key.first))},
               {"severity", std::string(ToString(key.second))}});
    }
  }
  for (const auto& [key, count] : counts.versions) {
    const auto& [kind, severity, state] = key;
    out.Add(Metric::kFindingVersions, count,
            {{"kind", std::string(ToString(kind))},
             {"severity", std::string(ToString(severity))},
             {"state", std::string(ToString(state))}});
  }
  out.Add(Metric::kFindingsEvicted, sources.findings->evicted());
  out.Add(Metric::kFindingsMalformed, sources.findings_malformed);
}

void AddState(const StoreMeasures& state, Exposition& out) {
  out.Add(Metric::kStateBytes, state.live_bytes);
  out.Add(Metric::kStateMemoryBytes, state.cache_bytes, {{"part", "cache"}});
  out.Add(Metric::kStateMemoryBytes, state.write_buffer_bytes, {{"part", "write_buffers"}});
  out.Add(Metric::kStateMemoryBytes, state.table_bytes, {{"part", "tables"}});
  out.Add(Metric::kStateCompactionsPending, state.compaction_pending ? 1.0 : 0.0);
}

}  // namespace

std::string NodeMetrics(const MetricSources& sources) {
  Exposition out;
  AddNode(sources, out);
  AddStages(sources.node, out);
  AddKafka(sources.node, out);
  AddBoard(*sources.board, out);
  AddFindings(sources, out);
  out.AddServer(sources.http);
  if (sources.state) AddState(*sources.state, out);
  out.AddProcess(sources.node.started_ms);
  return out.Text();
}

}  // namespace eroica
