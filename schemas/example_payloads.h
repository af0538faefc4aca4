// One filled value of each payload type, every field away from its default, for the tests of this
// folder, golden payloads and fuzz seeds.
#pragma once

#include "schemas/codec.h"

namespace eroica {

EventBatch ExampleEventBatch();
PatternBatch ExamplePatternBatch();
CollectiveBatch ExampleCollectiveBatch();
CollectiveSummary ExampleCollectiveSummary();
Finding ExampleFinding();
Control ExampleControl();
RankStanding ExampleRankStanding();

// The same by type, for tests of all types.
template <typename T>
T Example();
template <>
inline EventBatch Example() {
  return ExampleEventBatch();
}
template <>
inline PatternBatch Example() {
  return ExamplePatternBatch();
}
template <>
inline CollectiveBatch Example() {
  return ExampleCollectiveBatch();
}
template <>
inline CollectiveSummary Example() {
  return ExampleCollectiveSummary();
}
template <>
inline Finding Example() {
  return ExampleFinding();
}
template <>
inline Control Example() {
  return ExampleControl();
}
template <>
inline RankStanding Example() {
  return ExampleRankStanding();
}

}  // namespace eroica
