#include "schemas/event_columns.h"
#include "schemas/progress_rows.h"
#include "schemas/wire_codec.h"

namespace eroica {
namespace {

struct EventTableOffsets {
  WireWriter::VectorOffset<flatbuffers::Offset<wire::Function>> functions;
  WireWriter::VectorOffset<flatbuffers::Offset<wire::Lane>> lanes;
  WireWriter::VectorOffset<flatbuffers::Offset<wire::Communicator>> communicators;
  WireWriter::VectorOffset<const wire::LossEntry*> losses;
  WireWriter::VectorOffset<flatbuffers::Offset<wire::ProgressReport>> progress;
  WireWriter::VectorOffset<const wire::ConnectionSample*> connections;
};

struct IdentityOffsets {
  flatbuffers::Offset<flatbuffers::String> job, role, host, producer, producer_version;
};

wire::LossEntry PackLoss(const LossEntry& loss) {
  return {loss.count, static_cast<uint8_t>(loss.kind), static_cast<uint8_t>(loss.reason)};
}

EventTableOffsets WriteTables(const EventBatch& batch, WireWriter& writer) {
  EventTableOffsets out;
  flatbuffers::FlatBufferBuilder& builder = writer.builder();
  out.functions = writer.Tables<wire::Function>(batch.functions, [&](const FunctionDef& row) {
    const auto name = writer.Text(row.name);
    return wire::CreateFunction(builder, name, static_cast<uint8_t>(row.function_class),
                                static_cast<uint8_t>(row.wait), row.parent);
  });
  out.lanes = writer.Tables<wire::Lane>(batch.lanes, [&](const Lane& row) {
    return wire::CreateLane(builder, writer.Text(row.name), static_cast<uint8_t>(row.kind));
  });
  out.communicators = WriteCommunicators(batch.communicators, writer);
  out.losses = writer.Structs<wire::LossEntry>(batch.losses, PackLoss);
  out.progress =
      writer.Tables<wire::ProgressReport>(batch.progress, [&](const ProgressReport& row) {
        const auto in_flight = WriteInFlight(row.in_flight, writer);
        const auto operations = WriteOperations(row.operations, writer);
        const auto sides = WriteSides(row.in_flight, writer);
        return wire::CreateProgressReport(builder, row.time_ns, row.step, row.function, in_flight,
                                          operations, row.timed_out, row.collectives_suspended,
                                          row.starts_unknown, sides, row.moment_unknown);
      });
  out.connections = WriteConnections(batch.connections, writer);
  return out;
}

IdentityOffsets WriteTexts(const ProducerIdentity& identity, WireWriter& writer) {
  return {.job = writer.Text(identity.job.value),
          .role = writer.Text(identity.role),
          .host = writer.Text(identity.host),
          .producer = writer.Text(identity.producer),
          .producer_version = writer.Text(identity.producer_version)};
}

void AddIdentity(const ProducerIdentity& identity, const IdentityOffsets& texts,
                 wire::EventBatchBuilder& table) {
  table.add_job(texts.job);
  table.add_rank(identity.rank.value);
  table.add_world_size(identity.world_size);
  table.add_role(texts.role);
  table.add_host(texts.host);
  table.add_pid(identity.pid);
  table.add_device(identity.device);
  table.add_producer(texts.producer);
  table.add_producer_version(texts.producer_version);
  table.add_window_steps(identity.window_steps);
  table.add_window_offset(identity.window_offset);
  table.add_host_only(identity.host_only);
  table.add_started_ns(identity.started_ns);
}

void ReadIdentity(const wire::EventBatch& from, WireReader& reader, ProducerIdentity* to) {
  reader.Text(from.job(), &to->job.value);
  to->rank = RankId(from.rank());
  to->world_size = from.world_size();
  reader.Text(from.role(), &to->role);
  reader.Text(from.host(), &to->host);
  to->pid = from.pid();
  to->device = from.device();
  reader.Text(from.producer(), &to->producer);
  reader.Text(from.producer_version(), &to->producer_version);
  to->host_only = from.host_only();
  to->window_steps = from.window_steps();
  to->window_offset = from.window_offset();
  to->started_ns = from.started_ns();
}

void ReadTables(const wire::EventBatch& from, WireReader& reader, EventBatch* to) {
  to->functions.resize(reader.Rows(from.functions(), CodecLimits::kFunctions));
  for (uint32_t i = 0; i < to->functions.size(); ++i) {
    const wire::Function& row = *from.functions()->Get(i);
    FunctionDef& function = to->functions[i];
    reader.Text(row.name(), &function.name);
    function.function_class = static_cast<FunctionClass>(row.function_class());
    function.wait = static_cast<WaitKind>(row.wait());
    function.parent = row.parent();
  }
  to->lanes.resize(reader.Rows(from.lanes(), CodecLimits::kLanes));
  for (uint32_t i = 0; i < to->lanes.size(); ++i) {
    const wire::Lane& row = *from.lanes()->Get(i);
    reader.Text(row.name(), &to->lanes[i].name);
    to->lanes[i].kind = static_cast<LaneKind>(row.kind());
  }
  ReadCommunicators(from.communicators(), reader, &to->communicators);
  const auto losses = reader.Structs(from.losses(), CodecLimits::kLosses);
  to->losses.resize(losses.size());
  for (size_t i = 0; i < losses.size(); ++i) {
    to->losses[i] = {static_cast<EventKind>(losses[i].kind()),
                     static_cast<DropReason>(losses[i].reason()), losses[i].count()};
  }
}

void ReadProgress(const wire::EventBatch& from, WireReader& reader,
                  std::vector<ProgressReport>* to) {
  to->resize(reader.Rows(from.progress(), CodecLimits::kReports));
  for (uint32_t i = 0; i < to->size(); ++i) {
    const wire::ProgressReport& row = *from.progress()->Get(i);
    ProgressReport& report = (*to)[i];
    report.time_ns = row.time_ns();
    report.step = row.step();
    report.function = row.function();
    ReadInFlight(row.in_flight(), row.in_flight_side(), reader, &report.in_flight);
    ReadOperations(row.operations(), reader, &report.operations);
    report.timed_out = row.timed_out();
    report.collectives_suspended = row.collectives_suspended();
    report.starts_unknown = row.starts_unknown();
    report.moment_unknown = row.moment_unknown();
  }
}

}  // namespace

void Write(const EventBatch& batch, WireWriter& writer) {
  const IdentityOffsets texts = WriteTexts(batch.identity, writer);
  const EventTableOffsets tables = WriteTables(batch, writer);
  const EventColumnOffsets columns = WriteEventColumns(batch, writer);
  const wire::ClockSnapshot clock(batch.clock.realtime_ns, batch.clock.monotonic_ns,
                                  batch.clock.device_ns);

  wire::EventBatchBuilder table(writer.builder());
  AddIdentity(batch.identity, texts, table);
  table.add_sequence(batch.sequence);
  table.add_final(batch.final);
  table.add_clock(&clock);
  table.add_functions(tables.functions);
  table.add_lanes(tables.lanes);
  table.add_communicators(tables.communicators);
  table.add_losses(tables.losses);
  table.add_progress(tables.progress);
  table.add_connections(tables.connections);
  table.add_time_unit_ns(batch.time_unit_ns);
  AddEventColumns(columns, table);
  wire::FinishEventBatchBuffer(writer.builder(), table.Finish());
}

void Read(const wire::EventBatch& from, WireReader& reader, EventBatch* to) {
  ReadIdentity(from, reader, &to->identity);
  to->sequence = from.sequence();
  to->final = from.final();
  to->clock = {};
  if (from.clock() != nullptr)
    to->clock = {from.clock()->realtime_ns(), from.clock()->monotonic_ns(),
                 from.clock()->device_ns()};
  to->time_unit_ns = from.time_unit_ns();
  ReadTables(from, reader, to);
  ReadEventColumns(from, reader, to);
  ReadProgress(from, reader, &to->progress);
  ReadConnections(from.connections(), reader, &to->connections);
}

}  // namespace eroica
