// Life of a job's findings over windows: opened when they rest on enough, updated while they last,
// resolved when gone. One identity over windows and restarts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "diagnosis/ledger/claim_memory.h"
#include "schemas/finding.h"

namespace eroica {

// Of one job. One thread. A restart continues where the store left off.
class FindingLifecycle {
 public:
  // A finding is resolved when it was missing from so many windows in a row: one window without it
  // is no end (hysteresis). What comes and goes, window by window or in half of the steps of a
  // window and fewer, is given as many windows as it would be missing from at random once in twenty
  // times.
  static constexpr int64_t kWindowsUntilResolved = 2;
  // A fault keeps the function that was named for it until so many windows in a row name none.
  static constexpr int64_t kWindowsUntilUnnamed = 8;
  // One that comes back before so many windows have passed is the same finding, opened again.
  static constexpr int64_t kWindowsUntilForgotten = 32;

  void Restore(Finding finding);
  // What is remembered beside the findings: after Restore(State()), and of every finding that was
  // published, it goes on where it was.
  LedgerState State() const;
  void Restore(LedgerState state);

  // What diagnosis found in the window `index` (ascending over calls); job_ends: the job's last
  // one. Answers what is to be published, by id: the new as opened, the known as updated with their
  // first window and step kept, those gone for long enough as resolved. A fault that is told a
  // little differently than before (a culprit more, another function of the same culprit, a slow
  // device that is shared) keeps its id; what a single window does not show stays. Ranks that are
  // slow in what an open finding blames nobody for are part of it; where ranks take turns, until
  // the same ones are slow in most steps of two windows running. Claims that do not rest on enough
  // yet are remembered (claim_memory.h).
  std::vector<Finding> Observe(int64_t index, std::vector<Finding> found, bool job_ends = false);

  // The job was started again: what was claimed before, without being opened, is forgotten.
  void BeginRun();

  // A finding that is no window's, such as a hang: nothing closes while it lasts. Opened, or
  // updated; windows without it resolve it as any other.
  Finding Report(Finding finding);

  const std::map<std::string, Finding>& open() const { return open_; }

 private:
  bool IsPartOfOpen(int64_t index, const Finding& finding);
  const Finding* FindContinued(const Finding& finding, const std::vector<Finding>& found) const;
  const Finding* FindPart(const Finding& finding) const;
  const Finding* FindReturned(const Finding& finding) const;
  const Finding* FindKnown(const Finding& finding) const;
  // Gives what goes on its old id, and answers what does.
  std::vector<bool> Continue(std::vector<Finding>& found) const;
  // The state that it has now, with its beginning kept; open from now on.
  void Place(Finding* finding);

  std::map<std::string, Finding> open_;      // by id
  std::map<std::string, Finding> resolved_;  // by id: of late
  // By id: windows in a row that showed some of the culprits only, another kind, or another
  // function in fewer steps.
  std::map<std::string, int64_t> shown_otherwise_;
  // by id: the newest window in which a part of an open finding was so in most steps
  std::map<std::string, int64_t> lasting_part_;
  ClaimMemory memory_;
};

}  // namespace eroica
