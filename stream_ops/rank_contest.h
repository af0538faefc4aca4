// Which of several processes that say that they are one rank is the rank.
//
// A job that is started again, or that moves to other hosts, has other processes, and those before
// have ended: they come no further. Where two come further side by side, both say that they are the
// rank at once (EROICA_RANK exported on every host), and what they did must not be taken for what
// one did: the first that came is the rank, the others are refused from then on. A process that a
// later one has followed comes further with its second window from there on: one may still have
// been on its way when it ended.
//
// How far a process has come is a matter of its own clock: those of hosts are not compared. Records
// come in the order in which they were written. Owner: one rank of one job. Nothing outlives a
// restart of the node: the first that is heard then is the rank.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace eroica {

struct RankClaimant {
  std::string host;
  uint32_t pid = 0;
  friend bool operator==(const RankClaimant&, const RankClaimant&) = default;
};

// A rank that several processes were at once.
struct ContestedRank {
  uint32_t rank = 0;
  uint32_t processes = 0;
  std::vector<std::string> hosts;  // of these, each once, sorted; those that are known
  friend bool operator==(const ContestedRank&, const ContestedRank&) = default;
};

class RankContest {
 public:
  // Processes that are known at once: the newest, and all that were refused.
  static constexpr size_t kMostProcesses = 64;

  // A window of the process, or a moment, by its clock. False: another one is the rank. holder: the
  // one that has been taken for the rank meanwhile, and stays it, if there is one.
  bool Accepts(const RankClaimant& process, int64_t start_ns, int64_t end_ns,
               const RankClaimant* holder = nullptr);
  bool IsRefused(const RankClaimant& process) const;
  // Those that were the rank at once, the one that was taken for it first; none where there was no
  // other.
  const std::vector<RankClaimant>& contestants() const { return contestants_; }
  // The same of the rank that this is about; nothing where there was no other.
  std::optional<ContestedRank> Of(uint32_t rank) const;

 private:
  struct Known {
    RankClaimant process;
    int64_t end_ns = 0;        // of its newest window
    int64_t followed_ns = -1;  // end_ns when a later process came; -1: none has
    uint32_t further = 0;      // windows since then
    bool refused = false;
  };
  void Meet(const RankClaimant& process, int64_t end_ns);
  // Of those that came from first on, all but the holder, which is first where none is given.
  void Decide(size_t first, const RankClaimant* holder);

  std::vector<Known> known_;  // as they came
  std::vector<RankClaimant> contestants_;
};

}  // namespace eroica
