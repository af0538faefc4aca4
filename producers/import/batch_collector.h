// For tests: a BatchSink that keeps every batch and checks what a batch must keep
// (schemas/event_batch.h), and views of the whole.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "producers/core/batch_sink.h"
#include "schemas/codec.h"
#include "schemas/invariants.h"

namespace eroica {

// One interval, spelled out.
struct SeenInterval {
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  std::string name;
  std::string stack;  // callers, outermost first, joined by kStackSeparator
  FunctionClass function_class = FunctionClass::kCpuOp;
  WaitKind wait = WaitKind::kNone;
  Lane lane;
};

struct SeenCollective {
  SeenInterval interval;
  Communicator communicator;
  Collective row;
};

class BatchCollector final : public BatchSink {
 public:
  absl::Status Write(const EventBatch& batch) override {
    Check(batch);
    batches.push_back(batch);
    return absl::OkStatus();
  }

  std::vector<SeenInterval> Intervals(uint32_t rank) const {
    std::vector<SeenInterval> seen;
    for (const EventBatch& batch : batches) {
      if (batch.identity.rank.value != rank) continue;
      for (uint32_t i = 0; i < batch.intervals.size(); ++i) seen.push_back(Spell(batch, i));
    }
    return seen;
  }

  std::vector<SeenCollective> Collectives(uint32_t rank) const {
    std::vector<SeenCollective> seen;
    for (const EventBatch& batch : batches) {
      if (batch.identity.rank.value != rank) continue;
      for (const Collective& row : batch.collectives)
        seen.push_back({Spell(batch, row.interval), batch.communicators[row.communicator], row});
    }
    return seen;
  }

  std::vector<Mark> Marks(uint32_t rank) const {
    std::vector<Mark> seen;
    for (const EventBatch& batch : batches) {
      if (batch.identity.rank.value == rank)
        seen.insert(seen.end(), batch.marks.begin(), batch.marks.end());
    }
    return seen;
  }

  const EventBatch& First(uint32_t rank) const {
    return *std::find_if(batches.begin(), batches.end(), [rank](const EventBatch& batch) {
      return batch.identity.rank.value == rank;
    });
  }

  std::vector<EventBatch> batches;

 private:
  static SeenInterval Spell(const EventBatch& batch, uint32_t i) {
    const FunctionDef& function = batch.functions[batch.intervals.function[i]];
    SeenInterval seen{batch.intervals.start_ns[i],
                      batch.intervals.duration_ns[i],
                      function.name,
                      "",
                      function.function_class,
                      function.wait,
                      batch.lanes[batch.intervals.lane[i]]};
    for (uint32_t at = function.parent; at != kNoParent; at = batch.functions[at].parent) {
      seen.stack = batch.functions[at].name +
                   (seen.stack.empty() ? "" : std::string(kStackSeparator) + seen.stack);
    }
    return seen;
  }

  void Check(const EventBatch& batch) {
    Progress& progress = ranks_[batch.identity.rank.value];
    EXPECT_EQ(CheckInvariants(batch), DropReason::kNone);
    EXPECT_FALSE(progress.final) << "a batch behind the final one";
    EXPECT_EQ(batch.sequence, progress.next_sequence++);
    progress.final = batch.final;
    EXPECT_LT(batch.identity.rank.value, batch.identity.world_size);
    EXPECT_FALSE(batch.identity.job.value.empty());
    const IntervalColumns& columns = batch.intervals;
    ASSERT_LE(columns.size(), 8'192u);
    ASSERT_LE(batch.functions.size(), CodecLimits::kFunctions);
    ASSERT_LE(batch.lanes.size(), CodecLimits::kLanes);
    for (size_t i = 0; i < columns.size(); ++i) {
      ASSERT_GE(columns.start_ns[i], progress.time_ns) << "interval " << i;
      progress.time_ns = columns.start_ns[i];
      ASSERT_GE(columns.duration_ns[i], 0);
      ASSERT_LT(columns.function[i], batch.functions.size());
      ASSERT_LT(columns.lane[i], batch.lanes.size());
      ASSERT_EQ((columns.start_ns[i] - columns.start_ns[0]) % batch.time_unit_ns, 0);
      ASSERT_EQ(columns.duration_ns[i] % batch.time_unit_ns, 0);
    }
    for (size_t i = 0; i < batch.functions.size(); ++i) {
      const FunctionDef& function = batch.functions[i];
      ASSERT_TRUE(function.parent == kNoParent || function.parent < i);
      ASSERT_LE(function.name.size(), CodecLimits::kNameBytes);
    }
    for (const Mark& mark : batch.marks) {
      ASSERT_GE(mark.time_ns, progress.mark_ns);
      progress.mark_ns = mark.time_ns;
    }
    for (size_t i = 0; i < batch.collectives.size(); ++i) {
      ASSERT_LT(batch.collectives[i].interval, columns.size());
      ASSERT_LT(batch.collectives[i].communicator, batch.communicators.size());
      if (i > 0) {
        ASSERT_LE(batch.collectives[i - 1].interval, batch.collectives[i].interval);
      }
    }
  }

  struct Progress {
    uint64_t next_sequence = 0;
    bool final = false;
    int64_t time_ns = 0;
    int64_t mark_ns = 0;
  };
  std::map<uint32_t, Progress> ranks_;
};

}  // namespace eroica
