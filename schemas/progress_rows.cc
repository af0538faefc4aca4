#include "schemas/progress_rows.h"

#include <algorithm>

namespace eroica {
namespace {

wire::InFlight PackInFlight(const InFlightCollective& row) {
  return {row.sequence, row.bytes,        row.launched_ns,
          row.peer,     row.communicator, static_cast<uint8_t>(row.operation),
          row.started};
}

wire::OperationCount PackOperation(const OperationCount& row) {
  return {row.launched, row.completed, row.peer, row.communicator,
          static_cast<uint8_t>(row.operation)};
}

wire::ConnectionSample PackConnection(const ConnectionSample& row) {
  return {row.time_ns,  row.bytes,
          row.busy_ns,  row.retransmits,
          row.peer,     static_cast<uint8_t>(row.resource),
          row.channels, static_cast<uint16_t>(row.communicator)};
}

}  // namespace

WireWriter::VectorOffset<flatbuffers::Offset<wire::Communicator>> WriteCommunicators(
    const std::vector<Communicator>& rows, WireWriter& writer) {
  return writer.Tables<wire::Communicator>(rows, [&](const Communicator& row) {
    const auto name = writer.Text(row.name);
    const auto description = writer.Text(row.description);
    const auto ranks =
        writer.Scalars<uint32_t>(row.ranks.size(), [&](size_t i) { return row.ranks[i]; });
    return wire::CreateCommunicator(writer.builder(), row.id.value, name, description, ranks,
                                    row.size, static_cast<uint8_t>(row.library));
  });
}

WireWriter::VectorOffset<const wire::InFlight*> WriteInFlight(
    const std::vector<InFlightCollective>& rows, WireWriter& writer) {
  return writer.Structs<wire::InFlight>(rows, PackInFlight);
}

WireWriter::VectorOffset<uint8_t> WriteSides(const std::vector<InFlightCollective>& rows,
                                             WireWriter& writer) {
  const auto on_another = [](const InFlightCollective& row) { return row.side != 0; };
  if (std::ranges::none_of(rows, on_another)) return {};
  return writer.Scalars<uint8_t>(rows.size(), [&](size_t i) { return rows[i].side; });
}

WireWriter::VectorOffset<const wire::OperationCount*> WriteOperations(
    const std::vector<OperationCount>& rows, WireWriter& writer) {
  return writer.Structs<wire::OperationCount>(rows, PackOperation);
}

void ReadCommunicators(const flatbuffers::Vector<flatbuffers::Offset<wire::Communicator>>* from,
                       WireReader& reader, std::vector<Communicator>* to) {
  to->resize(reader.Rows(from, CodecLimits::kCommunicators));
  for (uint32_t i = 0; i < to->size(); ++i) {
    const wire::Communicator& row = *from->Get(i);
    Communicator& communicator = (*to)[i];
    communicator.id = CommId(row.id_hash());
    reader.Text(row.name(), &communicator.name);
    reader.Text(row.description(), &communicator.description);
    communicator.size = row.size();
    // One of a newer program is unknown here, and no reason to refuse the batch.
    communicator.library = row.library() < kCollectiveLibraryCount
                               ? static_cast<CollectiveLibrary>(row.library())
                               : CollectiveLibrary::kUnknown;
    const auto ranks = reader.Scalars(row.ranks(), CodecLimits::kRanks);
    communicator.ranks.assign(ranks.begin(), ranks.end());
  }
}

void ReadInFlight(const flatbuffers::Vector<const wire::InFlight*>* from,
                  const flatbuffers::Vector<uint8_t>* sides, WireReader& reader,
                  std::vector<InFlightCollective>* to) {
  const auto rows = reader.Structs(from, CodecLimits::kIntervals);
  const auto side = reader.Scalars(sides, CodecLimits::kIntervals);
  to->resize(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    (*to)[i] = {.communicator = rows[i].communicator(),
                .operation = static_cast<CollectiveOperation>(rows[i].operation()),
                .started = rows[i].started(),
                .peer = rows[i].peer(),
                .sequence = rows[i].sequence(),
                .bytes = rows[i].bytes(),
                .launched_ns = rows[i].launched_ns(),
                .side = i < side.size() ? side[i] : uint8_t{0}};
  }
}

void ReadOperations(const flatbuffers::Vector<const wire::OperationCount*>* from,
                    WireReader& reader, std::vector<OperationCount>* to) {
  const auto rows = reader.Structs(from, CodecLimits::kIntervals);
  to->resize(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    (*to)[i] = {.communicator = rows[i].communicator(),
                .operation = static_cast<CollectiveOperation>(rows[i].operation()),
                .peer = rows[i].peer(),
                .launched = rows[i].launched(),
                .completed = rows[i].completed()};
  }
}

WireWriter::VectorOffset<const wire::ConnectionSample*> WriteConnections(
    const std::vector<ConnectionSample>& rows, WireWriter& writer) {
  return writer.Structs<wire::ConnectionSample>(rows, PackConnection);
}

void ReadConnections(const flatbuffers::Vector<const wire::ConnectionSample*>* from,
                     WireReader& reader, std::vector<ConnectionSample>* to) {
  const auto rows = reader.Structs(from, CodecLimits::kConnections);
  to->resize(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const wire::ConnectionSample& row = rows[i];
    (*to)[i] = {.time_ns = row.time_ns(),
                .peer = row.peer(),
                .resource = static_cast<Resource>(row.resource()),
                .bytes = row.bytes(),
                .busy_ns = row.busy_ns(),
                .retransmits = row.retransmits(),
                .channels = row.channels(),
                .communicator = row.communicator()};
  }
}

}  // namespace eroica
