// Who else runs on the processors that the training thread may use: of the processes that do not
// belong to the job, the program that takes more than half of what all of them take. Owner: the
// thread that samples.
//
// Looked at only while somebody asks, some processes a tick, a whole round every few seconds: what
// a process used is the difference of two rounds, of the same process (its number may be another's
// by then: it is known by the moment it started). A process counts on the processor that it ran on
// last, which is all that is cheap to know. Processes that cannot be seen (hidepid) are not named.
// Kernel threads are no competitors with a name that helps; they are left out, and remembered for
// some rounds, so that on hosts with thousands of them there is time for the others.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace eroica {

struct CompetitorOptions {
  std::string proc_root = "/proc";
  int thread = 0;  // the training thread
  int own_process = 0;
  size_t most_processes = 512;  // of a round
  size_t processes_a_tick = 32;
  int64_t round_ns = 3'000'000'000;  // from the beginning of one to that of the next
  int64_t clock_ticks_a_second = 100;
};

// The text of /proc/PID/stat.
struct ProcessStat {
  std::string name;
  int parent = 0;
  bool kernel_thread = false;
  uint64_t used_ticks = 0;
  uint64_t started = 0;
  uint64_t processor = 0;
};
std::optional<ProcessStat> ParseProcessStat(std::string_view text);
// "0-3,8" as numbers, at most 4,096 of them; empty where the text is not such a list.
std::vector<uint64_t> ParseProcessorList(std::string_view text);
// A name that is the same in every run: letters, digits and ".-_" as they are, without what follows
// the first other character, and without a number of three digits or more at its end.
std::string StableName(std::string_view name);

class CompetitorWatch {
 public:
  explicit CompetitorWatch(CompetitorOptions options) : options_(std::move(options)) {}

  // Another thread trains from here on.
  void Follow(int thread) { options_.thread = thread; }
  // wait_share: of the training thread over the last second. job: processes of the job on this
  // host; what they started belongs to them.
  void Tick(int64_t now_ns, double wait_share, std::span<const int> job);
  // Empty where nobody dominates.
  const std::string& name() const { return name_; }
  // Whether the training thread may use fewer processors than there are. Reads a file.
  bool IsPinned(size_t processors_of_host) const;

 private:
  struct Use {
    uint64_t ticks = 0;
    uint64_t started = 0;
  };
  struct Seen {
    int process = 0;
    int parent = 0;
    bool on_our_processors = false;
    uint64_t ticks = 0;  // used since the round before
    std::string name;
  };
  void BeginRound(int64_t now_ns);
  void ReadSome();
  void EndRound(double wait_share, std::span<const int> job);
  bool BelongsToJob(const Seen& seen, const std::map<int, int>& parents,
                    std::span<const int> job) const;
  std::vector<uint64_t> ProcessorsOfThread() const;
  void Forget();

  CompetitorOptions options_;
  std::string name_;
  bool in_round_ = false;
  std::optional<int64_t> begun_ns_;
  int64_t length_ns_ = 0;     // since the round before; 0: there was none
  std::vector<int> waiting_;  // processes of the round that are still to be read
  std::vector<uint64_t> processors_;
  std::vector<Seen> seen_;
  std::map<int, Use> before_;
  std::map<int, Use> now_;
  std::set<int> kernel_threads_;
  int rounds_ = 0;
};

}  // namespace eroica
