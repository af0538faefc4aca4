// The open windows of one communicator, and which of its members have delivered how far.
//
// A window is complete when every member has delivered its batch for it, or one for a later window,
// or has said that it is finished. Members are those that the communicator's own list or size names
// (large communicators are listed by a few members, whose batches may come at any time); where a
// producer knows neither, a window is complete when everyone seen so far has delivered a later one.
// A rank's batches come in the order of its windows (one summarize task writes them, one partition
// holds them), so the lowest window is always the first to be complete, and what is closed does not
// depend on how the ranks' batches are interleaved. What never completes is closed by the caller.
// Windows are known by their numbers, which go on where the job is started again under its name
// (run_numbering.h); what is handed out has the indices that came in.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/collective_batch.h"
#include "schemas/drop_reason.h"
#include "stream_ops/run_numbering.h"

namespace eroica {

struct ClosedWindow {
  Window window;                         // of the lowest rank that reported
  std::vector<CollectiveBatch> batches;  // ascending by rank, at least one
  // known members that reported nothing and are not finished, ascending
  std::vector<RankId> missing;
  bool begins_run = false;  // the one that was closed before is of the run before
  bool last = false;        // every member is finished, and no window is open
};

class CommunicatorWindows {
 public:
  // kNone: taken. kLate: its window is closed. kDuplicate: the rank's batch for that window is here
  // already. offset: of the record that it came in.
  DropReason Add(CollectiveBatch batch, int64_t offset);

  bool HasOpen() const { return !open_.empty(); }
  size_t open_windows() const { return open_.size(); }
  uint64_t open_batches() const;
  uint64_t open_rows() const { return open_rows_; }
  // Nothing when no window is open.
  std::optional<int64_t> first_offset() const;
  bool OldestIsComplete() const;
  // HasOpen() must hold. Windows close in the order of their numbers.
  ClosedWindow CloseOldest();

  uint32_t world_size() const { return world_size_; }  // the largest that a member named
  std::optional<int64_t> closed_through() const { return closed_through_; }  // a number
  const RunNumbering& runs() const { return runs_; }
  std::vector<RankId> FinishedRanks() const;  // ascending
  // The list of members that was read last, empty where none was; and whether it is another one
  // than when this was asked last.
  const std::vector<uint32_t>& listed() const { return listed_; }
  bool TakeListChange() { return std::exchange(list_changed_, false); }
  // What a former life had closed, and whom it knew. In this order, before any Add.
  void Restore(int64_t closed_through, const std::vector<RankId>& finished);
  void RestoreMembers(std::vector<uint32_t> listed);
  // False where the value is none of RunNumbering's.
  bool RestoreRuns(std::string_view value) { return runs_.Restore(value); }

 private:
  struct OpenWindow {
    std::vector<CollectiveBatch> batches;
    absl::flat_hash_set<uint32_t> ranks;
    int64_t first_offset = 0;
    size_t reached = 0;  // members that have delivered this window or a later one
    size_t passed = 0;   // members that have delivered a later one
  };

  bool IsFinished(uint32_t rank) const;
  bool Has(uint32_t rank, int64_t number) const;
  void LearnMembers(CollectiveBatch* batch);
  void SetList(std::vector<uint32_t> ranks);
  void Advance(uint32_t rank, int64_t latest);
  OpenWindow& Open(int64_t number, int64_t offset);
  bool AllFinished() const;

  RunNumbering runs_;
  absl::flat_hash_map<uint32_t, RunPlace> places_;  // by rank
  std::map<int64_t, OpenWindow> open_;              // by number
  // by member: the latest window that it has delivered
  absl::flat_hash_map<uint32_t, int64_t> latest_;
  std::vector<uint32_t> listed_;
  bool list_changed_ = false;
  size_t declared_ = 0;  // members that the communicator has by its own account; 0: it does not say
  size_t finished_ = 0;
  uint64_t open_rows_ = 0;
  uint32_t world_size_ = 1;
  std::optional<int64_t> closed_through_;
};

}  // namespace eroica
