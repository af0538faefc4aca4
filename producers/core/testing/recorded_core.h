// The C ABI of producer_core.h as a small real thing for tests: it takes every call into memory, in
// the order in which they came. Link eroica::recorded_core in place of the core. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "producers/core/producer_core.h"

namespace eroica::recorded_core {

struct TakenFunction {
  std::string name;
  int function_class = 0;
  int wait = 0;
  uint32_t parent = EROICA_NO_PARENT;
  friend bool operator==(const TakenFunction&, const TakenFunction&) = default;
};

struct TakenLane {
  std::string name;
  int kind = 0;
  friend bool operator==(const TakenLane&, const TakenLane&) = default;
};

struct TakenCommunicator {
  uint64_t id = 0;
  std::string name;
  std::string description;
  uint32_t size = 0;
  std::vector<uint32_t> ranks;
  int library = 0;
};

struct TakenInterval {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t function = 0;
  uint8_t lane = 0;
};

// One ticket of eroica_collective_launched.
struct TakenOperation {
  EroicaCollective call{};
  int64_t launched_ns = 0;
  bool started = false;
  bool ended = false;
  bool dropped = false;
  TakenInterval interval;  // where it has ended
};

struct TakenMark {
  int64_t time_ns = 0;
  int kind = 0;
  int64_t id = 0;
};

struct TakenSample {
  int64_t time_ns = 0;
  int resource = 0;
  float value = 0;
};

struct TakenConnection {
  int64_t time_ns = 0;
  EroicaConnection connection{};
};

struct TakenLoss {
  int kind = 0;
  uint8_t reason = 0;
  uint64_t count = 0;
};

struct Recorded {
  std::vector<std::string> attached;  // components, in order
  int64_t rank = -1;
  int64_t world_size = -1;
  int32_t device = -1;
  std::vector<TakenFunction> functions;  // by number
  std::vector<TakenLane> lanes;          // by number
  std::vector<TakenCommunicator> communicators;
  std::vector<TakenInterval> intervals;
  std::vector<TakenOperation> operations;  // ticket - 1
  std::vector<TakenMark> marks;
  std::vector<TakenSample> samples;
  std::vector<TakenConnection> connections;
  std::vector<TakenLoss> losses;
  uint64_t misuse = 0;  // tickets that are not known, or that ended twice; numbers of no table
  int64_t steps = 0;
  uint32_t training_function = EROICA_NO_PARENT;
  bool processor_waits_reported = false;
};

// What was taken since Reset, as a copy.
Recorded Read();
// Forgets everything, and sets what the core would answer.
void Reset(bool enabled = true, int capture_level = 2);
void SetCaptureLevel(int capture_level);
void SetWantsFullTrace(bool wants);
// No interval finds room until it was asked for so often.
void SetFullFor(int questions);
// Calls what eroica_watch was given since Reset, on this thread, as the core's thread would.
void LookAtWatched();

}  // namespace eroica::recorded_core
