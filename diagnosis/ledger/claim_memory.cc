#include "diagnosis/ledger/claim_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "diagnosis/explanation/rotating_straggler.h"
#include "diagnosis/explanation/shared_cause.h"
#include "diagnosis/ledger/seen_times.h"
#include "diagnosis/measurements/thread_function.h"
#include "diagnosis/report/duration_text.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/report/subkinds.h"
#include "diagnosis/statistics/distributions.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

bool IsOfShortWindow(const Finding& claim, int64_t least_ns) {
  const int64_t duration_ns = claim.last_seen_ns - claim.first_seen_ns;
  return duration_ns > 0 && duration_ns < least_ns;
}

// Hangs stand, and what is measured against the job's own past has seen two windows already.
bool IsHeldBack(const Finding& claim) {
  if (FindMeasure(claim, kSeenInWindows) != nullptr) return true;
  if (claim.kind == FindingKind::kCommunication) return !claim.culprits.empty();
  return claim.kind == FindingKind::kSlowRank || claim.kind == FindingKind::kContention ||
         claim.kind == FindingKind::kImbalance;
}

// Noise alone takes no rank of a large job so far, in any of thousands of windows: the largest of
// 64 ranks is three deviations off in every tenth window.
bool IsFarOff(const Finding& claim) {
  constexpr double kDeviations = 6;
  const Measure* noise = FindMeasure(claim, kExcessOverNoise);
  return noise == nullptr || noise->culprit >= kDeviations;
}

// What only the culprit's thread runs, in every slow step: no length of steps does so.
bool IsForeign(const Finding& claim) {
  const Measure* time = FindMeasure(claim, "function_time_per_step");
  if (time == nullptr) time = FindMeasure(claim, "beta");
  const Measure* active = FindMeasure(claim, "active_steps");
  if (!RunsOnThread(claim.function_class) || time == nullptr || active == nullptr) return false;
  return time->culprit > 0 && time->peers <= 0 && active->culprit >= SlowSteps(claim)->culprit;
}

// Steps of healthy jobs with uneven routing and lengths go fifteen deviations off, once in hundreds
// of windows; but into calls that the peers' threads do not make (memory that is given back and
// taken anew) no uneven step goes, however few or many the steps are. What Python runs now and then
// (collections) comes to every rank in its turn: it is told by the turns.
bool IsAccident(const Finding& claim) {
  constexpr double kDeviations = 30;
  if (claim.function_class == FunctionClass::kPython) return false;
  if (IsForeign(claim)) return true;
  const Measure* noise = FindMeasure(claim, kExcessOverNoise);
  return noise != nullptr && noise->culprit >= kDeviations && IsInFewSteps(claim);
}

// In how many windows one that looks back over several saw it.
int64_t WindowsLookedAt(const Finding& claim) {
  const Measure* windows = FindMeasure(claim, kSlowWindows);
  return windows != nullptr ? static_cast<int64_t>(windows->culprit) : 1;
}

// Of ranks that take turns in what all of them run: each of them three deviations off is noise.
bool IsLateForReason(const Finding& claim) {
  constexpr double kDeviations = 4;
  const Measure* noise = FindMeasure(claim, kExcessOverNoise);
  return noise == nullptr || noise->culprit >= kDeviations;
}

// Data that leaves its usual way shows it in a single transfer; a slower link may only be busy.
bool IsADetour(const Finding& claim) {
  return claim.kind == FindingKind::kCommunication && claim.subkind == kNvlinkDown;
}

double ShareOf(const Finding& claim) {
  return claim.world_size > 0 ? claim.lost_gpu_seconds_per_hour / 3600 / claim.world_size : 0;
}

}  // namespace

ClaimMemoryState ClaimMemory::State() const {
  return {.first_window = first_window_,
          .asked = asked_,
          .unrest = unrest_,
          .records = {records_.begin(), records_.end()}};
}

void ClaimMemory::Restore(ClaimMemoryState state) {
  first_window_ = state.first_window;
  asked_ = state.asked;
  unrest_ = state.unrest;
  records_.assign(state.records.begin(), state.records.end());
}

