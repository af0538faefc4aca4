#include "diagnosis/ledger/host_record.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace eroica {
namespace {

bool BlamesAMachine(const Finding& finding) {
  return finding.kind != FindingKind::kImbalance && finding.kind != FindingKind::kRegression &&
         finding.kind != FindingKind::kMonitoringGap;
}

void Add(const Finding& finding, HostRecord& record) {
  ++record.findings_of[finding.job.value];
  ++record.kinds[finding.kind];
  if (finding.state != FindingState::kResolved) ++record.open;
  record.worst_gpu_seconds_per_hour =
      std::max(record.worst_gpu_seconds_per_hour, finding.lost_gpu_seconds_per_hour);
  for (const Culprit& culprit : finding.culprits) {
    if (culprit.host == record.host && culprit.device >= 0) record.devices.insert(culprit.device);
  }
}

}  // namespace

size_t HostRecord::findings() const {
  size_t all = 0;
  for (const auto& [job, count] : findings_of) all += count;
  return all;
}

std::vector<HostRecord> RecordsByHost(std::span<const Finding> findings) {
  std::map<std::string, HostRecord> by_host;
  for (const Finding& finding : findings) {
    if (!BlamesAMachine(finding)) continue;
    std::set<std::string> hosts;  // once each, however many of its ranks are culprits
    for (const Culprit& culprit : finding.culprits) hosts.insert(culprit.host);
    for (const std::string& host : hosts) {
      if (host.empty()) continue;
      HostRecord& record = by_host[host];
      record.host = host;
      Add(finding, record);
    }
  }
  std::vector<HostRecord> records;
  for (auto& [host, record] : by_host) records.push_back(std::move(record));
  std::ranges::stable_sort(records, [](const HostRecord& a, const HostRecord& b) {
    return std::tuple(a.findings_of.size(), a.findings()) >
           std::tuple(b.findings_of.size(), b.findings());
  });
  return records;
}

}  // namespace eroica
