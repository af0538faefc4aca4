// The processes of the ranks on this host: who they are (their locks in the exchange folder), and
// how each of them ended. Each is held by a descriptor (pidfd_open(2)), so that no other process of
// its number is taken for it. Of processes of other pid namespaces and of other users nothing is
// seen. Owner: one thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ops/launch/out_of_memory_count.h"
#include "schemas/process_end.h"
#include "schemas/rank_standing.h"

namespace eroica {

struct RankProcess {
  uint32_t rank = 0;
  pid_t pid = 0;
  int64_t seen_ns = 0;  // first; wall clock, as all times here
};

struct EndedRank {
  RankProcess process;
  int64_t time_ns = 0;
  ProcessEnd end;
  std::optional<RankStanding> place;  // its last note (producers/core/place_note.h)
  // A signal ended it that asks for an end, and right after that none of the others here had got
  // it: it was meant for this one. False where there are no others, or this is not certain.
  bool others_untold = false;
};

class RankProcesses {
 public:
  static constexpr size_t kMost = 4'096;  // beyond, processes are not watched

  explicit RankProcesses(std::string exchange_folder);
  ~RankProcesses();
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;

  // Processes that have claimed a rank since it was asked last, and live.
  std::vector<RankProcess> TakeNew();
  // Those that end within the time, in the order in which they end; at once where one has.
  std::vector<EndedRank> WaitForEnds(std::chrono::milliseconds timeout);
  // From now on nobody waits any more. Any thread.
  void StopWaiting();

 private:
  struct Watched {
    RankProcess process;
    int descriptor = -1;
    OutOfMemoryCount out_of_memory;
  };
  std::optional<Watched> Watch(uint32_t rank, pid_t pid) const;
  EndedRank EndOf(const Watched& watched) const;
  bool AreOthersUntold(const Watched& watched, int32_t signal) const;

  const std::string folder_;
  const int stopped_;  // an eventfd(2); -1 where there is none
  const int ends_;     // an epoll(7), which answers in the order of the ends; likewise
  std::map<uint32_t, pid_t> claimed_;  // by rank: the newest process that was looked at
  std::vector<Watched> watched_;
};

}  // namespace eroica
