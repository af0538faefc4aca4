// What the host as a whole does: its processors, memory, disks and network ports, from counters of
// /proc and /sys, as samples of the one rank that speaks for the host (host_election.h). Owner: the
// thread that samples. One kind of counter a call, all of them within a second. What a host or a
// container does not show is not reported.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "producers/host/kept_file.h"

namespace eroica {

// The first line of /proc/stat, in clock ticks.
struct ProcessorTicks {
  uint64_t all = 0;  // without guests, which count as user time already
  uint64_t idle = 0;
  uint64_t stolen = 0;
};
std::optional<ProcessorTicks> ParseProcessorTicks(std::string_view text);
// Of /proc/meminfo: 1 - MemAvailable / MemTotal.
std::optional<double> ParseMemoryInUse(std::string_view text);
// Of /proc/pressure/memory: microseconds in which some task stood still.
std::optional<uint64_t> ParsePressureUs(std::string_view text);
// Of /proc/diskstats: milliseconds in which each whole disk was busy, a counter of 32 bits.
std::map<std::string, uint32_t> ParseDiskBusyMs(std::string_view text);
// "400 Gb/sec (4X NDR)" as bytes a second.
std::optional<double> ParsePortRate(std::string_view text);

class HostCounters {
 public:
  static constexpr int kKinds = 5;  // of counters

  HostCounters(std::string proc_root, std::string sys_root);
  // Reads the next kind; call it some times a second.
  void Step(int64_t now_ns);
  // As after a time in which nobody called: what was read counts no longer.
  void Forget();

 private:
  // A value since which a counter is compared, and when it was read.
  struct Mark {
    std::optional<uint64_t> value;
    int64_t time_ns = 0;
  };
  struct Port {
    KeptFile sent;
    KeptFile received;
    uint64_t unit = 1;  // bytes a count
    double bytes_a_second = 0;
    Mark sent_before;
    Mark received_before;
  };
  void ReadProcessors(int64_t now_ns);
  void ReadMemory(int64_t now_ns);
  void ReadPressure(int64_t now_ns);
  void ReadDisks(int64_t now_ns);
  void ReadPorts(int64_t now_ns);
  void FindPorts(int64_t now_ns);
  void FindNetworkDevices();
  void FindRdmaPorts();
  double ShareOf(KeptFile& file, Mark& before, const Port& port, int64_t now_ns);
  std::string_view Read(KeptFile& file, int64_t now_ns) { return file.Read(text_, now_ns); }

  std::string sys_root_;
  std::vector<char> text_;
  KeptFile stat_;
  KeptFile meminfo_;
  KeptFile pressure_;
  KeptFile diskstats_;
  int next_ = 0;
  std::optional<ProcessorTicks> ticks_;
  Mark pressure_us_;
  std::map<std::string, uint32_t> disk_busy_ms_;
  int64_t disks_read_ns_ = 0;
  std::vector<Port> ports_;
  bool searched_ = false;
  int64_t searched_ns_ = 0;
};

}  // namespace eroica
