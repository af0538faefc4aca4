// The ways in which people record one and the same job: windows of several lengths, without Python
// stacks, only some of the ranks, without step marks. Pure; the same job gives the same variations
// in the same order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/evaluation/real/real_job.h"

namespace eroica {

inline constexpr uint32_t kWholeJob = 1'000'000;  // steps: all of a job is one window

// How many of a job's ranks are recorded.
enum class RecordedPart : uint8_t {
  kAll = 0,
  kHalf = 1,
  kQuarter = 2,
  kOneOfEach = 3,  // one of each tensor group, or of each host
  kAllButOne = 4,
};
inline constexpr int kRecordedPartCount = 5;
std::string_view ToString(RecordedPart part);

struct Variation {
  uint32_t window_steps = kWholeJob;
  bool stacks = true;
  StepMarks step_marks = StepMarks::kKept;
  RecordedPart part = RecordedPart::kAll;
  std::vector<uint32_t> ranks;  // that are recorded, ascending
};

// Each length of windows with each kind of recording, one thing changed at a time; without step
// marks there is one length. Of a part of the ranks every choice: each second rank and the lower or
// upper half, likewise quarters, each rank of a host, and any one rank left out. A choice that two
// parts have in common belongs to the first.
std::vector<Variation> VariationsOf(const RealJob& job);

// "1 step", "whole".
std::string WindowName(uint32_t window_steps);

}  // namespace eroica
