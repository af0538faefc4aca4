// The boundaries between stretches of the training thread's work, as the thread reports them: a
// step, a batch, a pass, the begin or end of a region or of a collective. Each has its time and,
// where the kernel counts, how long the thread has run and waited for a processor until then. The
// kernel is asked twice a millisecond at most: between two answers the thread is taken for running.
//
// The training thread writes (with the GIL), the sampler's thread reads. Where the sampler does not
// keep up, the newest are dropped: their stretches are part of the one before.
#pragma once

#include <cstdint>
#include <optional>

#include "producers/core/producer_core.h"
#include "producers/python/run_times.h"

namespace eroica {

enum class BoundaryKind : uint8_t {
  kNone,
  kStep,
  kBatch,
  kOptimizer,
  kMark,
  kRegionBegin,
  kRegionEnd,
  kCollectiveBegin,
  kCollectiveEnd,
};

struct TrainingBoundary {
  int64_t time_ns = 0;
  int32_t thread = 0;  // as gettid() says
  std::optional<RunTimes> times;
  BoundaryKind kind = BoundaryKind::kNone;
  uint32_t of = 0;                     // the kind of a mark, the function of a region
  uint32_t inside = EROICA_NO_PARENT;  // the region that the thread is in from here on
  bool in_covered = false;             // what stacks show in that region is its own
  bool in_collective = false;          // that the thread waits for
  // Stacks say nothing more of what it does.
  bool is_covered() const { return in_covered || in_collective; }
};

// [the calling thread; only the training thread's count] of: which mark.
void PassBoundary(int64_t now_ns, BoundaryKind kind, uint32_t of = 0);
// covers: what stacks show in it is that function's (a wait, a compiler).
void EnterRegion(int64_t now_ns, uint32_t function, bool covers);
// Nothing but a boundary where it is not open.
void LeaveRegion(int64_t now_ns, uint32_t function);

// The caller is inside a collective that it waits for. What it runs there is the collective's time.
// ticket: of the core. Of any thread; only the training thread's counts.
void EnterCollective(int64_t now_ns, uint64_t ticket);
// Nothing but a boundary where it is not the one that was entered last.
void LeaveCollective(int64_t now_ns, uint64_t ticket);
bool IsInsideCollective();
// Another thread trains: what the one before is inside of counts no longer.
void LeaveAll();

// [the sampler] The oldest that was not taken; nothing where there is none until then.
std::optional<TrainingBoundary> TakeBoundary(int64_t until_ns);

}  // namespace eroica
