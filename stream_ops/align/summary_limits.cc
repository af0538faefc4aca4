#include "stream_ops/align/summary_limits.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace eroica {
namespace {

constexpr size_t kBytesBesideTexts = 64;  // of a blocker on the wire

size_t BytesOf(const Blocker& blocker) {
  return kBytesBesideTexts + blocker.name.size() + blocker.stack.size();
}

// Shortens rows and answers by how many.
template <typename Rows>
uint64_t Shorten(size_t rows_max, Rows* rows) {
  if (rows->size() <= rows_max) return 0;
  const uint64_t more = rows->size() - rows_max;
  rows->resize(rows_max);
  return more;
}

// A member's own blockers have the most caused wait first, so that each keeps the first of its own.
uint64_t CutBlockers(size_t bytes_max, CollectiveSummary* summary) {
  struct Place {
    int64_t caused_wait_ns;
    size_t member;
    size_t blocker;
  };
  std::vector<Place> places;
  size_t bytes = 0;
  for (size_t i = 0; i < summary->members.size(); ++i) {
    const std::vector<Blocker>& blockers = summary->members[i].blockers;
    for (size_t j = 0; j < blockers.size(); ++j) {
      places.push_back({blockers[j].caused_wait_ns, i, j});
      bytes += BytesOf(blockers[j]);
    }
  }
  if (bytes <= bytes_max) return 0;
  std::ranges::sort(places, {}, [](const Place& place) {
    return std::tuple(-place.caused_wait_ns, place.member, place.blocker);
  });
  std::vector<size_t> kept(summary->members.size());
  size_t left = bytes_max;
  for (const Place& place : places) {
    const size_t of_blocker = BytesOf(summary->members[place.member].blockers[place.blocker]);
    if (of_blocker > left) break;
    left -= of_blocker;
    ++kept[place.member];
  }
  uint64_t cut = 0;
  for (size_t i = 0; i < kept.size(); ++i) cut += Shorten(kept[i], &summary->members[i].blockers);
  return cut;
}

}  // namespace

SummaryCuts CutToLimits(const SummaryLimits& limits, CollectiveSummary* summary) {
  SummaryCuts cuts{.blockers = CutBlockers(limits.blocker_bytes, summary),
                   .pairs = Shorten(limits.pairs, &summary->pairs)};
  size_t left = limits.late_steps;
  for (MemberSummary& member : summary->members) {
    cuts.late_steps += Shorten(std::min(left, limits.late_steps_of_member), &member.late_steps);
    left -= member.late_steps.size();
  }
  return cuts;
}

}  // namespace eroica
