#include "schemas/wire_codec.h"

namespace eroica {
namespace {

using Records = std::vector<CollectiveRecord>;

struct RecordOffsets {
  WireWriter::VectorOffset<uint8_t> operation, sequence, step, duration, exposed, gap, bytes,
      before, before_ns;
  WireWriter::VectorOffset<int32_t> peer;
};

// The difference to the previous row; sequence numbers and steps mostly grow by little.
template <typename T>
uint64_t Delta(const Records& records, size_t i, T CollectiveRecord::*field) {
  const auto previous = i == 0 ? uint64_t{0} : static_cast<uint64_t>(records[i - 1].*field);
  return ZigZag(static_cast<int64_t>(static_cast<uint64_t>(records[i].*field) - previous));
}

RecordOffsets WriteRecords(const Records& records, WireWriter& writer) {
  const size_t count = records.size();
  const auto varints = [&](auto CollectiveRecord::*field) {
    return writer.Varints(count,
                          [&](size_t i) { return static_cast<uint64_t>(records[i].*field); });
  };
  bool peers = false;
  for (const CollectiveRecord& record : records) peers |= record.peer != -1;
  RecordOffsets offsets;
  offsets.operation =
      writer.Scalars<uint8_t>(count, [&](size_t i) { return records[i].operation; });
  offsets.sequence = writer.Varints(
      count, [&](size_t i) { return Delta(records, i, &CollectiveRecord::sequence); });
  if (peers)
    offsets.peer = writer.Scalars<int32_t>(count, [&](size_t i) { return records[i].peer; });
  offsets.step =
      writer.Varints(count, [&](size_t i) { return Delta(records, i, &CollectiveRecord::step); });
  offsets.duration = varints(&CollectiveRecord::duration_ns);
  offsets.exposed = varints(&CollectiveRecord::exposed_ns);
  offsets.gap = varints(&CollectiveRecord::gap_ns);
  offsets.bytes = varints(&CollectiveRecord::bytes);
  offsets.before = varints(&CollectiveRecord::before);
  offsets.before_ns = varints(&CollectiveRecord::before_ns);
  return offsets;
}

// Reads one varint column into one field of all records. Times beyond 63 bits come out negative,
// which the invariants refuse.
template <typename T>
void ReadColumn(const flatbuffers::Vector<uint8_t>* column, WireReader& reader, Records* to,
                T CollectiveRecord::*field, std::vector<uint64_t>* scratch) {
  scratch->resize(to->size());
  if (!reader.Varints(column, std::span(*scratch))) return;
  for (size_t i = 0; i < to->size(); ++i) (*to)[i].*field = static_cast<T>((*scratch)[i]);
}

template <typename T>
void ReadDeltaColumn(const flatbuffers::Vector<uint8_t>* column, WireReader& reader, Records* to,
                     T CollectiveRecord::*field, std::vector<uint64_t>* scratch) {
  scratch->resize(to->size());
  if (!reader.Varints(column, std::span(*scratch))) return;
  uint64_t value = 0;
  for (size_t i = 0; i < to->size(); ++i) {
    value += static_cast<uint64_t>(UnZigZag((*scratch)[i]));
    (*to)[i].*field = static_cast<T>(value);
  }
}

void ReadRecords(const wire::CollectiveBatch& from, WireReader& reader, Records* to) {
  to->clear();
  const uint32_t count = from.count();
  const auto operation = reader.Scalars(from.operation(), CodecLimits::kRecords);
  const auto peer = reader.Scalars(from.peer(), CodecLimits::kRecords);
  if (!reader.SameLength(operation.size(), count) ||
      (!peer.empty() && !reader.SameLength(peer.size(), count)))
    return;
  to->resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    (*to)[i].operation = static_cast<CollectiveOperation>(operation[i]);
    (*to)[i].peer = peer.empty() ? -1 : peer[i];
  }
  std::vector<uint64_t> scratch;
  ReadDeltaColumn(from.sequence(), reader, to, &CollectiveRecord::sequence, &scratch);
  ReadDeltaColumn(from.step(), reader, to, &CollectiveRecord::step, &scratch);
  ReadColumn(from.duration_ns(), reader, to, &CollectiveRecord::duration_ns, &scratch);
  ReadColumn(from.exposed_ns(), reader, to, &CollectiveRecord::exposed_ns, &scratch);
  ReadColumn(from.gap_ns(), reader, to, &CollectiveRecord::gap_ns, &scratch);
  ReadColumn(from.bytes(), reader, to, &CollectiveRecord::bytes, &scratch);
  std::vector<uint32_t> before(count);
  if (reader.Varints(from.before(), std::span(before))) {
    for (uint32_t i = 0; i < count; ++i) (*to)[i].before = before[i];
  }
  ReadColumn(from.before_ns(), reader, to, &CollectiveRecord::before_ns, &scratch);
}

}  // namespace

