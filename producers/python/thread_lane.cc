#include "producers/python/thread_lane.h"

#include <pthread.h>

#include <string>

#include "producers/core/producer_core.h"

namespace eroica {

uint8_t TrainingLane() { return eroica_lane("training thread", EROICA_TRAINING_THREAD); }

uint8_t FullTraceLane() {
  static const uint8_t lane = eroica_lane("training thread, in full", EROICA_HOST_THREAD);
  return lane;
}

uint8_t WaitsLane() {
  static const uint8_t lane = eroica_lane("training thread, waits", EROICA_HOST_THREAD);
  return lane;
}

uint8_t AsynchronousLane() {
  static const uint8_t lane = eroica_lane("asynchronous operations", EROICA_ASYNCHRONOUS);
  return lane;
}

uint8_t LaneOfThisThread() {
  constexpr int kUnknown = -1;
  thread_local int training_lane = kUnknown;
  thread_local int own_lane = kUnknown;
  if (eroica_trains()) {
    if (training_lane == kUnknown) training_lane = TrainingLane();
    return static_cast<uint8_t>(training_lane);
  }
  if (own_lane == kUnknown) {
    char name[16] = "";
    if (pthread_getname_np(pthread_self(), name, sizeof name) != 0) name[0] = '\0';
    own_lane = eroica_lane((std::string("thread ") + name).c_str(), EROICA_HOST_THREAD);
  }
  return static_cast<uint8_t>(own_lane);
}

}  // namespace eroica
