// What was found about each host, over all jobs that it ran: a machine that slows one job after the
// other moves with the jobs' ranks, and no window of one job shows it (Guard, arXiv 2605.17879:
// accumulation by device and host over jobs). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "schemas/finding.h"

namespace eroica {

struct HostRecord {
  std::string host;
  std::map<std::string, size_t> findings_of;  // by job
  std::map<FindingKind, size_t> kinds;
  std::set<int32_t> devices;  // that findings name; without -1
  size_t open = 0;
  double worst_gpu_seconds_per_hour = 0;

  size_t findings() const;
  // In one job a rank may be slow for what it runs there; the same host in two jobs is the host.
  bool recurring() const { return findings_of.size() > 1; }
};

// Of each host that a culprit stands on; recurring ones first, those with more jobs, then more
// findings, then by name. Findings are latest versions (one an id and job). Imbalances and
// regressions are nobody's machine, and a gap in the telemetry blames none: they are left out.
std::vector<HostRecord> RecordsByHost(std::span<const Finding> findings);

}  // namespace eroica
