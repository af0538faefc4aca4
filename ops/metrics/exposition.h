// The families of one answer of /metrics, in the order of their first sample. One thread.
#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ops/metrics/metric_table.h"
#include "ops/rest/server.h"
#include "stream_ops/diagnose/job_board.h"

namespace eroica {

class Exposition {
 public:
  using Labels = std::vector<prometheus::ClientMetric::Label>;

  // All samples of a metric come one after the other.
  void Add(Metric metric, double value, Labels labels = {});
  void Add(Metric metric, uint64_t count, Labels labels = {}) {
    Add(metric, static_cast<double>(count), std::move(labels));
  }
  void Add(Metric metric, const WindowLatency& latency);
  // What every program of ours shows: its build, its server, and what the system says of it.
  void AddProgram(const std::string& version);
  void AddServer(const ServerProbe& http);
  void AddProcess(int64_t started_ms);

  // Prometheus' text format, version 0.0.4.
  std::string Text() const;

 private:
  prometheus::MetricFamily& Family(Metric metric);

  std::vector<prometheus::MetricFamily> families_;
};

}  // namespace eroica
