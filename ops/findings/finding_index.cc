#include "ops/findings/finding_index.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "schemas/finding_json.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

// What an entry takes beside its text.
constexpr uint64_t kEntryBytes = sizeof(FindingEntry) + 256;

uint64_t BytesOf(const FindingEntry& entry) {
  return kEntryBytes + entry.json.size() + entry.brief_json.size();
}

bool IsResolved(const FindingEntry& entry) { return entry.state == FindingState::kResolved; }

bool HasState(const FindingEntry& entry, StateFilter filter) {
  switch (filter) {
    case StateFilter::kAny: return true;
    case StateFilter::kOpen: return !IsResolved(entry);
    case StateFilter::kOpened: return entry.state == FindingState::kOpened;
    case StateFilter::kUpdated: return entry.state == FindingState::kUpdated;
    case StateFilter::kResolved: return IsResolved(entry);
  }
  return false;
}

bool ComesFirst(const FindingPtr& a, const FindingPtr& b) {
  const auto rank = [](const FindingEntry& entry) {
    return std::tuple(IsResolved(entry), -static_cast<int>(entry.severity),
                      -entry.lost_gpu_seconds_per_hour, -entry.last_seen_ms);
  };
  return std::tuple_cat(rank(*a), std::tie(a->id)) < std::tuple_cat(rank(*b), std::tie(b->id));
}

Finding BriefOf(Finding finding) {
  const auto brief_end = finding.victims.begin() + static_cast<ptrdiff_t>(kBriefVictims);
  std::ranges::partial_sort(finding.victims, brief_end, std::ranges::greater(), &Victim::lost_ns);
  finding.victims.erase(brief_end, finding.victims.end());
  return finding;
}

std::shared_ptr<FindingEntry> EntryOf(const PublishedFinding& published) {
  const Finding& finding = published.finding;
  auto entry = std::make_shared<FindingEntry>();
  entry->id = finding.id;
  entry->job = finding.job.value;
  entry->title = finding.title;
  entry->replay_id = finding.replay_id;
  entry->kind = finding.kind;
  entry->state = finding.state;
  entry->severity = finding.severity;
  for (const Culprit& culprit : finding.culprits) {
    if (culprit.rank >= 0) entry->ranks.push_back(culprit.rank);
  }
  entry->lost_gpu_seconds_per_hour = finding.lost_gpu_seconds_per_hour;
  entry->first_step = finding.first_step;
  entry->last_step = finding.last_step;
  entry->first_seen_ms = published.timestamp_ms;
  entry->last_seen_ms = published.timestamp_ms;
  entry->json_has_times = IsTimeOfDay(finding.first_seen_ns) && IsTimeOfDay(finding.last_seen_ns);
  if (entry->json_has_times) {
    entry->first_seen_ms = finding.first_seen_ns / kNsPerMs;
    entry->last_seen_ms = finding.last_seen_ns / kNsPerMs;
  }
  entry->json = ToJson(finding);
  entry->victims = finding.victims.size();
  if (finding.victims.size() > kBriefVictims) entry->brief_json = ToJson(BriefOf(finding));
  entry->partition = published.partition;
  entry->offset = published.offset;
  return entry;
}

}  // namespace

bool Matches(const FindingEntry& entry, const FindingQuery& query) {
  return (query.job.empty() || entry.job == query.job) && HasState(entry, query.state) &&
         (!query.kind || entry.kind == *query.kind) && entry.severity >= query.severity_min &&
         (!query.rank || std::ranges::find(entry.ranks, *query.rank) != entry.ranks.end()) &&
         (!query.since_ms || entry.last_seen_ms >= *query.since_ms) &&
         (!query.until_ms || entry.last_seen_ms < *query.until_ms) &&
         entry.replay_id == query.replay_id &&
         (query.muted || !entry.annotation.IsMuted(query.now_ms));
}

std::string PositionText(const FindingPosition& position) {
  std::string text;
  for (const auto& [partition, offset] : position)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", partition, offset);
  return text;
}

std::optional<FindingPosition> ParsePosition(std::string_view text) {
  FindingPosition position;
  const std::string owned(text);
  for (const auto& part : absl::StrSplit(owned, ',', absl::SkipEmpty())) {
    const std::vector<std::string> numbers = absl::StrSplit(part, ':');
    int32_t partition = 0;
    int64_t offset = 0;
    if (numbers.size() != 2 || !absl::SimpleAtoi(numbers[0], &partition) ||
        !absl::SimpleAtoi(numbers[1], &offset) || partition < 0 || offset < 0)
      return std::nullopt;
    position[partition] = offset;
  }
  return position;
}

