// Makes the batches of this process from what its rings held: events by time, only the names that
// they use, in the limits of the codec. Whatever comes out keeps the invariants of
// schemas/invariants.h, whatever went in: a row that cannot be kept (a time before 0 or far off, a
// number of no table) is dropped and counted as malformed_event.
//
// Owner: the emitter's thread. Memory is kept between batches.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "producers/core/event_ring.h"
#include "producers/core/name_tables.h"
#include "schemas/event_batch.h"

namespace eroica {

class BatchMaker {
 public:
  static constexpr size_t kMaxRows = 8'192;  // of intervals in one batch; more make several batches

  BatchMaker(const NameTables* names, uint32_t world_size)
      : names_(names), world_size_(world_size) {}

  // One event of a ring, see event_ring.h.
  void Add(const RingSlot& slot, const RingSlot* second);
  void AddReport(ProgressReport report) { reports_.push_back(std::move(report)); }
  size_t events() const {
    return intervals_.size() + marks_.size() + samples_.size() + connections_.size();
  }
  bool empty() const { return events() == 0 && reports_.empty(); }

  // Hands out what was added, oldest first, as batches without identity, sequence, clock and
  // losses; nothing is left. The last of them has last set.
  void TakeBatches(const std::function<void(EventBatch& batch, bool last)>& take);
  // Rows that were dropped since the last call.
  uint64_t TakeMalformed() { return std::exchange(malformed_, 0); }
  size_t memory_bytes() const;

 private:
  struct IntervalRow {
    int64_t start_ns;
    int64_t duration_ns;
    uint32_t function;
    uint8_t lane;
    bool is_collective;
    Collective collective;
  };

  bool AddInterval(const RingSlot& slot, const RingSlot* second);
  void Learn();
  void SortRows();
  // Where the rows of the batch that begins at row `from` end.
  size_t EndOfBatch(size_t from) const;
  void FillIntervals(size_t from, size_t to);
  void FillTimed(int64_t until_ns, bool last);
  uint32_t LocalFunction(uint32_t function);
  uint8_t LocalLane(uint8_t lane);
  uint32_t LocalCommunicator(uint16_t communicator);  // index + 1, 0: none
  void LocalizeReport(ProgressReport& report);
  void ResetLocals();

  const NameTables* const names_;
  const uint32_t world_size_;           // peers are below it
  std::vector<FunctionDef> functions_;  // of the process, as far as known here
  std::vector<Lane> lanes_;
  std::vector<Communicator> communicators_;

  std::vector<IntervalRow> intervals_;
  std::vector<Mark> marks_;
  std::vector<ResourceSample> samples_;
  std::vector<ConnectionSample> connections_;  // communicator: as the ring has it, + 1
  std::vector<ProgressReport> reports_;
  size_t next_mark_ = 0;
  size_t next_sample_ = 0;
  size_t next_connection_ = 0;
  uint64_t malformed_ = 0;

  EventBatch batch_;
  std::vector<uint32_t> local_function_;  // by number: index in the batch + 1
  std::vector<uint32_t> chain_;
  std::vector<uint32_t> local_lane_;
  std::vector<uint32_t> local_communicator_;
};

}  // namespace eroica