// A single step is one accident, however short the window is.
bool ClaimMemory::MayLast(const Record& record) {
  return !IsOccasional(record) && record.slow_steps >= 2;
}

bool ClaimMemory::HoldsBack(const Finding& claim) const {
  return IsHeldBack(claim) ||
         (claim.subkind == kRoaming && IsOfShortWindow(claim, TimeOfAccidentsNs()));
}

ClaimRecord ClaimMemory::RecordOf(int64_t index, const Finding& claim) {
  Record record{.window = index,
                .kind = claim.kind,
                .first_step = claim.first_step,
                .share = ShareOf(claim),
                .function = claim.function,
                .first_seen_ns = claim.first_seen_ns};
  std::replace(record.function.begin(), record.function.end(), '\n', ' ');  // a record is a line
  const Measure* slow = SlowSteps(claim);
  record.steps = claim.first_step >= 0 ? claim.last_step - claim.first_step + 1 : 0;
  record.slow_steps = record.steps;
  record.duration_ns = std::max<int64_t>(0, claim.last_seen_ns - claim.first_seen_ns);
  if (slow != nullptr) {
    record.steps = static_cast<int64_t>(slow->samples);
    record.slow_steps = static_cast<int64_t>(slow->culprit);
  }
  record.roams =
      claim.kind == FindingKind::kSlowRank && IsLateForReason(claim) &&
      (claim.function.empty() ? claim.subkind == kTransient : RunsOnThread(claim.function_class));
  if (const Measure* seen = FindMeasure(claim, kSeenInWindows))
    record.least_windows = static_cast<int64_t>(seen->threshold);
  record.far_off =
      FindMeasure(claim, kExcessOverNoise) != nullptr ? IsFarOff(claim) : IsForeign(claim);
  record.accident = IsAccident(claim);
  for (const Culprit& culprit : claim.culprits) record.ranks.push_back(culprit.rank);
  std::sort(record.ranks.begin(), record.ranks.end());
  return record;
}

// The same rank; or nobody, twice.
bool ClaimMemory::SameFault(const Record& a, const Record& b) {
  if (a.ranks.empty() && b.ranks.empty()) return a.kind == b.kind;
  return std::any_of(a.ranks.begin(), a.ranks.end(), [&b](int32_t rank) {
    return std::binary_search(b.ranks.begin(), b.ranks.end(), rank);
  });
}

// One more window that shows what the record says. A fault that begins late in a window, or that
// not every step has, shows in few of its steps: being far off in the same function twice is no
// coincidence.
bool ClaimMemory::ShowsAsWell(const Record& other, const Record& record) {
  if (!SameFault(record, other)) return false;
  return MayLast(other) ||
         (MayLast(record) && other.far_off && record.far_off && other.function == record.function);
}

// Uneven steps alone make no rank of the job stand out by so much, in its windows so far.
bool ClaimMemory::IsUnlikelyUnevenness(const Record& record, const Finding& claim) const {
  const Measure* p_value = FindMeasure(claim, kPValueOfExcess);
  if (p_value == nullptr) return true;
  const double allowed =
      std::max(options_.least_single_window_p_value,
               options_.single_window_p_value * SpentOnQuestion(WindowsUntil(record)));
  return claim.ranks_seen * p_value->culprit <= allowed;
}

// One window is enough where the rank is far off, and most steps show it: what comes now and then
// may come to this rank in four of eight steps, and to another one in the next window. Where a rank
// has one peer, few steps say little of how much they vary: the p-value of the excess must be small
// as well.
bool ClaimMemory::StandsOutAlone(const Record& record, const Finding& claim) const {
  if (!IsUnlikelyUnevenness(record, claim)) return false;
  if (FindMeasure(claim, kExcessOverNoise) == nullptr) return true;
  const Measure* slow = SlowSteps(claim);
  return IsFarOff(claim) &&
         (slow == nullptr || 2 * slow->culprit > static_cast<double>(slow->samples));
}