void Write(const CollectiveBatch& batch, WireWriter& writer) {
  const auto job = writer.Text(batch.job.value);
  const auto name = writer.Text(batch.communicator.name);
  const auto description = writer.Text(batch.communicator.description);
  const std::vector<uint32_t>& ranks = batch.communicator.ranks;
  const auto members = writer.Scalars<uint32_t>(ranks.size(), [&](size_t i) { return ranks[i]; });
  const auto predecessors =
      writer.Tables<wire::Predecessor>(batch.predecessors, [&](const Predecessor& row) {
        const auto row_name = writer.Text(row.name);
        const auto row_stack = writer.Text(row.stack, CodecLimits::kTextBytes);
        return wire::CreatePredecessor(writer.builder(), row.function.value, row_name, row_stack);
      });
  const RecordOffsets columns = WriteRecords(batch.records, writer);
  const wire::Window window = WindowToWire(batch.window);

  wire::CollectiveBatchBuilder table(writer.builder());
  table.add_job(job);
  table.add_rank(batch.rank.value);
  table.add_world_size(batch.world_size);
  table.add_communicator(batch.communicator.id.value);
  table.add_communicator_name(name);
  table.add_communicator_description(description);
  table.add_members(members);
  table.add_size(batch.communicator.size);
  table.add_window(&window);
  table.add_final(batch.final);
  table.add_predecessors(predecessors);
  table.add_count(static_cast<uint32_t>(batch.records.size()));
  table.add_operation(columns.operation);
  table.add_sequence(columns.sequence);
  table.add_peer(columns.peer);
  table.add_step(columns.step);
  table.add_duration_ns(columns.duration);
  table.add_exposed_ns(columns.exposed);
  table.add_gap_ns(columns.gap);
  table.add_bytes(columns.bytes);
  table.add_before(columns.before);
  table.add_before_ns(columns.before_ns);
  wire::FinishCollectiveBatchBuffer(writer.builder(), table.Finish());
}

void Read(const wire::CollectiveBatch& from, WireReader& reader, CollectiveBatch* to) {
  reader.Text(from.job(), &to->job.value);
  to->rank = RankId(from.rank());
  to->world_size = from.world_size();
  to->communicator.id = CommId(from.communicator());
  reader.Text(from.communicator_name(), &to->communicator.name);
  reader.Text(from.communicator_description(), &to->communicator.description);
  const auto members = reader.Scalars(from.members(), CodecLimits::kRanks);
  to->communicator.ranks.assign(members.begin(), members.end());
  to->communicator.size = from.size();
  to->window = WindowFromWire(from.window());
  to->final = from.final();
  to->predecessors.resize(reader.Rows(from.predecessors(), CodecLimits::kPatterns));
  for (uint32_t i = 0; i < to->predecessors.size(); ++i) {
    const wire::Predecessor& row = *from.predecessors()->Get(i);
    to->predecessors[i].function = FunctionId(row.function_hash());
    reader.Text(row.name(), &to->predecessors[i].name);
    reader.Text(row.stack(), &to->predecessors[i].stack, CodecLimits::kTextBytes);
  }
  ReadRecords(from, reader, &to->records);
}

}  // namespace eroica
