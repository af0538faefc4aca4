// One batch of a rank as it waits for its windows: intervals under the job's numbers, by start.
// Memory goes round through a pool, because touching fresh memory costs more than everything else
// that is done to an event. Owner: RankWindows; the pool: the processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "schemas/pattern_batch.h"
#include "stream_ops/pattern/interval.h"
#include "stream_ops/summarize/rank_progress.h"

namespace eroica {

// A sample of what a connection carried; its row has no time.
struct HeldConnection {
  int64_t time_ns = 0;
  ConnectionPattern row;
};

struct EventChunk {
  int64_t offset = 0;  // of the record
  ProducerKey producer;
  uint64_t sequence = 0;
  uint64_t events = 0;  // of the batch
  uint64_t lost = 0;    // reported by the producer
  // its losses are accounted for already: it comes again for what of it lies in an open window
  bool settled = false;
  // of anything in the batch; the window that it falls in is the one that settles the batch's
  // losses
  int64_t last_time_ns = 0;
  // the last end of a collective that the rank's advance does not count yet, 0 where there is none
  int64_t uncounted_ns = 0;
  std::vector<Interval> intervals;
  size_t taken = 0;  // the first intervals, by windows already
  std::vector<ResourceSample> samples;
  size_t samples_taken = 0;
  std::vector<HeldConnection> connections;
  size_t connections_taken = 0;
  size_t counted_bytes = 0;  // of it, by the pool

  bool drained() const { return taken == intervals.size(); }
  int64_t next_start_ns() const { return intervals[taken].start_ns; }
};

class EventChunkPool {
 public:
  // Counts what the chunk takes, until it is given back.
  void Hold(EventChunk* chunk) {
    chunk->counted_bytes = Bytes(*chunk) + chunk->connections.capacity() * sizeof(HeldConnection);
    held_bytes_ += chunk->counted_bytes;
  }
  size_t held_bytes() const { return held_bytes_; }
  size_t spare_bytes() const { return spare_bytes_; }
  // Nothing is to come, or somebody else needs the memory.
  void DropSpare() {
    spare_ = {};
    spare_bytes_ = 0;
  }
  EventChunk Take() {
    if (spare_.empty()) return {};
    EventChunk chunk = std::move(spare_.back());
    spare_.pop_back();
    spare_bytes_ -= Bytes(chunk);
    return chunk;
  }
  void Give(EventChunk chunk) {
    held_bytes_ -= chunk.counted_bytes;
    const size_t bytes = Bytes(chunk);
    if (spare_bytes_ + bytes > kMostSpareBytes) return;
    std::vector<Interval> intervals = std::move(chunk.intervals);
    std::vector<ResourceSample> samples = std::move(chunk.samples);
    intervals.clear();
    samples.clear();
    chunk = {};
    chunk.intervals = std::move(intervals);
    chunk.samples = std::move(samples);
    spare_.push_back(std::move(chunk));
    spare_bytes_ += bytes;
  }

 private:
  // What ten thousand ranks of a producer have in hand between two windows. It is needed again in
  // the next one: kept or not, the peak is the same.
  static constexpr size_t kMostSpareBytes = size_t{512} << 20;

  static size_t Bytes(const EventChunk& chunk) {
    return sizeof(EventChunk) + chunk.intervals.capacity() * sizeof(Interval) +
           chunk.samples.capacity() * sizeof(ResourceSample);
  }

  std::vector<EventChunk> spare_;
  size_t spare_bytes_ = 0;
  size_t held_bytes_ = 0;
};

}  // namespace eroica