// Few steps are enough where all of them show the excess equally, by so much more than they differ
// that no uneven lengths do it; or where other measurements agree, which uneven work does not
// change; or where the time goes by in what the peers' threads do not run at all, on several ranks
// or on one that is late beyond noise. That the inputs are the cause, and not the device, is shown
// by what takes no longer (the optimizer), which pauses may miss in few steps: an imbalance must
// have both the small p-value and the agreement.
bool ClaimMemory::AreFewStepsEnough(const Record& record, const Finding& claim) const {
  if (record.steps < options_.fewest_steps || record.slow_steps < record.steps) return false;
  const Measure* p_value = FindMeasure(claim, kPValueOfExcess);
  const Measure* signs = FindMeasure(claim, kSignsThatAgree);
  const bool beyond_noise =
      p_value != nullptr && claim.ranks_seen * p_value->culprit <= options_.few_steps_p_value;
  const bool agreed = signs != nullptr && signs->culprit >= signs->threshold;
  const bool is_late = p_value != nullptr &&
                       claim.ranks_seen * p_value->culprit <= options_.least_single_window_p_value;
  if (record.kind == FindingKind::kSlowRank && IsForeign(claim) &&
      (is_late || claim.culprits.size() > 1))
    return true;
  return record.kind == FindingKind::kImbalance ? beyond_noise && agreed : beyond_noise || agreed;
}

double ClaimMemory::WindowsUntil(const Record& record) const {
  return static_cast<double>(record.window - first_window_ + 1);
}

// Ranks, window by window, other than the record's. What has come back as it has may be a fault
// beside it, and what was claimed beside it a victim.
double ClaimMemory::OthersThatCameToNothing(const Record& record) const {
  int64_t others = unrest_[static_cast<size_t>(record.kind)];
  std::set<int64_t> beside;
  for (const Record& other : records_) {
    if (other.kind == record.kind && SameFault(record, other)) beside.insert(other.window);
  }
  for (const Record& other : records_) {
    if (other.kind != record.kind || other.ripe || !MayLast(other)) continue;
    const bool lasts = record.window - other.window < options_.lasting_windows &&
                       LastingOf(other, options_.lasting_windows).windows > 1;
    if (lasts || beside.contains(other.window)) others -= static_cast<int64_t>(other.ranks.size());
  }
  return static_cast<double>(std::max<int64_t>(0, others));
}

bool ClaimMemory::IsBeyondUnrest(const Record& record, int64_t windows, uint32_t ranks,
                                 int64_t kept) const {
  const auto own = static_cast<double>(record.ranks.size());
  const double rest = ranks - own;
  if (own < 1 || rest < 1) return true;
  const double others = OthersThatCameToNothing(record);
  const double quiet = options_.quiet_windows + WindowsUntil(record);
  const double rate = others > 0 ? (others + 1) / (WindowsUntil(record) + 1) : 0.5 / quiet;
  const double p_value =
      ranks / own *
      BinomialTail(static_cast<uint64_t>(kept), static_cast<uint64_t>(std::min(kept, windows)),
                   std::min(1.0, rate / rest));
  const double fewer = options_.quiet_windows / quiet;
  return p_value <= options_.lasting_p_value * fewer * fewer;
}

// A finding has come of it.
void ClaimMemory::TakeForFault(const Record& record) {
  for (Record& other : records_) {
    if (other.kind != record.kind || other.ripe || !MayLast(other) || !SameFault(record, other))
      continue;
    unrest_[static_cast<size_t>(other.kind)] -= static_cast<int64_t>(other.ranks.size());
    other.ripe = true;
  }
}

void ClaimMemory::Forget(int64_t index) {
  while (!records_.empty() && index - records_.front().window >= options_.occasional_windows)
    records_.pop_front();
}

ClaimMemory::Lasting ClaimMemory::LastingOf(const Record& record, int64_t kept) const {
  Lasting lasting;
  int64_t last = -1;
  for (const Record& other : records_) {
    if (record.window - other.window >= kept || !ShowsAsWell(other, record)) continue;
    lasting.steps += MayLast(other) ? other.steps : other.slow_steps;
    lasting.windows += other.window != last ? 1 : 0;
    last = other.window;
  }
  return lasting;
}

