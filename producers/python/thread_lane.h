// The lane of the thread that asks. The training thread is the one that trains at that moment
// (eroica_trains); others are named as the system names them.
#pragma once

#include <cstdint>

namespace eroica {

// Interned twice a thread; without a lock afterwards.
uint8_t LaneOfThisThread();
uint8_t TrainingLane();
// What a capture window traces of the training thread. Not a training lane: patterns and the
// critical path come from samples there, as in every other window.
uint8_t FullTraceLane();
// How long each of its functions waited for a processor. No training lane: the time is in its
// functions already.
uint8_t WaitsLane();
// Of operations that are under way beside what the training thread runs.
uint8_t AsynchronousLane();

}  // namespace eroica
