#include "stream_ops/align/pair_alignment.h"

#include <algorithm>
#include <limits>

#include "schemas/check.h"
#include "stream_ops/align/saturating_sum.h"

namespace eroica {

void PairAlignment::Align(const MemberRows& rows, bool settle, CollectiveSummary* summary,
                          std::span<RowFate> fates) {
  EROICA_CHECK(fates.size() == rows.size());
  Meet(rows, fates);
  Judge(settle);
  for (const auto& [number, meeting] : meeting_of_row_) fates[number] = meetings_[meeting].fate;
  summary->pairs.clear();
  for (Pair& pair : pairs_) summary->pairs.push_back(std::move(pair.summary));
  std::ranges::sort(summary->pairs, {}, [](const PairSummary& pair) {
    return std::tuple(pair.source, pair.destination);
  });
}

void PairAlignment::Meet(const MemberRows& rows, std::span<RowFate> fates) {
  pair_by_ranks_.clear();
  meeting_by_key_.clear();
  pairs_.clear();
  meetings_.clear();
  meeting_of_row_.clear();
  rows.ForEach([&](uint32_t member, const CollectiveBatch& batch, const CollectiveRecord& row,
                   size_t number) {
    if (!IsPointToPoint(row.operation)) return;
    fates[number] = RowFate::kUnobserved;
    if (row.peer < 0) return;
    const RankId self = rows.members()[member].rank;
    const RankId peer(static_cast<uint32_t>(row.peer));
    const Side side = row.operation == CollectiveOperation::kSend ? kSend : kReceive;
    const RankId source = side == kSend ? self : peer;
    const RankId destination = side == kSend ? peer : self;
    const auto [pair, new_pair] = pair_by_ranks_.try_emplace({source.value, destination.value},
                                                             static_cast<uint32_t>(pairs_.size()));
    if (new_pair) pairs_.push_back({.summary = {.source = source, .destination = destination}});
    uint64_t& reached = pairs_[pair->second].next[side];
    reached = std::max(reached, NextSaturating(row.sequence));

    const auto [entry, new_meeting] = meeting_by_key_.try_emplace(
        {pair->second, row.sequence}, static_cast<uint32_t>(meetings_.size()));
    if (new_meeting) meetings_.push_back({.pair = pair->second, .sequence = row.sequence});
    Meeting& meeting = meetings_[entry->second];
    if (meeting.present[side]) {
      fates[number] = RowFate::kDuplicate;
      return;
    }
    meeting.present[side] = true;
    meeting.waited |= &batch == rows.members()[member].carried;
    meeting.exposed_ns[side] = row.exposed_ns;
    meeting.duration_ns[side] = row.duration_ns;
    meeting_of_row_.emplace_back(number, entry->second);
  });
}

void PairAlignment::Judge(bool settle) {
  for (Meeting& meeting : meetings_) {
    Pair& pair = pairs_[meeting.pair];
    if (meeting.present[kSend] && meeting.present[kReceive]) {
      meeting.fate = RowFate::kAligned;
      ++pair.summary.count;
      AddSaturating(std::min({meeting.exposed_ns[kReceive], meeting.duration_ns[kReceive],
                              meeting.duration_ns[kSend]}),
                    &pair.summary.transfer_ns);
    } else {
      const Side absent = meeting.present[kSend] ? kReceive : kSend;
      meeting.fate = FateOfUnmatched(meeting.sequence < pair.next[absent], meeting.waited, settle);
      if (meeting.fate == RowFate::kIncomplete) ++pair.summary.unmatched;
    }
    if (meeting.fate == RowFate::kCarried) continue;
    AddSaturating(meeting.exposed_ns[kSend], &pair.summary.send_wait_ns);
    AddSaturating(meeting.exposed_ns[kReceive], &pair.summary.receive_wait_ns);
  }
}

}  // namespace eroica
