// Communicators, collectives in flight, counts of operations and samples of connections on the
// wire: shared by event and rank standing. Included by *_codec.cc and progress_rows.cc only.
#pragma once

#include <vector>

#include "event_generated.h"
#include "schemas/wire_reader.h"
#include "schemas/wire_writer.h"

namespace eroica {

WireWriter::VectorOffset<flatbuffers::Offset<wire::Communicator>> WriteCommunicators(
    const std::vector<Communicator>& rows, WireWriter& writer);
WireWriter::VectorOffset<const wire::InFlight*> WriteInFlight(
    const std::vector<InFlightCollective>& rows, WireWriter& writer);
// Null where all are on side 0, as in batches from before sides were written.
WireWriter::VectorOffset<uint8_t> WriteSides(const std::vector<InFlightCollective>& rows,
                                             WireWriter& writer);
WireWriter::VectorOffset<const wire::OperationCount*> WriteOperations(
    const std::vector<OperationCount>& rows, WireWriter& writer);
WireWriter::VectorOffset<const wire::ConnectionSample*> WriteConnections(
    const std::vector<ConnectionSample>& rows, WireWriter& writer);

void ReadCommunicators(const flatbuffers::Vector<flatbuffers::Offset<wire::Communicator>>* from,
                       WireReader& reader, std::vector<Communicator>* to);
void ReadInFlight(const flatbuffers::Vector<const wire::InFlight*>* from,
                  const flatbuffers::Vector<uint8_t>* sides, WireReader& reader,
                  std::vector<InFlightCollective>* to);
void ReadOperations(const flatbuffers::Vector<const wire::OperationCount*>* from,
                    WireReader& reader, std::vector<OperationCount>* to);
void ReadConnections(const flatbuffers::Vector<const wire::ConnectionSample*>* from,
                     WireReader& reader, std::vector<ConnectionSample>* to);

}  // namespace eroica
