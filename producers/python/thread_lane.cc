#include "producers/python/thread_lane.h"

#include <pthread.h>
#include <unistd.h>

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
  thread_local const bool trains = gettid() == getpid();
  if (trains) training_boundary_ns.store(now_ns, std::memory_order_relaxed);
}

namespace {

constexpr uint64_t kNone = UINT64_MAX;
std::atomic<uint64_t> inside_ticket = kNone;

}  // namespace

bool IsInsideCollective() { return inside_ticket.load(std::memory_order_relaxed) != kNone; }

void EnterCollective(uint64_t ticket) {
  thread_local const bool trains = gettid() == getpid();
  if (trains) inside_ticket.store(ticket, std::memory_order_relaxed);
}

void LeaveCollective(uint64_t ticket) {
  if (inside_ticket.load(std::memory_order_relaxed) == ticket)
    inside_ticket.store(kNone, std::memory_order_relaxed);
}

uint8_t LaneOfThisThread() {
  thread_local int lane = -1;
  if (lane >= 0) return static_cast<uint8_t>(lane);
  if (gettid() == getpid()) {
    lane = TrainingLane();
  } else {
    char name[16] = "";
    if (pthread_getname_np(pthread_self(), name, sizeof name) != 0) name[0] = '\0';
    lane = eroica_lane((std::string("thread ") + name).c_str(), EROICA_HOST_THREAD);
  }
  return static_cast<uint8_t>(lane);
}

}  // namespace eroica
