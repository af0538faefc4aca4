#include "producers/host/host_counters.h"

#include <dirent.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "producers/core/producer_core.h"
#include "producers/host/kernel_text.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

constexpr size_t kTextBytes = 16'384;
constexpr size_t kMostDisks = 256;
constexpr size_t kMostPorts = 64;
constexpr int64_t kSearchNs = 60'000'000'000;

float Share(double value) { return static_cast<float>(std::clamp(value, 0.0, 1.0)); }

// Not the pieces of others (sda1, nvme0n1p2), and not what is no disk.
bool IsWholeDisk(std::string_view name, const std::map<std::string, uint32_t>& known) {
  for (const std::string_view prefix : {"loop", "ram", "zram", "sr", "fd", "dm-", "md", "nbd"}) {
    if (name.starts_with(prefix)) return false;
  }
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  if (digits == name.size()) return true;
  const std::string_view disk = name.substr(0, digits);
  if (known.contains(std::string(disk))) return false;
  return !disk.ends_with('p') || !known.contains(std::string(disk.substr(0, disk.size() - 1)));
}

std::vector<std::string> EntriesOf(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
  while (open && names.size() < kMostPorts) {
    const dirent* entry = readdir(open.get());
    if (entry == nullptr) break;
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool Exists(const std::string& folder) {
  return std::unique_ptr<DIR, int (*)(DIR*)>(opendir(folder.c_str()), closedir) != nullptr;
}

}  // namespace

std::optional<ProcessorTicks> ParseProcessorTicks(std::string_view text) {
  std::optional<std::string_view> line = AfterKey(text, "cpu ");
  if (!line) return std::nullopt;
  ProcessorTicks ticks;
  for (int column = 0; column < 8; ++column) {  // user nice system idle iowait irq softirq steal
    const std::optional<uint64_t> value = TakeNumber(&*line);
    if (!value || *value > (uint64_t{1} << 56)) return std::nullopt;
    ticks.all += *value;
    if (column == 3 || column == 4) ticks.idle += *value;
    if (column == 7) ticks.stolen = *value;
  }
  return ticks;
}

std::optional<double> ParseMemoryInUse(std::string_view text) {
  std::optional<std::string_view> total = AfterKey(text, "MemTotal:");
  std::optional<std::string_view> available = AfterKey(text, "MemAvailable:");
  const uint64_t total_kb = total ? TakeNumber(&*total).value_or(0) : 0;
  const uint64_t available_kb =
      available ? TakeNumber(&*available).value_or(UINT64_MAX) : UINT64_MAX;
  if (total_kb == 0 || available_kb > total_kb) return std::nullopt;
  return 1 - static_cast<double>(available_kb) / static_cast<double>(total_kb);
}

std::optional<uint64_t> ParsePressureUs(std::string_view text) {
  std::optional<std::string_view> line = AfterKey(text, "some ");
  if (!line) return std::nullopt;
  constexpr std::string_view kTotal = "total=";
  for (std::string_view word = TakeWord(&*line); !word.empty(); word = TakeWord(&*line)) {
    if (word.starts_with(kTotal)) return ReadNumber(word.substr(kTotal.size()));
  }
  return std::nullopt;
}

std::map<std::string, uint32_t> ParseDiskBusyMs(std::string_view text) {
  std::map<std::string, uint32_t> busy;
  std::string_view line;
  while (busy.size() < kMostDisks && TakeLine(&text, &line)) {
    SkipWords(2, &line);
    const std::string_view name = TakeWord(&line);
    SkipWords(9, &line);
    const std::optional<uint64_t> value = TakeNumber(&line);
    if (!value || !IsWholeDisk(name, busy)) continue;
    busy[std::string(name)] = static_cast<uint32_t>(*value);
  }
  return busy;
}

std::optional<double> ParsePortRate(std::string_view text) {
  std::string_view line;
  if (!TakeLine(&text, &line)) return std::nullopt;
  const std::string_view word = TakeWord(&line);  // 10, 2.5
  const auto whole = ReadNumber(word.substr(0, word.find('.')));
  if (!whole || *whole > 1'000'000 || TakeWord(&line) != "Gb/sec") return std::nullopt;
  const size_t dot = word.find('.');
  const auto tenths = dot == std::string_view::npos ? std::optional<uint64_t>(0)
                                                    : ReadNumber(word.substr(dot + 1, 1));
  return (static_cast<double>(*whole) + static_cast<double>(tenths.value_or(0)) / 10) * 1e9 / 8;
}

HostCounters::HostCounters(std::string proc_root, std::string sys_root)
    : sys_root_(std::move(sys_root)),
      text_(kTextBytes),
      stat_(proc_root + "/stat"),
      meminfo_(proc_root + "/meminfo"),
      pressure_(proc_root + "/pressure/memory"),
      diskstats_(proc_root + "/diskstats") {}

void HostCounters::Step(int64_t now_ns) {
  switch (next_++ % kKinds) {
    case 0: return ReadProcessors(now_ns);
    case 1: return ReadMemory(now_ns);
    case 2: return ReadPressure(now_ns);
    case 3: return ReadDisks(now_ns);
    default: return ReadPorts(now_ns);
  }
}

void HostCounters::Forget() {
  ticks_.reset();
  pressure_us_ = {};
  disk_busy_ms_.clear();
  ports_.clear();
  searched_ = false;
}

void HostCounters::ReadProcessors(int64_t now_ns) {
  const std::optional<ProcessorTicks> now = ParseProcessorTicks(Read(stat_, now_ns));
  const std::optional<ProcessorTicks> before = std::exchange(ticks_, now);
  if (!now || !before) return;
  const auto all = Growth(before->all, now->all);
  const auto idle = Growth(before->idle, now->idle);  // time in waiting for a disk may go back
  const auto stolen = Growth(before->stolen, now->stolen);
  if (!all || !idle || !stolen || *all == 0) return;
  const auto length = static_cast<double>(*all);
  eroica_sample(now_ns, EROICA_CPU_STEAL, Share(static_cast<double>(*stolen) / length));
  eroica_sample(now_ns, EROICA_HOST_CPU,
                Share(1 - (static_cast<double>(*idle) + static_cast<double>(*stolen)) / length));
}

void HostCounters::ReadMemory(int64_t now_ns) {
  const std::optional<double> in_use = ParseMemoryInUse(Read(meminfo_, now_ns));
  if (in_use) eroica_sample(now_ns, EROICA_MEMORY, Share(*in_use));
}

void HostCounters::ReadPressure(int64_t now_ns) {
  const Mark before =
      std::exchange(pressure_us_, Mark{ParsePressureUs(Read(pressure_, now_ns)), now_ns});
  if (!before.value || !pressure_us_.value || now_ns <= before.time_ns) return;
  const auto stood_us = Growth(*before.value, *pressure_us_.value);
  if (!stood_us) return;
  const auto length_ns = static_cast<double>(now_ns - before.time_ns);
  eroica_sample(now_ns, EROICA_MEMORY_PRESSURE,
                Share(static_cast<double>(*stood_us) * 1e3 / length_ns));
}

void HostCounters::ReadDisks(int64_t now_ns) {
  std::map<std::string, uint32_t> busy = ParseDiskBusyMs(Read(diskstats_, now_ns));
  const auto before = std::exchange(disk_busy_ms_, std::move(busy));
  const int64_t length_ns = now_ns - std::exchange(disks_read_ns_, now_ns);
  if (length_ns <= 0) return;
  const double length_ms = static_cast<double>(length_ns) / 1e6;
  std::optional<double> most;
  for (const auto& [name, ms] : disk_busy_ms_) {
    const auto known = before.find(name);
    if (known == before.end()) continue;
    const uint32_t grown = ms - known->second;  // it wraps after 49 days
    const double share = static_cast<double>(grown) / length_ms;
    if (share > 2) continue;  // it went back: another disk by the same name
    most = std::max(most.value_or(0), share);
  }
  if (most) eroica_sample(now_ns, EROICA_DISK, Share(*most));
}

void HostCounters::ReadPorts(int64_t now_ns) {
  FindPorts(now_ns);
  std::optional<double> most;
  for (Port& port : ports_) {
    const bool first = !port.sent_before.value && !port.received_before.value;
    const double sent = ShareOf(port.sent, port.sent_before, port, now_ns);
    const double received = ShareOf(port.received, port.received_before, port, now_ns);
    if (!first) most = std::max({most.value_or(0), sent, received});
  }
  if (most) eroica_sample(now_ns, EROICA_HOST_NIC, Share(*most));
}

double HostCounters::ShareOf(KeptFile& file, Mark& before, const Port& port, int64_t now_ns) {
  std::string_view text = Read(file, now_ns);
  std::string_view line;
  const Mark now{TakeLine(&text, &line) ? TakeNumber(&line) : std::nullopt, now_ns};
  const Mark then = std::exchange(before, now);
  if (!now.value || !then.value || now_ns <= then.time_ns) return 0;
  const auto grown = Growth(*then.value, *now.value);
  if (!grown) return 0;
  const double seconds = static_cast<double>(now_ns - then.time_ns) / kNsPerSecond;
  return static_cast<double>(*grown) * static_cast<double>(port.unit) /
         (seconds * port.bytes_a_second);
}

void HostCounters::FindPorts(int64_t now_ns) {
  if (searched_ && now_ns - searched_ns_ < kSearchNs) return;
  searched_ = true;
  searched_ns_ = now_ns;
  ports_.clear();
  FindNetworkDevices();
  FindRdmaPorts();
}

// Ports of hardware whose speed is known; not bridges, tunnels and the like, which lead to them.
void HostCounters::FindNetworkDevices() {
  const std::string folder = sys_root_ + "/class/net";
  for (const std::string& name : EntriesOf(folder)) {
    const std::string device = folder + "/" + name;
    if (!Exists(device + "/device") || ports_.size() >= kMostPorts) continue;
    KeptFile speed(device + "/speed");
    std::string_view text = Read(speed, 0);
    std::string_view line;
    // -1 where not known
    const auto megabits = TakeLine(&text, &line) ? TakeNumber(&line) : std::nullopt;
    if (!megabits || *megabits == 0 || *megabits > 100'000'000) continue;
    ports_.push_back({.sent = KeptFile(device + "/statistics/tx_bytes"),
                      .received = KeptFile(device + "/statistics/rx_bytes"),
                      .unit = 1,
                      .bytes_a_second = static_cast<double>(*megabits) * 1e6 / 8});
  }
}

// What goes by RDMA is not in the counters of network devices. Their unit is four bytes.
void HostCounters::FindRdmaPorts() {
  const std::string folder = sys_root_ + "/class/infiniband";
  for (const std::string& name : EntriesOf(folder)) {
    for (const std::string& number : EntriesOf(folder + "/" + name + "/ports")) {
      const std::string place = folder + "/" + name + "/ports/" + number;
      KeptFile rate(place + "/rate");
      const std::optional<double> bytes_a_second = ParsePortRate(Read(rate, 0));
      if (!bytes_a_second || *bytes_a_second <= 0 || ports_.size() >= kMostPorts) continue;
      ports_.push_back({.sent = KeptFile(place + "/counters/port_xmit_data"),
                        .received = KeptFile(place + "/counters/port_rcv_data"),
                        .unit = 4,
                        .bytes_a_second = *bytes_a_second});
    }
  }
}

}  // namespace eroica
