// The columns of an EventBatch: intervals, collectives, resource samples and marks. Included by
// *_codec.cc and event_columns.cc only.
#pragma once

#include "event_generated.h"
#include "schemas/wire_reader.h"
#include "schemas/wire_writer.h"

namespace eroica {

// Where the columns lie in the buffer that is being written.
struct EventColumnOffsets {
  int64_t base_time_ns = 0;
  uint32_t interval_count = 0;
  WireWriter::VectorOffset<uint8_t> start, duration, function, lane;
  WireWriter::VectorOffset<uint32_t> collective_interval;
  WireWriter::VectorOffset<uint16_t> collective_communicator;
  WireWriter::VectorOffset<uint8_t> collective_operation;
  WireWriter::VectorOffset<uint64_t> collective_sequence, collective_bytes;
  WireWriter::VectorOffset<int32_t> collective_peer;
  WireWriter::VectorOffset<uint8_t> sample_time, sample_resource, mark_time, mark_kind;
  WireWriter::VectorOffset<uint16_t> sample_value;
  WireWriter::VectorOffset<int64_t> mark_id;
};

// Before the batch's table is started.
EventColumnOffsets WriteEventColumns(const EventBatch& batch, WireWriter& writer);
void AddEventColumns(const EventColumnOffsets& columns, wire::EventBatchBuilder& table);

void ReadEventColumns(const wire::EventBatch& from, WireReader& reader, EventBatch* to);

}  // namespace eroica
