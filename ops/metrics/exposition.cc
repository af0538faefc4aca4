#include "ops/metrics/exposition.h"

#include <prometheus/text_serializer.h>

#include <sstream>
#include <utility>

#include "ops/metrics/process_measures.h"
#include "ops/rest/http_client.h"

namespace eroica {
namespace {

prometheus::MetricType TypeOf(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter: return prometheus::MetricType::Counter;
    case MetricKind::kHistogram: return prometheus::MetricType::Histogram;
    default: return prometheus::MetricType::Gauge;
  }
}

}  // namespace

void Exposition::Add(Metric metric, double value, Labels labels) {
  prometheus::ClientMetric sample;
  sample.label = std::move(labels);
  sample.gauge.value = value;
  sample.counter.value = value;
  Family(metric).metric.push_back(std::move(sample));
}

void Exposition::Add(Metric metric, const WindowLatency& latency) {
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

void Exposition::AddProgram(const std::string& version) {
  Add(Metric::kBuildInfo, 1.0, {{"version", version}});
}

void Exposition::AddServer(const ServerProbe& http) {
  for (const auto& [status, count] : http.responses)
    Add(Metric::kHttpResponses, count, {{"code", std::to_string(status)}});
  Add(Metric::kHttpConnections, http.connections_open);
  Add(Metric::kHttpConnectionsRefused, http.connections_refused);
  Add(Metric::kHttpConnectionsEvicted, http.connections_evicted);
  Add(Metric::kHttpMalformed, http.malformed);
  Add(Metric::kHttpExceptions, http.exceptions + HttpClientExceptions());
  Add(Metric::kHttpEventStreams, http.event_streams_open);
}

void Exposition::AddProcess(int64_t started_ms) {
  const ProcessMeasures process = MeasureProcess();
  constexpr double kMsPerSecond = 1'000;
  Add(Metric::kCpuSeconds, process.cpu_seconds);
  Add(Metric::kResidentMemory, process.resident_bytes);
  Add(Metric::kOpenFds, process.open_fds);
  Add(Metric::kMaxFds, process.max_fds);
  Add(Metric::kStartTime, static_cast<double>(started_ms) / kMsPerSecond);
}

std::string Exposition::Text() const {
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families_);
  return out.str();
}

prometheus::MetricFamily& Exposition::Family(Metric metric) {
  const MetricDeclaration& declared = DeclarationOf(metric);
  if (families_.empty() || families_.back().name != declared.name) {
    families_.push_back({.name = std::string(declared.name),
                         .help = std::string(declared.help),
                         .type = TypeOf(declared.kind),
                         .metric = {}});
  }
  return families_.back();
}

}  // namespace eroica
