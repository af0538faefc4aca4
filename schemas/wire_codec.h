// One Write and one Read for each payload type. Included by codec.cc and *_codec.cc only, because
// it brings the headers that flatc generates.
//
// Write: the batch keeps its invariants (invariants.h); it leaves a finished buffer in the writer.
// Read: the payload has passed FlatBuffers' verifier; what is wrong beyond that goes to the reader,
// and the caller checks the invariants of what was read.
#pragma once

#include "collective_generated.h"
#include "collective_summary_generated.h"
#include "control_generated.h"
#include "event_generated.h"
#include "finding_generated.h"
#include "pattern_generated.h"
#include "rank_standing_generated.h"
#include "schemas/codec.h"
#include "schemas/wire_reader.h"
#include "schemas/wire_writer.h"

namespace eroica {

// What FlatBuffers' verifier may meet: room for one table too many of each kind, so that it is the
// limits that refuse it and say why.
inline constexpr flatbuffers::uoffset_t kVerifiedTables = 4 * CodecLimits::kRanks;
inline constexpr flatbuffers::uoffset_t kVerifiedDepth = 8;

void Write(const EventBatch& batch, WireWriter& writer);
void Write(const PatternBatch& batch, WireWriter& writer);
void Write(const CollectiveBatch& batch, WireWriter& writer);
void Write(const CollectiveSummary& summary, WireWriter& writer);
void Write(const Finding& finding, WireWriter& writer);
void Write(const Control& control, WireWriter& writer);
void Write(const RankStanding& standing, WireWriter& writer);

void Read(const wire::EventBatch& from, WireReader& reader, EventBatch* to);
void Read(const wire::PatternBatch& from, WireReader& reader, PatternBatch* to);
void Read(const wire::CollectiveBatch& from, WireReader& reader, CollectiveBatch* to);
void Read(const wire::CollectiveSummary& from, WireReader& reader, CollectiveSummary* to);
void Read(const wire::Finding& from, WireReader& reader, Finding* to);
void Read(const wire::Control& from, WireReader& reader, Control* to);
void Read(const wire::RankStanding& from, WireReader& reader, RankStanding* to);

// Shared by pattern and what diagnose keeps of a job.
flatbuffers::Offset<wire::FunctionPattern> WritePattern(const FunctionPattern& pattern,
                                                        WireWriter& writer);
void ReadPattern(const wire::FunctionPattern& from, WireReader& reader, FunctionPattern* to);

// Shared by pattern, collective and collective summary.
wire::Window WindowToWire(const Window& window);
Window WindowFromWire(const wire::Window* window);  // nullptr: an empty window

}  // namespace eroica