void FindingIndex::Add(const PublishedFinding& published) {
  std::shared_ptr<FindingEntry> entry = EntryOf(published);
  {
    const MutexLock lock(mutex_);
    const auto known = by_id_.find(entry->id);
    // One that was resolved and opens again begins anew.
    if (known != by_id_.end() && !IsResolved(*known->second))
      entry->first_seen_ms = std::min(entry->first_seen_ms, known->second->first_seen_ms);
    if (known != by_id_.end()) {
      entry->annotation = known->second->annotation;
    } else if (auto early = early_annotations_.extract(entry->id); !early.empty()) {
      entry->annotation = std::move(early.mapped());
    }
    newest_ms_ = std::max(newest_ms_, published.timestamp_ms);
    ++counts_.versions[{entry->kind, entry->severity, entry->state}];
    int64_t& next = position_[published.partition];
    next = std::max(next, published.offset + 1);
    Place(std::move(entry));
    KeepWithinBytes();
  }
  SayChanged();
}

void FindingIndex::Annotate(const std::string& id, const Annotation& annotation) {
  {
    const MutexLock lock(mutex_);
    const auto known = by_id_.find(id);
    if (known == by_id_.end()) {
      early_annotations_[id] = annotation;
      if (early_annotations_.size() > kEarlyAnnotationsMax)
        early_annotations_.erase(early_annotations_.begin());
      return;
    }
    auto entry = std::make_shared<FindingEntry>(*known->second);
    entry->annotation = annotation;
    Place(std::move(entry));
  }
  SayChanged();
}

void FindingIndex::SetCaughtUp() {
  {
    const MutexLock lock(mutex_);
    if (caught_up_) return;
    caught_up_ = true;
    ++version_;
  }
  SayChanged();
}

void FindingIndex::SetListener(std::function<void()> on_change) const {
  const MutexLock lock(listener_mutex_);
  on_change_ = std::move(on_change);
}

void FindingIndex::SayChanged() {
  const MutexLock lock(listener_mutex_);
  if (on_change_) on_change_();
}

void FindingIndex::Place(std::shared_ptr<FindingEntry> entry) {
  entry->sequence = ++version_;
  bytes_ += BytesOf(*entry);
  FindingPtr& place = by_id_[entry->id];
  if (place != nullptr) {
    bytes_ -= BytesOf(*place);
    by_sequence_.erase(place->sequence);
  }
  place = std::move(entry);
  by_sequence_[place->sequence] = place;
}

void FindingIndex::KeepWithinBytes() {
  while (bytes_ > bytes_max_ && by_sequence_.size() > 1) {
    auto leaves = std::ranges::find_if(by_sequence_,
                                       [](const auto& entry) { return IsResolved(*entry.second); });
    if (leaves == by_sequence_.end()) leaves = by_sequence_.begin();
    bytes_ -= BytesOf(*leaves->second);
    by_id_.erase(leaves->second->id);
    by_sequence_.erase(leaves);
    ++evicted_;
  }
}

FindingPtr FindingIndex::Find(const std::string& id) const {
  const MutexLock lock(mutex_);
  const auto entry = by_id_.find(id);
  return entry == by_id_.end() ? nullptr : entry->second;
}

std::vector<FindingPtr> FindingIndex::Select(const FindingQuery& query) const {
  std::vector<FindingPtr> selected;
  {
    const MutexLock lock(mutex_);
    for (const auto& [sequence, entry] : by_sequence_) {
      if (Matches(*entry, query)) selected.push_back(entry);
    }
  }
  std::ranges::sort(selected, ComesFirst);
  return selected;
}

std::vector<FindingPtr> FindingIndex::ChangedSince(uint64_t sequence) const {
  const MutexLock lock(mutex_);
  std::vector<FindingPtr> changed;
  for (auto entry = by_sequence_.upper_bound(sequence); entry != by_sequence_.end(); ++entry)
    changed.push_back(entry->second);
  return changed;
}

std::vector<FindingPtr> FindingIndex::ChangedSince(const FindingPosition& position) const {
  const MutexLock lock(mutex_);
  std::vector<FindingPtr> changed;
  for (const auto& [sequence, entry] : by_sequence_) {
    const auto seen = position.find(entry->partition);
    if (seen == position.end() || entry->offset >= seen->second) changed.push_back(entry);
  }
  return changed;
}

bool FindingIndex::caught_up() const {
  const MutexLock lock(mutex_);
  return caught_up_;
}

uint64_t FindingIndex::version() const {
  const MutexLock lock(mutex_);
  return version_;
}

FindingPosition FindingIndex::position() const {
  const MutexLock lock(mutex_);
  return position_;
}

int64_t FindingIndex::newest_ms() const {
  const MutexLock lock(mutex_);
  return newest_ms_;
}

size_t FindingIndex::size() const {
  const MutexLock lock(mutex_);
  return by_id_.size();
}

FindingCounts FindingIndex::CountOf(const std::set<std::string>& jobs, int64_t now_ms) const {
  const MutexLock lock(mutex_);
  FindingCounts counts = counts_;
  for (const auto& [id, entry] : by_id_) {
    if (!IsResolved(*entry) && entry->replay_id.empty() && jobs.contains(entry->job) &&
        !entry->annotation.IsMuted(now_ms))
      ++counts.open[{entry->kind, entry->severity}];
  }
  return counts;
}

uint64_t FindingIndex::evicted() const {
  const MutexLock lock(mutex_);
  return evicted_;
}

}  // namespace eroica
