#include "diagnosis/ledger/finding_lifecycle.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "diagnosis/explanation/shared_cause.h"
#include "diagnosis/ledger/seen_times.h"
#include "diagnosis/report/confidence.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/report/subkinds.h"

namespace eroica {
namespace {

bool Overlap(const Finding& a, const Finding& b) {
  return std::any_of(a.culprits.begin(), a.culprits.end(), [&](const Culprit& x) {
    return std::any_of(b.culprits.begin(), b.culprits.end(), [&](const Culprit& y) {
      return x.rank == y.rank && (x.rank >= 0 || x.host == y.host);
    });
  });
}

// Says that a device is slow, for whatever reason, or that its rank arrives last.
bool IsOfSlowDevice(const Finding& finding) {
  if (finding.kind == FindingKind::kContention)
    return finding.function_class == FunctionClass::kGpuCompute;
  return finding.kind == FindingKind::kSlowRank &&
         (finding.function_class == FunctionClass::kGpuCompute || finding.subkind == kLateArrival);
}

// Paths between two hosts from the same one: which pair of ranks is the worst on it each window
// tells anew.
bool AreOfOnePath(const Finding& a, const Finding& b) {
  if (FindMeasure(a, kSlowPairs) == nullptr || FindMeasure(b, kSlowPairs) == nullptr) return false;
  return !a.culprits.front().host.empty() && a.culprits.front().host == b.culprits.front().host;
}

// The same fault told a little differently: the same culprits for another function, or the same
// call with more or fewer culprits or those of the same host, or with another caller where nobody
// is blamed; or another pair of ranks of the same path. That somebody shares a slow device not
// every window shows.
bool IsSameFault(const Finding& a, const Finding& b) {
  if (a.culprits.empty() != b.culprits.empty()) return false;
  if (a.kind != b.kind)
    return !a.culprits.empty() && a.culprits == b.culprits && IsOfSlowDevice(a) &&
           IsOfSlowDevice(b);
  if (a.culprits.empty())
    return !a.function.empty() && a.subkind == b.subkind && a.function == b.function;
  return a.culprits == b.culprits || AreOfOnePath(a, b) ||
         (a.subkind == b.subkind && ((NameOneCall(a, b) && Overlap(a, b)) || AreOfOneHost(a, b)));
}

// Whether it blames some of the culprits, and nobody else.
bool IsNarrower(const Finding& finding, const Finding& open) {
  return !finding.culprits.empty() && finding.culprits.size() < open.culprits.size() &&
         std::ranges::all_of(finding.culprits, [&](const Culprit& culprit) {
           return std::ranges::find(open.culprits, culprit) != open.culprits.end();
         });
}

bool IsInMostSteps(const Finding& finding) {
  constexpr double kMost = 0.75;
  const Measure* slow = SlowSteps(finding);
  return slow != nullptr && slow->culprit >= kMost * static_cast<double>(slow->samples);
}

// Whether it names another function of the same ranks, and rests on fewer slow steps than what is
// known: the job's last window has a few steps, and so has one that was cut.
bool NamesAnotherOnFewerSteps(const Finding& finding, const Finding& open) {
  const Measure *slow = SlowSteps(finding), *known = SlowSteps(open);
  if (slow == nullptr || known == nullptr || finding.function == open.function) return false;
  return finding.culprits == open.culprits && slow->culprit < known->culprit;
}

// Whether the finding names no function although those of its ranks are known: a window in which no
// single function explains enough is no evidence for another one.
bool NamesNothingOfNamed(const Finding& finding, const Finding& open) {
  return finding.kind == FindingKind::kSlowRank && open.kind == finding.kind &&
         finding.subkind == kWholeRank && open.subkind == kNamedFunction &&
         finding.function_class == open.function_class && finding.culprits == open.culprits;
}

// Goes on from what it had lasted before.
void ProlongLasted(const Finding& before, Finding* finding) {
  Measure* lasted = FindLasted(*finding);
  const Measure* so_far = FindLasted(before);
  if (so_far == nullptr || lasted == nullptr || finding->last_window <= before.last_window) return;
  lasted->culprit = so_far->culprit + lasted->culprit * static_cast<double>(finding->last_window -
                                                                            before.last_window);
  lasted->samples += so_far->samples;
}

// Of a claim that was remembered for some windows: what is open has lasted for them already.
void GoOnWith(const Finding& known, Finding* finding) {
  finding->id = known.id;
  Measure* lasted = FindLasted(*finding);
  if (known.state == FindingState::kResolved || lasted == nullptr) return;
  lasted->culprit /= static_cast<double>(finding->last_window - finding->first_window + 1);
  lasted->samples = 1;
}

void SeeAgain(int64_t index, const Finding& now, Finding* open) {
  open->last_window = index;
  open->last_seen_ns = std::max(open->last_seen_ns, now.last_seen_ns);
}

// In the words of before, one window on.
Finding AsBefore(const Finding& before, const Finding& now) {
  Finding finding = before;
  finding.confidence = now.confidence;
  finding.last_window = now.last_window;
  finding.last_seen_ns = now.last_seen_ns;
  finding.last_step = std::max(finding.last_step, now.last_step);
  const Measure* window = FindLasted(now);
  if (Measure* lasted = FindLasted(finding); lasted != nullptr && window != nullptr)
    *lasted = *window;
  return finding;
}

}  // namespace

// An open finding that is not found again by its own id, and is the same fault.
const Finding* FindingLifecycle::FindContinued(const Finding& finding,
                                               const std::vector<Finding>& found) const {
  for (const auto& [id, open] : open_) {
    const bool found_again = std::any_of(found.begin(), found.end(),
                                         [&id = id](const Finding& f) { return f.id == id; });
    if (!found_again && IsSameFault(open, finding)) return &open;
  }
  return nullptr;
}

// One that was resolved of late, and is the same fault.
const Finding* FindingLifecycle::FindReturned(const Finding& finding) const {
  const auto before = std::ranges::find_if(resolved_, [&](const auto& entry) {
    return !open_.contains(entry.first) && IsSameFault(entry.second, finding);
  });
  return before == resolved_.end() ? nullptr : &before->second;
}

// Of a new finding: the open one that turns out to be a part of it, or the one that has come back.
const Finding* FindingLifecycle::FindKnown(const Finding& finding) const {
  if (open_.contains(finding.id)) return nullptr;
  const Finding* part = FindPart(finding);
  return part != nullptr ? part : FindReturned(finding);
}

// An open finding that turns out to be a part of this one, or to be of another device of the host,
// which goes on with it.
const Finding* FindingLifecycle::FindPart(const Finding& finding) const {
  const auto part = std::ranges::find_if(open_, [&](const auto& entry) {
    const Finding& open = entry.second;
    const bool is_part = open.kind == finding.kind && IsPartOf(open, finding);
    return is_part || IsGlimpseOf(open, finding) || TellsLessThan(open, finding) ||
           AreDevicesOfOneHost(open, finding);
  });
  return part == open_.end() ? nullptr : &part->second;
}

// What shows a part of an open finding, and ranks that are slow in what all ranks take turns in,
// are the same fault, seen in another window; so it goes on. The same ranks in most steps of two
// windows running take no turns.
bool FindingLifecycle::IsPartOfOpen(int64_t index, const Finding& finding) {
  const bool is_known = open_.contains(finding.id);
  for (auto& [id, open] : open_) {
    if (TellsLessThan(finding, open) ||
        (!is_known && (IsPartOf(finding, open) || IsGlimpseOf(finding, open)))) {
      SeeAgain(index, finding, &open);
      return true;
    }
    if (is_known || !ExplainsOnAll(open, finding)) continue;
    const auto before = lasting_part_.find(finding.id);
    const bool last_time = before != lasting_part_.end() && before->second == index - 1;
    if (IsInMostSteps(finding)) {
      lasting_part_[finding.id] = index;
      if (last_time && open.subkind == kRoaming) return false;
    }
    SeeAgain(index, finding, &open);
    return true;
  }
  return false;
}

LedgerState FindingLifecycle::State() const {
  return {.memory = memory_.State(),
          .shown_otherwise = shown_otherwise_,
          .lasting_part = lasting_part_};
}

void FindingLifecycle::Restore(LedgerState state) {
  memory_.Restore(std::move(state.memory));
  shown_otherwise_ = std::move(state.shown_otherwise);
  lasting_part_ = std::move(state.lasting_part);
}

void FindingLifecycle::Restore(Finding finding) {
  auto& known = finding.state == FindingState::kResolved ? resolved_ : open_;
  std::string id = finding.id;
  known.insert_or_assign(std::move(id), std::move(finding));
}

namespace {

// How many windows without the finding end it. What comes and goes, in windows or in steps, would
// be missing from so many in a row at random once in twenty times.
int64_t PatienceWith(const Finding& finding) {
  constexpr double kMaxPValue = 0.05;
  const Measure* lasted = FindLasted(finding);
  if (lasted == nullptr || lasted->samples == 0) return FindingLifecycle::kWindowsUntilResolved;
  const auto windows = static_cast<double>(finding.last_window - finding.first_window + 1);
  const auto seen = static_cast<double>(lasted->samples);
  if (2 * seen > windows && !IsInFewSteps(finding)) return FindingLifecycle::kWindowsUntilResolved;
  const double rate = std::min(seen, windows) / (windows + 1);
  return std::max(FindingLifecycle::kWindowsUntilResolved,
                  static_cast<int64_t>(std::ceil(std::log(kMaxPValue) / std::log1p(-rate))));
}

}  // namespace

void FindingLifecycle::Place(Finding* finding) {
  const auto known = open_.find(finding->id);
  if (known != open_.end()) {
    const Finding& before = known->second;
    const bool otherwise = finding->kind != before.kind || IsNarrower(*finding, before) ||
                           NamesAnotherOnFewerSteps(*finding, before) ||
                           NamesNothingOfNamed(*finding, before);
    const int64_t otherwise_until =
        NamesNothingOfNamed(*finding, before) ? kWindowsUntilUnnamed : kWindowsUntilResolved;
    if (finding->subkind == kLateArrival && before.subkind != kLateArrival) {
      *finding = AsBefore(before, *finding);
    } else if (otherwise && ++shown_otherwise_[finding->id] < otherwise_until) {
      *finding = AsBefore(before, *finding);
    } else {
      shown_otherwise_.erase(finding->id);
    }
    finding->state = FindingState::kUpdated;
    finding->first_window = before.first_window;
    finding->first_seen_ns = EarlierKnown(finding->first_seen_ns, before.first_seen_ns);
    if (before.first_step >= 0) finding->first_step = before.first_step;
    ProlongLasted(before, finding);
  }
  if (const Measure* lasted = FindLasted(*finding)) {
    const double told = ToldShare(*finding);
    finding->confidence =
        ConfidenceAfter(FirstOf(finding->confidence, told), lasted->samples, told);
  }
  open_.insert_or_assign(finding->id, *finding);
  resolved_.erase(finding->id);
}

void FindingLifecycle::BeginRun() {
  memory_ = ClaimMemory();
  lasting_part_.clear();
  shown_otherwise_.clear();
}

Finding FindingLifecycle::Report(Finding finding) {
  Place(&finding);
  return finding;
}

std::vector<bool> FindingLifecycle::Continue(std::vector<Finding>& found) const {
  std::vector<bool> is_open;
  for (Finding& finding : found) {
    if (!open_.contains(finding.id)) {
      if (const Finding* continued = FindContinued(finding, found)) finding.id = continued->id;
    }
    is_open.push_back(open_.contains(finding.id));
  }
  return is_open;
}

std::vector<Finding> FindingLifecycle::Observe(int64_t index, std::vector<Finding> found,
                                               bool job_ends) {
  std::vector<Finding> publish;
  std::erase_if(found, [&](const Finding& finding) { return IsPartOfOpen(index, finding); });
  const std::vector<bool> is_open = Continue(found);
  const bool hangs = std::ranges::any_of(
      open_, [](const auto& entry) { return entry.second.kind == FindingKind::kHang; });
  std::vector<Finding> ripe = memory_.Ripen(index, std::move(found), is_open,
                                            job_ends && !hangs);  // a hang cuts the last step short
  const std::vector<Finding> all = ripe;
  // a moment of what is opened in the same window
  std::erase_if(ripe, [&](const Finding& finding) {
    return !open_.contains(finding.id) && std::ranges::any_of(all, [&](const Finding& whole) {
      return IsGlimpseOf(finding, whole);
    });
  });
  for (Finding& finding : ripe) {
    if (const Finding* known = FindKnown(finding)) GoOnWith(*known, &finding);
    Place(&finding);
    publish.push_back(finding);
  }
  for (auto it = open_.begin(); it != open_.end();) {
    if (index - it->second.last_window < PatienceWith(it->second)) {
      ++it;
      continue;
    }
    it->second.state = FindingState::kResolved;
    shown_otherwise_.erase(it->first);
    publish.push_back(it->second);
    resolved_.insert_or_assign(it->first, std::move(it->second));
    it = open_.erase(it);
  }
  std::erase_if(resolved_, [index](const auto& entry) {
    return index - entry.second.last_window >= kWindowsUntilForgotten;
  });
  std::sort(publish.begin(), publish.end(),
            [](const Finding& a, const Finding& b) { return a.id < b.id; });
  return publish;
}

}  // namespace eroica
