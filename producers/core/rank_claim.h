// One process of a host is a rank, and no other: its children, a second Eroica in the same process,
// a data loader's worker with the same environment are not. Whoever holds the lock of the rank's
// file in the exchange folder is the rank; the kernel lets go of it when the process dies or
// replaces itself.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace eroica {

// Where exchange folders lie by default, the best place first: those of $XDG_RUNTIME_DIR, /dev/shm,
// $TMPDIR and /tmp that can be written; /dev/shm where none can.
std::vector<std::string> ExchangeParents();
// Of all ranks of a job on this host that were given none: below the best place, readable by this
// user only.
std::string DefaultExchangeFolder(const std::string& job);

// Whether a variable or a framework says the rank of a process, or nobody does: then it is 0.
enum class RankSource : uint8_t { kStated, kAssumed };

class RankClaim {
 public:
  // kAlreadyExists: another process (its number is in the message) or another library of this
  // process is the rank. Makes the folder.
  static absl::StatusOr<RankClaim> Take(const std::string& folder, uint32_t rank,
                                        RankSource source = RankSource::kStated);

  // Whether the process that holds the rank was told of none: it may be what started the ranks.
  static bool IsHeldByAssumption(const std::string& folder, uint32_t rank);

  // Whether the rank belongs to a process that this one descends from: then it is no news, unless
  // that one only assumes the rank and this one was told of it.
  static bool IsHeldByAncestor(const std::string& folder, uint32_t rank);

  // The file that the holder has open as long as it is the rank.
  static std::string LockPath(const std::string& folder, uint32_t rank);

  // Who has written itself down as a rank in the folder, by rank. It need no longer live.
  struct Holder {
    uint32_t rank = 0;
    int32_t pid = 0;
  };
  static std::vector<Holder> HoldersIn(const std::string& folder);

  // Tells the holder that another process claims its rank. Does nothing where the lock cannot be
  // written.
  static void NoteRefused(const std::string& folder, uint32_t rank);
  // Processes that were refused since the rank was taken; at most kMostRefused.
  uint32_t refused() const;
  static constexpr uint32_t kMostRefused = 65'536;

  // Asks the holder for the rank: a descendant of it trains, and a process that only starts the
  // trainer gives it up. Whether it does is seen by Take.
  static void Ask(const std::string& folder, uint32_t rank);
  // Whether a process has asked since the rank was taken.
  bool IsAsked() const;
  // From here on another process can take the rank.
  void Release();

  // For a forked child: it does not keep the rank for its parent.
  void CloseInChild();

 private:
  RankClaim(int file, std::string question) : file_(file), question_(std::move(question)) {}
  int file_;              // open until the process ends, or lets the rank go
  std::string question_;  // the file that is there where somebody has asked
};

}  // namespace eroica
