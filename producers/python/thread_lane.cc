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

std::atomic<int64_t> training_boundary_ns = INT64_MIN;

void PassBoundary(int64_t now_ns) {
  if (eroica_trains()) training_boundary_ns.store(now_ns, std::memory_order_relaxed);
}

namespace {

constexpr uint64_t kNone = UINT64_MAX;
constexpr uint64_t kSpan = UINT64_MAX - 1;  // no ticket of the core
std::atomic<uint64_t> inside_ticket = kNone;

}  // namespace

bool IsInsideCollective() { return inside_ticket.load(std::memory_order_relaxed) != kNone; }

void EnterCollective(uint64_t ticket) {
  if (eroica_trains()) inside_ticket.store(ticket, std::memory_order_relaxed);
}

void LeaveCollective(uint64_t ticket) {
  if (inside_ticket.load(std::memory_order_relaxed) == ticket)
    inside_ticket.store(kNone, std::memory_order_relaxed);
}

void EnterSpan() { EnterCollective(kSpan); }

void LeaveSpan() { LeaveCollective(kSpan); }

void LeaveCollectives() { inside_ticket.store(kNone, std::memory_order_relaxed); }

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
