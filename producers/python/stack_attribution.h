// From samples of the training thread's stack to intervals that cover its time without holes.
//
// The thread says exactly when it passes from one stretch to the next (TrainingBoundary: a step, a
// batch, the backward pass, a region, a collective), and the kernel how long it ran, waited for a
// processor and was blocked in each. So what a stretch lasted, and how much of it was blocked, is
// measured; only which function that was is sampled: the blocked time belongs to the stacks that
// were seen blocked, the other time to those that were not, equally to each sample. This is
// post-stratification (Cochran, Sampling Techniques, 5A.9): a sleep of 30 ms a step is told as
// 30 ms however few samples there are, and however late they come on a busy host. A stretch without
// a sample of that state is shared out likewise to the newest samples in stretches of the same kind
// and about the same length (seen_functions.h). A stretch without a boundary is cut every 100 ms.
//
// Waits for a processor lie in the time that was not blocked, and are emitted beside the functions
// that they interrupted: as shares of the stretch (spread_share.h). They passed in these functions,
// too, and are emitted once more as intervals within them: of a function that was never seen
// blocked its share of what interrupted the thread, and, where blocks are known, of one that
// blocked what it waited when it woke up.
//
// Where the kernel says when the thread left its processor (thread_switches.h), each block has its
// own length: one in which a stack was seen belongs to that stack, whole, and one in which none was
// seen to the stack of the block seen last in a stretch of that kind that lasted about as long.
// Without that all blocks of a stretch are shared out by how many samples saw what, and a long one
// is seen more often than it should: a sampler that waits for a processor itself comes late, when
// short blocks are over.
//
// What the thread does inside a collective or a wait of its data loader is that interval's: nothing
// is emitted there, but for waits for a processor inside a collective. (MPI's receive from any
// source spins: on a busy host it mostly waits for a processor, and yet for its peers.) Consecutive
// equal functions are one interval, cut where it grows long, so that windows can close behind it.
// Owner: one thread. Times do not decrease from call to call; one that does is taken for the latest
// time seen.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "producers/python/gil_probe.h"
#include "producers/python/run_times.h"
#include "producers/python/seen_functions.h"
#include "producers/python/thread_blocks.h"
#include "producers/python/thread_switches.h"
#include "producers/python/training_boundaries.h"

namespace eroica {

struct StackSample {
  int64_t time_ns = 0;
  uint32_t leaf = 0;  // the function at the end of the stack's chain
  ThreadState state = ThreadState::kUnknown;
};

class StackAttribution {
 public:
  using Emit = std::function<void(int64_t start_ns, int64_t end_ns, uint32_t function)>;
  using EmitWait = std::function<void(int64_t start_ns, int64_t end_ns)>;
  // Within an interval of the function: it waited for a processor from start_ns to end_ns.
  using EmitWaitWithin = std::function<void(int64_t start_ns, int64_t end_ns, uint32_t function)>;
  StackAttribution(Emit emit, EmitWait emit_wait, EmitWaitWithin emit_within)
      : emit_(std::move(emit)),
        emit_wait_(std::move(emit_wait)),
        emit_within_(std::move(emit_within)) {}

  void Pass(const TrainingBoundary& boundary);
  // Of the thread, where they are known: those until a boundary come before it.
  void Switch(const ThreadSwitch& change) { blocks_.Switch(change); }
  // Not counted while what the thread is inside of covers its stacks.
  void Sample(const StackSample& sample);
  // Whether the current stretch is so long that it must be cut.
  bool IsLong(int64_t now_ns) const;
  // Cuts it. times: what the thread has used by now, where that is known.
  void Cut(int64_t now_ns, const std::optional<RunTimes>& times);
  // Another thread has ended the collective that this one waited for, at some time before.
  void LeaveCollective(int64_t now_ns);
  // Emits the open interval and forgets the stretch; the next boundary or sample begins another
  // one.
  void Finish();
  // What the thread is inside of; before the first boundary nothing.
  uint32_t inside() const { return stretch_.inside; }
  bool in_collective() const { return stretch_.in_collective; }

 private:
  struct Seen {  // of late, in stretches of one kind
    SeenFunctions running;
    SeenFunctions blocked;
    SeenBlocks blocks;
  };
  struct Share {
    uint32_t function = 0;
    int64_t ns = 0;
  };
  using Shares = std::vector<Share>;
  struct Parts {
    int64_t blocked_ns = 0;  // the rest was not
    int64_t waited_ns = 0;   // for a processor
    // of that what interrupted it; where blocks are not known, all of it
    int64_t preempted_ns = 0;
    bool known = false;
    // Waited for a processor when it could run again.
    int64_t waking_ns() const { return std::max<int64_t>(0, waited_ns - preempted_ns); }
  };

  void Close(int64_t end_ns, const std::optional<RunTimes>& times);
  Parts PartsOf(int64_t end_ns, const std::optional<RunTimes>& times) const;
  // Answers whose the waits for a processor were, as far as that is known.
  Shares Tile(int64_t end_ns, const Parts& parts);
  static Shares WaitsOfRunning(const std::vector<uint32_t>& running, const Shares& blocked,
                               int64_t waited_ns);
  std::vector<uint32_t> Leaves(bool blocked, int64_t length_ns, Seen* seen) const;
  bool WasBlocked(const StackSample& sample) const;
  const StackSample* SampleIn(const ThreadBlock& block) const;
  static Shares Equally(const std::vector<uint32_t>& functions);
  static int64_t SumOf(const Shares& shares);
  Shares SharesOfBlocks(Seen* seen) const;
  void AddShares(int64_t begin_ns, int64_t end_ns, const Shares& shares);
  void Add(int64_t begin_ns, int64_t end_ns, uint32_t leaf);
  void SpreadWait(int64_t begin_ns, int64_t end_ns, int64_t waited_ns, const Shares& waits);
  void EmitOpen(int64_t end_ns);

  Emit emit_;
  EmitWait emit_wait_;
  EmitWaitWithin emit_within_;
  bool begun_ = false;
  TrainingBoundary stretch_;  // that began the current stretch
  int64_t latest_ns_ = 0;
  std::vector<StackSample> samples_;         // in it
  ThreadBlocks blocks_;                      // likewise
  std::unordered_map<uint64_t, Seen> seen_;  // by kind of stretch
  std::optional<uint32_t> last_running_;     // in stretches of any kind
  int64_t unplaced_wait_ns_ = 0;
  // The interval that grows, and is not emitted yet.
  bool open_ = false;
  int64_t start_ns_ = 0;
  int64_t end_ns_ = 0;
  uint32_t leaf_ = 0;
};

}  // namespace eroica
