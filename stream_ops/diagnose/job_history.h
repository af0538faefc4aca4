// The newest windows of a job, as diagnosis looks back on them, and their rows in Table::kProgress:
// a restart, and a new owner of the task, go on with the same past.
// Windows of time and of steps have nothing to do with each other. Of each kind the newest 32 are
// kept: a row's slot is its window's index modulo 32, so that a new one takes the oldest one's
// place. Owner: one task.
#pragma once

#include <absl/status/status.h>

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "diagnosis/measurements/cross_rank_view.h"
#include "diagnosis/measurements/past_windows.h"
#include "schemas/codec.h"
#include "schemas/diagnosis_state.h"
#include "schemas/window.h"
#include "state_store/key_schema.h"
#include "state_store/state_store.h"

namespace eroica {

class JobHistory {
 public:
  // A row of kProfile, kBusyTimes, kWorkTimes or kBytesTimes, in any order; FinishRestore puts them
  // in that of their windows. kDataLoss: it is no such row.
  absl::Status Restore(ProgressKey key, std::string_view value);
  void FinishRestore();

  // Takes the window in and puts its rows into changes. Windows come in their order. One without
  // whole steps says nothing to later ones and is not kept. Answers why the profile cannot be
  // stored, where what ranks reported makes it more than a row may hold; kNone where it is.
  DropReason Remember(const JobId& job, const CrossRankView& view, StateChanges& changes);

  // A run begins: what the processes of the one before took says nothing of those of this one.
  void Forget(const JobId& job, WindowKind kind, StateChanges& changes);

  // Of the kind, oldest first. Views of what this owns: they end with the next Remember.
  PastWindows Past(WindowKind kind) const;

 private:
  struct Windows {
    std::vector<PatternBatch> profiles;  // job_profile.h
    std::vector<RankTimes> busy;         // what its ranks took (lasting_excess.h),
    std::vector<RankTimes> work;         // what work they had,
    std::vector<RankTimes> bytes;        // and what they exchanged (exchanged_bytes.h)
  };
  static std::vector<RankTimes>* TimesOf(ProgressFamily family, Windows& windows);

  std::array<Windows, kWindowKindCount> kinds_;
  Encoder encoder_;
};

}  // namespace eroica