// Of so many of the newest ones, in which the same rank was claimed by a record that counts.
int64_t ClaimMemory::WindowsOf(const Record& record, int64_t kept,
                               bool (*counts)(const Record&)) const {
  std::set<int64_t> windows;
  for (const Record& other : records_) {
    if (record.window - other.window < kept && record.kind == other.kind &&
        SameFault(record, other) && counts(other))
      windows.insert(other.window);
  }
  return static_cast<int64_t>(windows.size());
}

int64_t ClaimMemory::WindowsOf(const Record& record) const {
  return WindowsOf(record, options_.lasting_windows, [](const Record&) { return true; });
}

// Before, in one of the newest windows. What a finding about a few of the ranks came of says
// nothing of the others: a slow device is no slow host.
bool ClaimMemory::WasClaimed(const Record& record, int64_t kept) const {
  return std::ranges::any_of(records_, [&](const Record& other) {
    const bool told_of_few = other.ripe && 2 * other.ranks.size() < record.ranks.size();
    return other.window < record.window && record.window - other.window < kept &&
           SameFault(record, other) && !told_of_few;
  });
}

// In most steps of several of the newest windows, and in more of them than noise explains.
bool ClaimMemory::Lasts(const Record& record, const Finding& claim, int64_t kept) const {
  Lasting lasting = LastingOf(record, kept);
  const int64_t looked_at = WindowsLookedAt(claim);
  lasting.windows = std::max(lasting.windows, looked_at);
  // Links are measured over all that they carried in a window, however few its steps are; and noise
  // takes no rank far off twice.
  const bool two_are_enough = record.kind == FindingKind::kCommunication || record.far_off;
  const int64_t windows_to_open = two_are_enough ? 2 : options_.windows_to_open;
  const bool enough =
      lasting.steps >= options_.steps_to_open_again || lasting.windows >= windows_to_open;
  return enough && (looked_at > 1 || WasClaimed(record, kept)) &&
         IsBeyondUnrest(record, lasting.windows, claim.ranks_seen, kept);
}

// A port that flaps, and a path that is crowded at times, are well for windows on end.
bool ClaimMemory::Flaps(const Record& record, const Finding& claim) const {
  const auto windows = static_cast<int64_t>(WindowsUntil(record));
  return record.kind == FindingKind::kCommunication &&
         Lasts(record, claim, std::min(options_.occasional_windows, windows));
}

bool ClaimMemory::IsRipe(const Record& record, const Finding& claim) {
  if (FindMeasure(claim, kSharedProcessors) != nullptr) return IsBeyondTurns(record, claim);
  if (record.least_windows > 0) return WindowsOf(record) >= record.least_windows;
  if (MayBeABriefNeighbor(record)) return false;
  if (record.steps == 0 || IsADetour(claim) || AreFewStepsEnough(record, claim))
    return true;  // of no steps nothing says how often
  if (!IsOccasional(record)) {
    if (record.steps >= options_.steps_to_open && StandsOutAlone(record, claim)) return true;
    if (Lasts(record, claim, options_.lasting_windows) || Flaps(record, claim)) return true;
  }
  // Where steps differ at random, the rank with most of the slow ones is the one that is claimed:
  // they come back to it in this window, and not in the next.
  const bool returns = 2 * record.slow_steps <= record.steps &&
                       (IsFarOff(claim) || WasClaimed(record, options_.occasional_windows));
  return (returns || (!IsOccasional(record) && WasClaimed(record, options_.lasting_windows))) &&
         ComesBack(record, claim);
}

bool ClaimMemory::IsDue(const Record& record, const Finding& claim) {
  if (claim.subkind == kRoaming)
    return CostsItsShare(record, options_.min_share) && RoamsForLong(record);
  return IsRipe(record, claim);
}

// Whether an earlier record of the rank is the beginning of what the record says. Single steps that
// were slow in another function are another fault, or an accident.
bool ClaimMemory::ComesOf(const Record& record, const Record& other) {
  const auto names = [](const Record& of) {
    return !of.function.empty() && !IsWholeThread(of.function);
  };
  return SameFault(record, other) && (IsOccasional(record) || MayLast(other) || !names(record) ||
                                      !names(other) || other.function == record.function);
}

