#include "producers/python/training_boundaries.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "producers/python/this_thread.h"

namespace eroica {
namespace {

constexpr uint64_t kNone = UINT64_MAX;
constexpr int64_t kAskAgainNs = 500'000;
constexpr size_t kMostOpen = 32;
constexpr size_t kSlots = 512;

std::atomic<uint64_t> inside_ticket = kNone;

// Of one writer at a time; a second one that comes meanwhile is left out.
struct Ring {
  std::array<TrainingBoundary, kSlots> slots;
  std::atomic<uint64_t> written = 0;
  std::atomic<uint64_t> taken = 0;
  std::atomic_flag busy = ATOMIC_FLAG_INIT;
} ring;

struct OpenRegion {
  uint32_t function = 0;
  bool covers = false;
};
struct OpenRegions {
  std::array<OpenRegion, kMostOpen> open;
  size_t depth = 0;
  size_t beyond = 0;
  uint32_t trainer = 0;
} regions;

struct Answer {
  std::optional<RunTimes> times;
  int64_t asked_ns = 0;
};

// Asks the kernel. Where that lasts, the thread has lost its processor in the middle, and nobody
// knows what the answer counts: it asks again.
Answer Ask(const RunTimesFile& file) {
  constexpr int64_t kAtOnceNs = 100'000;
  constexpr int kMostTimes = 3;
  Answer answer;
  for (int times = 0; times < kMostTimes; ++times) {
    answer.asked_ns = eroica_now_ns();
    answer.times = file.Read();
    if (eroica_now_ns() - answer.asked_ns <= kAtOnceNs) break;
  }
  return answer;
}

// What the calling thread had run and waited by now_ns, a moment ago; an estimate between two
// answers of the kernel.
std::optional<RunTimes> TimesHere(int64_t now_ns) {
  thread_local const RunTimesFile file(ThisThread());
  thread_local Answer last;
  const int64_t since_ns = now_ns - last.asked_ns;
  if (last.asked_ns != 0 && since_ns >= 0 && since_ns < kAskAgainNs) {
    if (!last.times) return std::nullopt;
    return RunTimes{last.times->on_processor_ns + since_ns, last.times->runnable_ns};
  }
  const std::optional<RunTimes> before = last.times;
  last = Ask(file);
  if (!last.times) return std::nullopt;
  return CountedBefore(*last.times, last.asked_ns - now_ns, before);
}

void Push(int64_t now_ns, BoundaryKind kind, uint32_t of) {
  const uint64_t at = ring.written.load(std::memory_order_relaxed);
  const uint64_t waiting = at - ring.taken.load(std::memory_order_acquire);
  if (waiting >= kSlots) return;
  TrainingBoundary& slot = ring.slots[at % kSlots];
  slot = {.time_ns = now_ns,
          .thread = ThisThread(),
          .times = TimesHere(now_ns),
          .kind = kind,
          .of = of};
  const OpenRegion* inner = regions.depth > 0 ? &regions.open[regions.depth - 1] : nullptr;
  slot.inside = inner != nullptr ? inner->function : EROICA_NO_PARENT;
  slot.in_covered = inner != nullptr && inner->covers;
  slot.in_collective = IsInsideCollective();
  // What follows is dropped: the thread leaves what it is in without a word.
  if (waiting + 1 == kSlots) slot = {.time_ns = now_ns, .thread = slot.thread, .times = slot.times};
  ring.written.store(at + 1, std::memory_order_release);
}

// A thread that trains since has none of the regions of the one before.
void FollowTrainer() {
  const uint32_t trainer = eroica_trainer().number;
  if (trainer != regions.trainer && regions.trainer != 0) regions.depth = regions.beyond = 0;
  regions.trainer = trainer;
}

template <typename Change>
void WithRing(const Change& change) {
  if (!eroica_trains() || ring.busy.test_and_set(std::memory_order_acquire)) return;
  FollowTrainer();
  change();
  ring.busy.clear(std::memory_order_release);
}

}  // namespace

bool IsInsideCollective() { return inside_ticket.load(std::memory_order_relaxed) != kNone; }

void PassBoundary(int64_t now_ns, BoundaryKind kind, uint32_t of) {
  WithRing([&] { Push(now_ns, kind, of); });
}

void EnterRegion(int64_t now_ns, uint32_t function, bool covers) {
  WithRing([&] {
    if (regions.depth < kMostOpen) {
      regions.open[regions.depth++] = {function, covers};
    } else {
      ++regions.beyond;
    }
    Push(now_ns, BoundaryKind::kRegionBegin, function);
  });
}

void LeaveRegion(int64_t now_ns, uint32_t function) {
  WithRing([&] {
    if (regions.beyond > 0) {
      --regions.beyond;
    } else {
      size_t depth = regions.depth;
      while (depth > 0 && regions.open[depth - 1].function != function) --depth;
      if (depth > 0) regions.depth = depth - 1;  // with what was left open in it
    }
    Push(now_ns, BoundaryKind::kRegionEnd, function);
  });
}

void EnterCollective(int64_t now_ns, uint64_t ticket) {
  if (eroica_trains()) inside_ticket.store(ticket, std::memory_order_relaxed);
  PassBoundary(now_ns, BoundaryKind::kCollectiveBegin);
}

void LeaveCollective(int64_t now_ns, uint64_t ticket) {
  if (inside_ticket.load(std::memory_order_relaxed) == ticket)
    inside_ticket.store(kNone, std::memory_order_relaxed);
  PassBoundary(now_ns, BoundaryKind::kCollectiveEnd);
}

void LeaveAll() { inside_ticket.store(kNone, std::memory_order_relaxed); }

std::optional<TrainingBoundary> TakeBoundary(int64_t until_ns) {
  const uint64_t at = ring.taken.load(std::memory_order_relaxed);
  if (at == ring.written.load(std::memory_order_acquire)) return std::nullopt;
  const TrainingBoundary boundary = ring.slots[at % kSlots];
  if (boundary.time_ns > until_ns) return std::nullopt;
  ring.taken.store(at + 1, std::memory_order_release);
  return boundary;
}

}  // namespace eroica
