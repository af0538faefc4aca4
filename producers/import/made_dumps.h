// For tests: flight-recorder dumps of a made job, as PyTorch's recorders write them, JSON.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace eroica {

struct MadeEntry {
  std::string name = "nccl:all_reduce";
  int sequence = 1;
  std::string state = "completed";
  bool retired = true;
  bool p2p = false;
  std::string group = "0";
  std::string description = "default_pg";
  int64_t in = 1000;  // elements of type Float
  int64_t out = 1000;
  int64_t at_ms = -1;  // -1: 1 ms an entry
  bool timed = false;  // TORCH_NCCL_ENABLE_TIMING
  std::string frames;  // JSON; empty: none
};

struct MadeGroup {
  std::string name = "0";
  std::string description = "default_pg";
  std::string ranks = "[0, 1, 2, 3]";
};

class MadeDump {
 public:
  static constexpr int64_t kBaseMs = 1'790'000'000'000;
  static constexpr int64_t kLimitMs = 600'000;  // of each operation

  explicit MadeDump(std::vector<MadeGroup> groups = {MadeGroup()}) : groups_(std::move(groups)) {}

  MadeDump& Add(MadeEntry entry) {
    if (entry.at_ms < 0) entry.at_ms = static_cast<int64_t>(entries_.size()) + 1 + later_ms;
    entries_.push_back(std::move(entry));
    return *this;
  }
  // That ended, numbers 1 to last.
  MadeDump& Ended(int last, const MadeEntry& like = {}) {
    for (int sequence = 1; sequence <= last; ++sequence) {
      MadeEntry entry = like;
      entry.sequence = sequence;
      Add(entry);
    }
    return *this;
  }
  // A launched operation without an end.
  MadeDump& Open(int sequence, MadeEntry entry = {}) {
    entry.sequence = sequence;
    entry.state = "scheduled";
    entry.retired = false;
    return Add(entry);
  }

  std::string Json() const {
    std::string rows;
    for (size_t i = 0; i < entries_.size(); ++i) rows += (i == 0 ? "" : ",") + Row(i);
    std::string groups;
    for (const MadeGroup& group : groups_) {
      groups += fmt::format(R"({}"{}":{{"name":"{}","desc":"{}","ranks":"{}"}})",
                            groups.empty() ? "" : ",", group.name, group.name, group.description,
                            group.ranks);
    }
    return fmt::format(
        R"({{"version":"2.10","entries":[{}],"pg_config":{{{}}},"pg_status":{{{}}}}})", rows,
        groups, entries_.empty() ? "" : R"("0":{"last_enqueued_collective":"1"})");
  }
  // At the time that a watchdog writes it, when the limit of its last entry has passed.
  void Write(const std::string& path) const {
    constexpr int64_t kWatchdogMs = 5'000;
    int64_t last_ms = 0;
    for (const MadeEntry& entry : entries_) last_ms = std::max(last_ms, entry.at_ms);
    WriteAt(path, last_ms + kLimitMs + kWatchdogMs);
  }
  // At this time from the base.
  void WriteAt(const std::string& path, int64_t at_ms) const {
    std::ofstream(path, std::ios::binary) << Json();
    const std::chrono::sys_time<std::chrono::milliseconds> at(
        std::chrono::milliseconds(kBaseMs + at_ms));
    std::filesystem::last_write_time(path, std::chrono::file_clock::from_sys(at));
  }

  int64_t later_ms = 0;  // of entries without a time of their own

 private:
  std::string Row(size_t i) const {
    const MadeEntry& e = entries_[i];
    const int64_t at_ns = (kBaseMs + e.at_ms) * 1'000'000;
    const bool started = e.timed && e.state != "scheduled";
    return fmt::format(
        R"({{{}"record_id":{},"pg_id":0,"process_group":["{}","{}"],"collective_seq_id":{},"p2p_seq_id":{},"op_id":{},"profiling_name":"{}","time_created_ns":{},"input_sizes":[[{}]],"input_dtypes":["Float"],"output_sizes":[[{}]],"output_dtypes":["Float"],"state":"{}","time_discovered_started_ns":{},"time_discovered_completed_ns":{},"retired":{},"timeout_ms":{},"is_p2p":{}}})",
        e.frames.empty() ? "" : "\"frames\":" + e.frames + ",", i, e.group, e.description,
        e.p2p ? 0 : e.sequence, e.p2p ? e.sequence : 0, i + 1, e.name, at_ns, e.in, e.out, e.state,
        started ? at_ns + 1 : 0, e.state == "completed" ? at_ns + 500'000 : 0, e.retired, kLimitMs,
        e.p2p);
  }

  std::vector<MadeGroup> groups_;
  std::vector<MadeEntry> entries_;
};

}  // namespace eroica
