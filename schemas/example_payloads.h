// One filled value of each payload type, every field away from its default, for the tests of this folder, golden payloads and fuzz seeds.
#pragma once

#include "schemas/codec.h"

namespace eroica {

EventBatch ExampleEventBatch();
PatternBatch ExamplePatternBatch();
CollectiveBatch ExampleCollectiveBatch();
CollectiveSummary ExampleCollectiveSummary();
Finding ExampleFinding();
Control ExampleControl();

}  // namespace eroica
