// How ranks learn whose sockets their own ones lead to: each writes the local ends of its sockets
// into one small file of a folder that the ranks of the job share, and reads those of the others.
// Owner: the thread that samples. It blocks as long as the folder's file system does, and never
// throws.
//
//   eroica-ends 1
//   rank 3
//   host node-0017/pid:[4026531836]
//   process 4242
//   network 4f1c.../net:[4026531840]
//   end 10.0.0.4:37922
//   whole
//
// A file is written beside its place and renamed into it, so nobody sees half of one; one without
// its last line is not used. It is written anew when the ends change, and now and then anyway: one
// that is much older than the rank's own, by the clock of the file system, is that of a rank that
// is no more. Of the others' ends only those are kept that the rank asks about. Files and the
// folder must belong to this user, or they are not used: an end in them decides who is blamed.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "producers/host/peer_table.h"

namespace eroica {

struct ExchangeOptions {
  std::string folder;  // empty: no exchange
  uint32_t rank = 0;
  uint32_t world_size = 1;
  std::string host;  // ranks with an equal one see each other's process numbers
  // ranks with an equal one are in one network namespace: no network lies between them; empty: not
  // known
  std::string network;
  int process = 0;
  size_t files_a_tick = 8;
  int64_t publish_ns = 1'000'000'000;  // at most so often
  int64_t publish_anyway_ns = 10'000'000'000;
  int64_t stale_ns = 60'000'000'000;
  // from round to round, doubled up to the last while nothing new comes
  int64_t first_round_ns = 2'000'000'000;
  int64_t last_round_ns = 60'000'000'000;
};

struct RankEnds {
  uint32_t rank = 0;
  std::string host;
  int process = 0;
  std::string network{};  // empty: the rank does not know it
  std::vector<std::string> ends;
  friend bool operator==(const RankEnds&, const RankEnds&) = default;
};
// At most 64 KiB; what does not fit is left out.
std::string FormatRankEnds(const RankEnds& ends);
// Takes any bytes; false where it is no such file, or not a whole one.
bool ParseRankEnds(std::string_view text, RankEnds* ends);

class EndpointExchange {
 public:
  explicit EndpointExchange(ExchangeOptions options);

  // The local and remote ends of the rank's own sockets.
  void SetEnds(std::set<std::string> local, std::set<std::string> remote);
  // Publishes and reads what is due.
  void Tick(int64_t now_ns);

  // Whether there is a folder that can be trusted, as the last tick saw it.
  bool usable() const { return prepared_; }
  const PeerTable& table() const { return table_; }
  // Of the other ranks on this host.
  const std::vector<int>& job_processes() const { return job_processes_; }

 private:
  struct Stamp {
    int64_t modified_ns = 0;
    uint64_t inode = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  bool PrepareFolder();
  void Publish(int64_t now_ns);
  void ReadFile(uint32_t rank);
  void Take(uint32_t rank, const RankEnds& ends);
  void TakeOwn();
  void Forget(uint32_t rank);
  void EndRound();
  std::string PathOf(uint32_t rank) const;

  ExchangeOptions options_;
  bool prepared_ = false;
  std::set<std::string> local_;
  std::set<std::string> remote_;
  bool changed_ = true;  // since it was published
  int64_t published_ns_ = 0;
  int64_t own_modified_ns_ = 0;  // 0: never published
  PeerTable table_;
  std::map<uint32_t, Stamp> known_;
  std::map<uint32_t, int> processes_;
  std::vector<int> job_processes_;
  uint32_t next_rank_ = 0;
  int64_t round_begun_ns_ = 0;
  int64_t round_ns_ = 0;
  bool in_round_ = false;
};

}  // namespace eroica
