// The lane of the thread that asks. The main thread is the training thread; others are named as the
// system names them.
#pragma once

#include <cstdint>

namespace eroica {

// Interned once a thread; without a lock afterwards.
uint8_t LaneOfThisThread();
uint8_t TrainingLane();
// What a capture window traces of the training thread. Not a training lane: patterns and the critical
// path come from samples there, as in every other window.
uint8_t FullTraceLane();

}  // namespace eroica
