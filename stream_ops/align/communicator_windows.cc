#include "stream_ops/align/communicator_windows.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "schemas/check.h"

namespace eroica {
namespace {

// Beyond every window index that the codec lets through.
constexpr int64_t kNothing = std::numeric_limits<int64_t>::min();
constexpr int64_t kFinished = std::numeric_limits<int64_t>::max();

}  // namespace

DropReason CommunicatorWindows::Add(CollectiveBatch batch, int64_t offset) {
  const uint32_t rank = batch.rank.value;
  const std::optional<int64_t> number = runs_.NumberOf(batch.window, places_[rank]);
  if (!number) return DropReason::kLate;
  LearnMembers(&batch);
  // A rank that reports something new after its end is not finished. What it said before may come
  // again: a former owner of the stage before ours did not know that it was none any more.
  if (!IsFinished(rank)) {
    const auto member = latest_.find(rank);
    const int64_t before = member == latest_.end() ? kNothing : member->second;
    Advance(rank, batch.final ? kFinished : std::max(before, *number));
  } else if (!batch.final && !Has(rank, *number)) {
    Advance(rank, *number);
  }
  if (closed_through_ && *number <= *closed_through_) return DropReason::kLate;
  OpenWindow& window = Open(*number, offset);
  if (!window.ranks.insert(rank).second) return DropReason::kDuplicate;
  open_rows_ += batch.records.size();
  window.batches.push_back(std::move(batch));
  return DropReason::kNone;
}

bool CommunicatorWindows::IsFinished(uint32_t rank) const {
  const auto member = latest_.find(rank);
  return member != latest_.end() && member->second == kFinished;
}

// Whether the rank's batch for the window is here, or could only be late.
bool CommunicatorWindows::Has(uint32_t rank, int64_t number) const {
  if (closed_through_ && number <= *closed_through_) return true;
  const auto window = open_.find(number);
  return window != open_.end() && window->second.ranks.contains(rank);
}

// The list of members is the same in every batch that has one, and as long as the communicator: it
// is read when it changes and kept once.
void CommunicatorWindows::LearnMembers(CollectiveBatch* batch) {
  std::vector<uint32_t> ranks = std::exchange(batch->communicator.ranks, {});
  if (!ranks.empty() && ranks != listed_) {
    SetList(std::move(ranks));
    list_changed_ = true;
  }
  declared_ = std::max<size_t>(declared_, batch->communicator.size);
  world_size_ = std::max(world_size_, batch->world_size);
}

void CommunicatorWindows::SetList(std::vector<uint32_t> ranks) {
  for (const uint32_t rank : ranks) {
    Advance(rank, latest_.contains(rank) ? latest_.at(rank) : kNothing);
    world_size_ = std::max(world_size_, rank + 1);  // its batches may be of a former life
  }
  listed_ = std::move(ranks);
  declared_ = std::max(declared_, listed_.size());
}

void CommunicatorWindows::Advance(uint32_t rank, int64_t latest) {
  const auto [member, is_new] = latest_.try_emplace(rank, kNothing);
  const int64_t before = std::exchange(member->second, latest);
  if (before == latest) return;
  finished_ += latest == kFinished ? 1 : 0;
  finished_ -= before == kFinished ? 1 : 0;
  const auto end = open_.upper_bound(std::max(before, latest));
  for (auto window = open_.lower_bound(std::min(before, latest)); window != end; ++window) {
    window->second.reached += latest >= window->first ? 1 : 0;
    window->second.reached -= before >= window->first ? 1 : 0;
    window->second.passed += latest > window->first ? 1 : 0;
    window->second.passed -= before > window->first ? 1 : 0;
  }
}

CommunicatorWindows::OpenWindow& CommunicatorWindows::Open(int64_t number, int64_t offset) {
  const auto [entry, is_new] = open_.try_emplace(number);
  OpenWindow& window = entry->second;
  if (!is_new) return window;
  window.first_offset = offset;
  for (const auto& [rank, latest] : latest_) {
    window.reached += latest >= number ? 1 : 0;
    window.passed += latest > number ? 1 : 0;
  }
  return window;
}

uint64_t CommunicatorWindows::open_batches() const {
  uint64_t batches = 0;
  for (const auto& [number, window] : open_) batches += window.batches.size();
  return batches;
}

std::optional<int64_t> CommunicatorWindows::first_offset() const {
  std::optional<int64_t> first;
  for (const auto& [number, window] : open_)
    first = std::min(first.value_or(window.first_offset), window.first_offset);
  return first;
}

bool CommunicatorWindows::OldestIsComplete() const {
  if (open_.empty()) return false;
  const OpenWindow& oldest = open_.begin()->second;
  return declared_ > 0 ? oldest.reached >= std::max(declared_, latest_.size())
                       : oldest.passed == latest_.size();
}

bool CommunicatorWindows::AllFinished() const {
  return finished_ >= std::max(declared_, latest_.size());
}

ClosedWindow CommunicatorWindows::CloseOldest() {
  EROICA_CHECK(HasOpen());
  auto node = open_.extract(open_.begin());
  OpenWindow& window = node.mapped();
  EROICA_CHECK(!window.batches.empty());
  ClosedWindow closed;
  closed.batches = std::move(window.batches);
  std::ranges::sort(closed.batches, {}, &CollectiveBatch::rank);
  closed.window = closed.batches.front().window;
  for (const CollectiveBatch& batch : closed.batches) open_rows_ -= batch.records.size();
  for (const auto& [rank, latest] : latest_) {
    if (latest != kFinished && !window.ranks.contains(rank)) closed.missing.emplace_back(rank);
  }
  std::ranges::sort(closed.missing);
  closed.begins_run = closed_through_ && runs_.RunOf(*closed_through_) != runs_.RunOf(node.key());
  closed_through_ = node.key();
  runs_.Close(node.key());
  closed.last = AllFinished() && open_.empty();
  if (closed.last) {
    // A later run under the same name starts with members of its own.
    latest_.clear();
    list_changed_ |= !listed_.empty();
    listed_.clear();
    declared_ = 0;
    finished_ = 0;
  }
  return closed;
}

std::vector<RankId> CommunicatorWindows::FinishedRanks() const {
  std::vector<RankId> finished;
  for (const auto& [rank, latest] : latest_) {
    if (latest == kFinished) finished.emplace_back(rank);
  }
  std::ranges::sort(finished);
  return finished;
}

void CommunicatorWindows::Restore(int64_t closed_through, const std::vector<RankId>& finished) {
  EROICA_CHECK(latest_.empty() && open_.empty());
  closed_through_ = closed_through;
  runs_.Close(closed_through);
  for (const RankId rank : finished) Advance(rank.value, kFinished);
}

void CommunicatorWindows::RestoreMembers(std::vector<uint32_t> listed) {
  EROICA_CHECK(listed_.empty() && open_.empty());
  SetList(std::move(listed));
}

}  // namespace eroica
