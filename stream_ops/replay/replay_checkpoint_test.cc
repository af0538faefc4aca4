#include "stream_ops/replay/replay_checkpoint.h"

#include <gtest/gtest.h>

#include "state_store/in_memory_store.h"
#include "state_store/task_store.h"

namespace eroica {
namespace {

TEST(ReplayCheckpoint, IsReadAsItWasWritten) {
  InMemoryStore store;
  EXPECT_FALSE(LoadCheckpoint(store)->has_value());
  const ReplayCheckpoint checkpoint{.read = {{{"a", 0}, 3}, {{"b", 7}, 9}},
                                    .ends = {{{"c", 1}, 5}},
                                    .quiet_ms = {{{"a", 0}, -1'501}},
                                    .clock_ms = 1'764'000'000'000,
                                    .fed_ms = 4,
                                    .finished = true};
  ASSERT_TRUE(StageCheckpoint(checkpoint, store).ok());
  EXPECT_EQ(**LoadCheckpoint(store), checkpoint);
}

TEST(ReplayCheckpoint, ADamagedOneIsSaidToBeDamaged) {
  for (const char* text : {"", "{}", "[1]", "{\"read\":7}"}) {
    InMemoryStore store;
    StateChanges changes;
    changes.Put(Table::kPositions, "checkpoint", text);
    ASSERT_TRUE(TaskStore(&store, "replay").Write(changes).ok());
    EXPECT_TRUE(absl::IsDataLoss(LoadCheckpoint(store).status())) << text;
  }
}

}  // namespace
}  // namespace eroica