// Since when, how often, and what it costs of all steps since then.
void ClaimMemory::TellPast(const Record& record, Finding* claim) const {
  const bool comes_and_goes = IsOccasional(record) || record.kind == FindingKind::kCommunication;
  const int64_t kept = comes_and_goes ? options_.occasional_windows : options_.lasting_windows;
  uint64_t windows = 0;
  int64_t last = -1;
  double share = 0;
  for (const Record& other : records_) {
    if (record.window - other.window >= kept || !ComesOf(record, other)) continue;
    claim->first_window = std::min(claim->first_window, other.window);
    if (other.first_step >= 0) claim->first_step = std::min(claim->first_step, other.first_step);
    claim->first_seen_ns = EarlierKnown(claim->first_seen_ns, other.first_seen_ns);
    windows += other.window != last ? 1 : 0;
    last = other.window;
    share += other.share;
  }
  const auto since = static_cast<double>(record.window - claim->first_window + 1);
  if (Measure* lasted = FindLasted(*claim)) {
    lasted->culprit *= since;
    lasted->samples = windows;
  }
  if (!IsOccasional(record) || record.share <= 0) return;
  if (2 * static_cast<double>(windows) <= since) claim->subkind = kTransient;
  claim->id = FindingId(*claim);
  const double part = share / since / record.share;
  claim->lost_ns_per_step *= part;
  claim->lost_gpu_seconds_per_hour *= part;
  if (claim->chain.empty()) return;
  Effect& end = claim->chain.back();
  end.description =
      fmt::format("over the {:.0f} windows since then, every step of the job takes {} longer",
                  since, DurationText(claim->lost_ns_per_step));
  end.lost_ns = static_cast<int64_t>(claim->lost_ns_per_step);
}

void ClaimMemory::Add(Record record, bool is_open) {
  record.ripe = is_open;
  if (!record.ripe && MayLast(record))
    unrest_[static_cast<size_t>(record.kind)] += static_cast<int64_t>(record.ranks.size());
  records_.push_back(std::move(record));
}

std::vector<Finding> ClaimMemory::Ripen(int64_t index, std::vector<Finding> claims,
                                        const std::vector<bool>& is_open, bool job_ends) {
  if (first_window_ < 0) first_window_ = index;
  const bool only_window = job_ends && first_window_ == index;
  Forget(index);
  std::vector<size_t> record_of;  // of each claim
  for (size_t i = 0; i < claims.size(); ++i) {
    record_of.push_back(records_.size());
    if (HoldsBack(claims[i])) Add(RecordOf(index, claims[i]), is_open[i]);
  }
  std::vector<Finding> ripe;
  // by function: ranks, and the claims of this window
  std::map<std::string, std::pair<size_t, std::vector<Finding>>> roaming;
  for (size_t i = 0; i < claims.size(); ++i) {
    Finding& claim = claims[i];
    const bool worth_telling = ShareOf(claim) >= options_.min_share && IsLateForReason(claim);
    if (claim.subkind == kRoaming && !is_open[i] && !worth_telling) continue;
    if (!HoldsBack(claim) || is_open[i]) {
      ripe.push_back(std::move(claim));
      continue;
    }
    const Record& record = records_[record_of[i]];
    if (only_window) {
      if (!MayBeOneAccident(record, claim)) ripe.push_back(std::move(claim));
      continue;
    }
    if (const size_t ranks = RanksThatRoam(record)) {
      auto& [count, parts] = roaming[record.function];
      count = ranks;
      parts.push_back(std::move(claim));
    } else if (IsDue(record, claim)) {
      TellPast(record, &claim);
      TakeForFault(record);
      ripe.push_back(std::move(claim));
    }
  }
  for (auto& [function, parts] : roaming) {
    Finding finding = RoamingOf(std::move(parts.second), parts.first);
    if (ShareOf(finding) < options_.min_share) continue;
    finding.id = FindingId(finding);
    ripe.push_back(std::move(finding));
  }
  return ripe;
}

}  // namespace eroica
