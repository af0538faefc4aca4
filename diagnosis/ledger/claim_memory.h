// What was claimed of slow ranks in the newest windows, so that a claim is opened when it rests on
// enough: a fault lasts, or comes back to the same rank; noise does neither.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "diagnosis/measurements/processor_shortage.h"
#include "schemas/diagnosis_state.h"
#include "schemas/finding.h"

namespace eroica {

struct ClaimMemoryOptions {
  // A rank that is slow in half of the steps and more is named when it was so over as many steps of
  // one window; or over fewer, or so many windows, where it was so before, in one of the newest
  // windows. Sequences of uneven length make some rank slower in everything for four steps in a row
  // about once in five hundred windows; not for eight.
  int64_t steps_to_open = 8;
  int64_t steps_to_open_again = 6;
  int64_t windows_to_open = 3;
  int64_t lasting_windows = 4;
  // Where claims of other ranks came and went without lasting (lengths that are drawn anew, few
  // replicas), noise alone brings some rank back in two of four windows, too: the same rank must
  // come back in more of them than noise explains, at the rate at which the job has seen such
  // claims. A job that has seen none counts as having seen half a claim, in its own windows and
  // quiet_windows more, so that a second window is enough; the p-value that is allowed falls as
  // that of two such windows does, as 1 / windows^2.
  double lasting_p_value = 1e-3;
  double quiet_windows = 50;
  // Fewer steps are enough, too, where all of them show it and the p-value, for any rank of the
  // job, is so small.
  int64_t fewest_steps = 3;
  double few_steps_p_value = 1e-12;
  // Probability that uneven steps alone make any rank of the job stand out in a single window: of
  // all windows together, and the least that each of them may spend (as in lasting_excess.h).
  double single_window_p_value = 1e-3;
  double least_single_window_p_value = 1e-7;
  // A rank that is slow now and then is named when slow steps that fall at random would hit any one
  // rank that often in fewer than this share of jobs (three standard deviations), and when it costs
  // min_share of all steps. Jobs in which now this and now that rank is slow are tested again and
  // again: each of the first whole_questions tests may spend the whole false-alarm rate, the k-th
  // of all tests ever less, as 1 / k^2, so that all tests of a job together spend twice what the
  // first ones do (alpha spending, as in lasting_excess.h).
  double false_alarm_rate = 0.0027;
  int64_t whole_questions = 6;
  double min_share = 0.01;
  int64_t occasional_windows = 32;
  // From the order of arrival alone a rank is named at a thirtieth of that rate: somebody is last
  // in every step, and nothing says that it is by more than steps differ.
  double share_of_late_arrivals = 1.0 / 30;
  // Accidents are rare besides: a job that has seen none of other ranks counts as having seen half
  // of one, in its own windows and quiet_windows more, so that a second one of the same rank is no
  // coincidence. Stalls of one rank alone that cost large_share of all time are a finding once they
  // come back to it, though in one of four jobs coincidence would bring them back to the same rank.
  double large_share = 0.2;
  double p_value_of_large = 0.25;
  // Slow steps that move from rank to rank are no rank's fault: so many ranks have some of them,
  // and none has half. They must cost min_share, too, and
  // min_share_without_function where no function explains them: slow steps of healthy ranks have
  // heavy tails (spike/turns.h).
  size_t fewest_roaming = 3;
  double min_share_without_function = 0.05;
  // Where steps are short, single slow steps are counted over so much time that one period of the
  // scheduler is less than min_share of it (processor_shortage.h).
  int64_t scheduling_period_ns = kSchedulingPeriodNs;
};

// Of one job. One thread; knows no clock. Held back are claims that a rank is slow or disturbed,
// that a link or port is, and that work is unevenly shared out; their measure "slow_steps" or
// "active_steps" says how often they hold.
class ClaimMemory {
 public:
  explicit ClaimMemory(ClaimMemoryOptions options = {}) : options_(options) {}

  // What was claimed of the window `index` (ascending over calls). is_open: that an open finding
  // goes on with the claim. Answers the claims that are open or to be opened now, these with the
  // beginning of what is remembered of them; the others are remembered. job_ends: no further window
  // follows, so that a job of a single window is judged by what there is.
  std::vector<Finding> Ripen(int64_t index, std::vector<Finding> claims,
                             const std::vector<bool>& is_open, bool job_ends);

  // For the state store: after Restore(State()) it goes on where it was.
  ClaimMemoryState State() const;
  void Restore(ClaimMemoryState state);

 private:
  using Record = ClaimRecord;

  // In the newest windows, in most of their steps.
  struct Lasting {
    int64_t steps = 0;
    int64_t windows = 0;
  };

  bool HoldsBack(const Finding& claim) const;
  static Record RecordOf(int64_t index, const Finding& claim);
  static bool MayBeANeighbor(const Record& record);
  static bool IsOccasional(const Record& record);
  static bool MayLast(const Record& record);
  static bool MayRoam(const Record& record);
  static bool SameFault(const Record& a, const Record& b);
  static bool ShowsAsWell(const Record& other, const Record& record);
  void Forget(int64_t index);
  void Add(Record record, bool is_open);
  bool IsRipe(const Record& record, const Finding& claim);
  Lasting LastingOf(const Record& record, int64_t kept) const;
  bool WasClaimed(const Record& record, int64_t kept) const;
  bool Lasts(const Record& record, const Finding& claim, int64_t kept) const;
  bool Flaps(const Record& record, const Finding& claim) const;
  bool IsUnlikelyUnevenness(const Record& record, const Finding& claim) const;
  bool StandsOutAlone(const Record& record, const Finding& claim) const;
  bool AreFewStepsEnough(const Record& record, const Finding& claim) const;
  double WindowsUntil(const Record& record) const;
  bool IsBeyondUnrest(const Record& record, int64_t windows, uint32_t ranks, int64_t kept) const;
  double OthersThatCameToNothing(const Record& record) const;
  void TakeForFault(const Record& record);
  int64_t WindowsOf(const Record& record) const;
  int64_t WindowsOf(const Record& record, int64_t kept, bool (*counts)(const Record&)) const;
  static bool ComesOf(const Record& record, const Record& other);
  bool ComesBack(const Record& record, const Finding& claim);
  double PValueOfAccidents(const Record& record, double places) const;
  double SpendFalseAlarms();
  size_t RanksThatRoam(const Record& record) const;
  bool RoamsForLong(const Record& record) const;
  int64_t TimeOfAccidentsNs() const;
  int64_t WindowsOfAccidents(const Record& record) const;
  double TimeOfTurnsNs(const Record& record, bool own) const;
  static double PlacesOf(const Record& record, const Finding& claim);
  bool IsBeyondTurns(const Record& record, const Finding& claim);
  bool IsBeyondTurnsOfWindow(const Record& record, const Finding& claim);
  bool MayBeABriefNeighbor(const Record& record) const;
  bool MayBeOneAccident(const Record& record, const Finding& claim);
  bool CostsItsShare(const Record& record, double min_share) const;
  bool IsDue(const Record& record, const Finding& claim);
  void TellPast(const Record& record, Finding* claim) const;

  ClaimMemoryOptions options_;
  std::deque<Record> records_;  // by window
  int64_t first_window_ = -1;   // that was ever seen
  int64_t asked_ = 0;           // how often it was tested whether a claim is a coincidence
  // by kind: ranks that were claimed, window by window, of which no finding came
  std::array<int64_t, kFindingKindCount> unrest_{};
};

}  // namespace eroica
