// The lane of the thread that asks. The training thread is the one that trains at that moment
// (eroica_trains); others are named as the system names them.
#pragma once

#include <atomic>
#include <cstdint>

namespace eroica {

// Interned twice a thread; without a lock afterwards.
uint8_t LaneOfThisThread();
uint8_t TrainingLane();
// What a capture window traces of the training thread. Not a training lane: patterns and the
// critical path come from samples there, as in every other window.
uint8_t FullTraceLane();

// When the training thread last passed from one thing to another that it named exactly: a step, the
// begin or end of a collective or of a span, the end of a region or of a garbage collection, the
// begin of the loading of a batch. A sampled stack
// that would begin before the end of such an interval covers it (the later one counts). INT64_MIN
// before that. Written by the training thread.
extern std::atomic<int64_t> training_boundary_ns;
// Of any thread; only the training thread's counts.
void PassBoundary(int64_t now_ns);

// Whether the training thread is inside a collective that it waits for. What it runs there is the
// collective's time: a stack that is seen then stands for none of the time before or behind it.
bool IsInsideCollective();
// ticket: of the core. Of any thread; only the training thread's counts.
void EnterCollective(uint64_t ticket);
void LeaveCollective(uint64_t ticket);  // nothing where it is not the one that was entered last
// Likewise inside something else that is named exactly: a wait for data or for an array, the
// compiler. One at a time; a collective in it ends it as well.
void EnterSpan();
void LeaveSpan();
// Another thread trains: what the one before is inside of counts no longer.
void LeaveCollectives();

}  // namespace eroica
