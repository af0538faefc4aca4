#include "schemas/event_columns.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "schemas/exact_division.h"
#include "schemas/time_column.h"

namespace eroica {
namespace {

constexpr float kSampleSteps = 65535;

// The time from which all deltas count: that of the first interval, sample or mark.
int64_t BaseTime(const EventBatch& batch) {
  int64_t base = std::numeric_limits<int64_t>::max();
  if (batch.intervals.size() > 0) base = std::min(base, batch.intervals.start_ns.front());
  if (!batch.samples.empty()) base = std::min(base, batch.samples.front().time_ns);
  if (!batch.marks.empty()) base = std::min(base, batch.marks.front().time_ns);
  return base == std::numeric_limits<int64_t>::max() ? 0 : base;
}

// A column of the differences between `count` times, in units of the batch.
template <typename F>
WireWriter::VectorOffset<uint8_t> WriteTimes(size_t count, int64_t base, ExactDivision& unit,
                                             WireWriter& writer, F time) {
  int64_t previous = base;
  return writer.Varints(count, [&](size_t i) {
    const int64_t now = time(i);
    const auto delta = static_cast<uint64_t>(now - previous);
    previous = now;
    return unit(delta);
  });
}

void WriteIntervals(const IntervalColumns& rows, int64_t base, ExactDivision& unit,
                    WireWriter& writer, EventColumnOffsets* out) {
  const size_t count = rows.size();
  out->start = WriteTimes(count, base, unit, writer, [&](size_t i) { return rows.start_ns[i]; });
  out->duration = writer.Varints(
      count, [&](size_t i) { return unit(static_cast<uint64_t>(rows.duration_ns[i])); });
  out->function = writer.Varints(count, [&](size_t i) { return uint64_t{rows.function[i]}; });
  out->lane = writer.Scalars<uint8_t>(count, [&](size_t i) { return rows.lane[i]; });
}

void WriteCollectives(const std::vector<Collective>& rows, WireWriter& writer,
                      EventColumnOffsets* out) {
  const size_t count = rows.size();
  out->collective_interval =
      writer.Scalars<uint32_t>(count, [&](size_t i) { return rows[i].interval; });
  out->collective_communicator =
      writer.Scalars<uint16_t>(count, [&](size_t i) { return rows[i].communicator; });
  out->collective_operation =
      writer.Scalars<uint8_t>(count, [&](size_t i) { return rows[i].operation; });
  out->collective_sequence =
      writer.Scalars<uint64_t>(count, [&](size_t i) { return rows[i].sequence; });
  out->collective_bytes = writer.Scalars<uint64_t>(count, [&](size_t i) { return rows[i].bytes; });
  out->collective_peer = writer.Scalars<int32_t>(count, [&](size_t i) { return rows[i].peer; });
}

void WriteSamples(const std::vector<ResourceSample>& rows, int64_t base, ExactDivision& unit,
                  WireWriter& writer, EventColumnOffsets* out) {
  const size_t count = rows.size();
  out->sample_time =
      WriteTimes(count, base, unit, writer, [&](size_t i) { return rows[i].time_ns; });
  out->sample_resource = writer.Scalars<uint8_t>(count, [&](size_t i) { return rows[i].resource; });
  out->sample_value = writer.Scalars<uint16_t>(count, [&](size_t i) {
    return std::lround(std::clamp(rows[i].value, 0.0f, 1.0f) * kSampleSteps);
  });
}

void WriteMarks(const std::vector<Mark>& rows, int64_t base, ExactDivision& unit,
                WireWriter& writer, EventColumnOffsets* out) {
  const size_t count = rows.size();
  out->mark_time = WriteTimes(count, base, unit, writer, [&](size_t i) { return rows[i].time_ns; });
  out->mark_kind = writer.Scalars<uint8_t>(count, [&](size_t i) { return rows[i].kind; });
  out->mark_id = writer.Scalars<int64_t>(count, [&](size_t i) { return rows[i].id; });
}

// Times and durations are read where they will stay: the signed and the unsigned type of one width
// may share memory.
std::span<uint64_t> AsUnsigned(std::vector<int64_t>& column) {
  return {reinterpret_cast<uint64_t*>(column.data()), column.size()};
}

void ReadIntervals(const wire::EventBatch& from, WireReader& reader, IntervalColumns* to) {
  const auto lane = reader.Scalars(from.interval_lane(), CodecLimits::kIntervals);
  const uint32_t count = from.interval_count();
  if (!reader.SameLength(lane.size(), count)) return;
  to->lane.assign(lane.begin(), lane.end());
  to->start_ns.resize(count);
  to->duration_ns.resize(count);
  to->function.resize(count);
  if (!reader.Varints(from.interval_start_delta(), AsUnsigned(to->start_ns))) return;
  reader.Fail(SumTimes(from.base_time_ns(), from.time_unit_ns(), AsUnsigned(to->start_ns)));
  if (!reader.Varints(from.interval_duration(), AsUnsigned(to->duration_ns))) return;
  reader.Fail(ScaleDurations(from.time_unit_ns(), AsUnsigned(to->duration_ns)));
  reader.Varints(from.interval_function(), std::span(to->function));
}

void ReadCollectives(const wire::EventBatch& from, WireReader& reader,
                     std::vector<Collective>* to) {
  const auto interval = reader.Scalars(from.collective_interval(), CodecLimits::kIntervals);
  const auto communicator = reader.Scalars(from.collective_communicator(), CodecLimits::kIntervals);
  const auto operation = reader.Scalars(from.collective_operation(), CodecLimits::kIntervals);
  const auto sequence = reader.Scalars(from.collective_sequence(), CodecLimits::kIntervals);
  const auto bytes = reader.Scalars(from.collective_bytes(), CodecLimits::kIntervals);
  const auto peer = reader.Scalars(from.collective_peer(), CodecLimits::kIntervals);
  const size_t count = interval.size();
  for (const size_t size :
       {communicator.size(), operation.size(), sequence.size(), bytes.size(), peer.size()}) {
    if (!reader.SameLength(size, count)) return;
  }
  to->resize(count);
  for (size_t i = 0; i < count; ++i) {
    (*to)[i] = {.interval = interval[i],
                .communicator = communicator[i],
                .operation = static_cast<CollectiveOperation>(operation[i]),
                .peer = peer[i],
                .sequence = sequence[i],
                .bytes = bytes[i]};
  }
}

// Fills scratch with the times of `count` rows.
bool ReadTimes(const wire::EventBatch& from, const flatbuffers::Vector<uint8_t>* column,
               size_t count, WireReader& reader, std::vector<uint64_t>* scratch) {
  scratch->resize(count);
  if (!reader.Varints(column, std::span(*scratch))) return false;
  reader.Fail(SumTimes(from.base_time_ns(), from.time_unit_ns(), *scratch));
  return reader.ok();
}

void ReadSamples(const wire::EventBatch& from, WireReader& reader,
                 std::vector<ResourceSample>* to) {
  std::vector<uint64_t> times;
  const auto resource = reader.Scalars(from.sample_resource(), CodecLimits::kIntervals);
  const auto value = reader.Scalars(from.sample_value(), CodecLimits::kIntervals);
  if (!reader.SameLength(resource.size(), value.size())) return;
  if (!ReadTimes(from, from.sample_time_delta(), resource.size(), reader, &times)) return;
  to->resize(resource.size());
  for (size_t i = 0; i < resource.size(); ++i) {
    (*to)[i] = {static_cast<int64_t>(times[i]), static_cast<Resource>(resource[i]),
                static_cast<float>(value[i]) / kSampleSteps};
  }
}

void ReadMarks(const wire::EventBatch& from, WireReader& reader, std::vector<Mark>* to) {
  std::vector<uint64_t> times;
  const auto kind = reader.Scalars(from.mark_kind(), CodecLimits::kIntervals);
  const auto id = reader.Scalars(from.mark_id(), CodecLimits::kIntervals);
  if (!reader.SameLength(kind.size(), id.size())) return;
  if (!ReadTimes(from, from.mark_time_delta(), kind.size(), reader, &times)) return;
  to->resize(kind.size());
  for (size_t i = 0; i < kind.size(); ++i)
    (*to)[i] = {static_cast<int64_t>(times[i]), static_cast<MarkKind>(kind[i]), id[i]};
}

}  // namespace

EventColumnOffsets WriteEventColumns(const EventBatch& batch, WireWriter& writer) {
  EventColumnOffsets out;
  ExactDivision unit(batch.time_unit_ns);
  out.base_time_ns = BaseTime(batch);
  out.interval_count = static_cast<uint32_t>(batch.intervals.size());
  WriteIntervals(batch.intervals, out.base_time_ns, unit, writer, &out);
  WriteCollectives(batch.collectives, writer, &out);
  WriteSamples(batch.samples, out.base_time_ns, unit, writer, &out);
  WriteMarks(batch.marks, out.base_time_ns, unit, writer, &out);
  if (!unit.exact()) writer.NoteInexactTime();
  return out;
}

void AddEventColumns(const EventColumnOffsets& columns, wire::EventBatchBuilder& table) {
  table.add_base_time_ns(columns.base_time_ns);
  table.add_interval_count(columns.interval_count);
  table.add_interval_start_delta(columns.start);
  table.add_interval_duration(columns.duration);
  table.add_interval_function(columns.function);
  table.add_interval_lane(columns.lane);
  table.add_collective_interval(columns.collective_interval);
  table.add_collective_communicator(columns.collective_communicator);
  table.add_collective_operation(columns.collective_operation);
  table.add_collective_sequence(columns.collective_sequence);
  table.add_collective_bytes(columns.collective_bytes);
  table.add_collective_peer(columns.collective_peer);
  table.add_sample_time_delta(columns.sample_time);
  table.add_sample_resource(columns.sample_resource);
  table.add_sample_value(columns.sample_value);
  table.add_mark_kind(columns.mark_kind);
  table.add_mark_time_delta(columns.mark_time);
  table.add_mark_id(columns.mark_id);
}

void ReadEventColumns(const wire::EventBatch& from, WireReader& reader, EventBatch* to) {
  ReadIntervals(from, reader, &to->intervals);
  ReadCollectives(from, reader, &to->collectives);
  ReadSamples(from, reader, &to->samples);
  ReadMarks(from, reader, &to->marks);
}

}  // namespace eroica
