#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "diagnosis_state_generated.h"
#include "schemas/aligned_copy.h"
#include "schemas/diagnosis_state.h"
#include "schemas/wire_codec.h"

namespace eroica {
namespace {

// Roles are listed rank by rank: longer than any name.
constexpr size_t kRolesBytes = CodecLimits::kPayloadBytes;

std::string BytesOf(const flatbuffers::FlatBufferBuilder& builder) {
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

flatbuffers::Offset<wire::ClaimRecord> WriteRecord(const ClaimRecord& record, WireWriter& writer) {
  const auto ranks =
      writer.Scalars<int32_t>(record.ranks.size(), [&](size_t i) { return record.ranks[i]; });
  const auto function = writer.Text(record.function, CodecLimits::kTextBytes);
  wire::ClaimRecordBuilder table(writer.builder());
  table.add_window(record.window);
  table.add_kind(static_cast<uint8_t>(record.kind));
  table.add_first_step(record.first_step);
  table.add_slow_steps(record.slow_steps);
  table.add_steps(record.steps);
  table.add_share(record.share);
  table.add_least_windows(record.least_windows);
  table.add_ripe(record.ripe);
  table.add_far_off(record.far_off);
  table.add_accident(record.accident);
  table.add_roams(record.roams);
  table.add_ranks(ranks);
  table.add_function(function);
  table.add_first_seen_ns(record.first_seen_ns);
  table.add_duration_ns(record.duration_ns);
  return table.Finish();
}

flatbuffers::Offset<wire::ClaimMemory> WriteMemory(const ClaimMemoryState& memory,
                                                   WireWriter& writer) {
  const auto unrest =
      writer.Scalars<int64_t>(memory.unrest.size(), [&](size_t i) { return memory.unrest[i]; });
  const auto records = writer.Tables<wire::ClaimRecord>(
      memory.records, [&](const ClaimRecord& record) { return WriteRecord(record, writer); });
  return wire::CreateClaimMemory(writer.builder(), memory.first_window, memory.asked, unrest,
                                 records);
}

WireWriter::VectorOffset<flatbuffers::Offset<wire::FindingCount>> WriteCounts(
    const std::map<std::string, int64_t>& counts, WireWriter& writer) {
  const std::vector<std::pair<std::string, int64_t>> rows(counts.begin(), counts.end());
  return writer.Tables<wire::FindingCount>(rows, [&](const auto& row) {
    const auto finding = writer.Text(row.first);
    return wire::CreateFindingCount(writer.builder(), finding, row.second);
  });
}

void ReadRecord(const wire::ClaimRecord& from, WireReader& reader, ClaimRecord* to) {
  to->window = from.window();
  if (from.kind() >= kFindingKindCount) return reader.Fail(DropReason::kEnumOutOfRange);
  to->kind = static_cast<FindingKind>(from.kind());
  to->first_step = from.first_step();
  to->slow_steps = from.slow_steps();
  to->steps = from.steps();
  to->share = from.share();
  to->least_windows = from.least_windows();
  to->ripe = from.ripe();
  to->far_off = from.far_off();
  to->accident = from.accident();
  to->roams = from.roams();
  const auto ranks = reader.Scalars(from.ranks(), CodecLimits::kRanks);
  to->ranks.assign(ranks.begin(), ranks.end());
  reader.Text(from.function(), &to->function, CodecLimits::kTextBytes);
  to->first_seen_ns = from.first_seen_ns();
  to->duration_ns = from.duration_ns();
}

flatbuffers::Offset<wire::TelemetryGap> WriteGap(const TelemetryGap& gap, WireWriter& writer) {
  const auto host = writer.Text(gap.host);
  return wire::CreateTelemetryGap(writer.builder(), gap.rank, gap.unseen, gap.runs, gap.since,
                                  gap.heard, host);
}

void ReadGap(const wire::TelemetryGap& from, WireReader& reader, TelemetryGap* to) {
  to->rank = from.rank();
  to->unseen = from.unseen();
  to->runs = from.runs();
  to->since = from.since();
  to->heard = from.heard();
  reader.Text(from.host(), &to->host);
}

WireWriter::VectorOffset<uint32_t> WriteRanks(const std::vector<uint32_t>& ranks,
                                              WireWriter& writer) {
  return writer.Scalars<uint32_t>(ranks.size(), [&](size_t i) { return ranks[i]; });
}

void ReadRanks(const flatbuffers::Vector<uint32_t>* from, WireReader& reader,
               std::vector<uint32_t>* to) {
  const auto ranks = reader.Scalars(from, CodecLimits::kRanks);
  to->assign(ranks.begin(), ranks.end());
}

void Read(const wire::RankTimes& from, WireReader& reader, RankTimes* to) {
  to->window = WindowFromWire(from.window());
  to->world_size = from.world_size();
  const auto rank = reader.Scalars(from.rank(), CodecLimits::kRanks);
  const auto busy_ns = reader.Scalars(from.busy_ns(), CodecLimits::kRanks);
  const auto wait_ns = reader.Scalars(from.wait_ns(), CodecLimits::kRanks);
  if (!reader.SameLength(rank.size(), busy_ns.size()) ||
      !reader.SameLength(rank.size(), wait_ns.size()))
    return;
  if (!std::ranges::is_sorted(rank)) return reader.Fail(DropReason::kNotInOrder);
  to->rows.resize(rank.size());
  for (size_t i = 0; i < rank.size(); ++i) to->rows[i] = {rank[i], busy_ns[i], wait_ns[i]};
  reader.Text(from.roles(), &to->roles, kRolesBytes);
  to->processes = from.processes();
  to->device_calls.resize(reader.Rows(from.device_calls(), CodecLimits::kPatterns));
  for (size_t i = 0; i < to->device_calls.size(); ++i)
    ReadPattern(*from.device_calls()->Get(static_cast<uint32_t>(i)), reader, &to->device_calls[i]);
}

void Read(const wire::ClaimMemory& from, WireReader& reader, ClaimMemoryState* to) {
  to->first_window = from.first_window();
  to->asked = from.asked();
  const auto unrest = reader.Scalars(from.unrest(), kFindingKindCount);
  to->unrest.fill(0);
  std::ranges::copy(unrest, to->unrest.begin());
  to->records.resize(reader.Rows(from.records(), CodecLimits::kPatterns));
  for (size_t i = 0; i < to->records.size(); ++i)
    ReadRecord(*from.records()->Get(static_cast<uint32_t>(i)), reader, &to->records[i]);
}

using Counts = flatbuffers::Vector<flatbuffers::Offset<wire::FindingCount>>;

void ReadCounts(const Counts* from, WireReader& reader, std::map<std::string, int64_t>* to) {
  to->clear();
  const uint32_t rows = reader.Rows(from, CodecLimits::kPatterns);
  for (uint32_t i = 0; i < rows; ++i) {
    std::string finding;
    reader.Text(from->Get(i)->finding(), &finding);
    (*to)[std::move(finding)] = from->Get(i)->count();
  }
}

void Read(const wire::Ledger& from, WireReader& reader, LedgerState* to) {
  if (from.memory() == nullptr) return reader.Fail(DropReason::kVerifierFailed);
  Read(*from.memory(), reader, &to->memory);
  ReadCounts(from.shown_otherwise(), reader, &to->shown_otherwise);
  ReadCounts(from.lasting_part(), reader, &to->lasting_part);
}

void Read(const wire::TelemetryGaps& from, WireReader& reader, TelemetryGapsState* to) {
  to->steps = from.steps();
  to->gaps.resize(reader.Rows(from.gaps(), CodecLimits::kRanks));
  for (size_t i = 0; i < to->gaps.size(); ++i)
    ReadGap(*from.gaps()->Get(static_cast<uint32_t>(i)), reader, &to->gaps[i]);
  ReadRanks(from.heard(), reader, &to->heard);
  ReadRanks(from.ended(), reader, &to->ended);
}

// table_of: which of the row's tables T is in.
template <typename T, typename TableOf>
bool Decode(std::string_view bytes, TableOf table_of, T* out) {
  AlignedCopy copy;
  const std::span<const uint8_t> aligned = copy.Assign(std::as_bytes(std::span(bytes)));
  flatbuffers::Verifier verifier(aligned.data(), aligned.size(), kVerifiedDepth, kVerifiedTables);
  if (!wire::VerifyDiagnosisStateBuffer(verifier)) return false;
  const auto* const table = table_of(*wire::GetDiagnosisState(aligned.data()));
  if (table == nullptr) return false;
  WireReader reader;
  Read(*table, reader, out);
  return reader.ok();
}

}  // namespace

std::string EncodeState(const RankTimes& times) {
  WireWriter writer;
  const auto& rows = times.rows;
  const auto rank = writer.Scalars<uint32_t>(rows.size(), [&](size_t i) { return rows[i].rank; });
  const auto busy_ns =
      writer.Scalars<float>(rows.size(), [&](size_t i) { return rows[i].busy_ns; });
  const auto wait_ns =
      writer.Scalars<float>(rows.size(), [&](size_t i) { return rows[i].wait_ns; });
  const auto roles = writer.Text(times.roles, kRolesBytes);
  const auto device_calls = writer.Tables<wire::FunctionPattern>(
      times.device_calls,
      [&](const FunctionPattern& pattern) { return WritePattern(pattern, writer); });
  const wire::Window window = WindowToWire(times.window);
  const auto table = wire::CreateRankTimes(writer.builder(), &window, times.world_size, rank,
                                           busy_ns, wait_ns, roles, times.processes, device_calls);
  wire::FinishDiagnosisStateBuffer(writer.builder(),
                                   wire::CreateDiagnosisState(writer.builder(), table));
  return BytesOf(writer.builder());
}

std::string EncodeState(const LedgerState& ledger) {
  WireWriter writer;
  const auto memory = WriteMemory(ledger.memory, writer);
  const auto shown_otherwise = WriteCounts(ledger.shown_otherwise, writer);
  const auto lasting_part = WriteCounts(ledger.lasting_part, writer);
  const auto table = wire::CreateLedger(writer.builder(), memory, shown_otherwise, lasting_part);
  wire::FinishDiagnosisStateBuffer(writer.builder(),
                                   wire::CreateDiagnosisState(writer.builder(), 0, table));
  return BytesOf(writer.builder());
}

std::string EncodeState(const TelemetryGapsState& gaps) {
  WireWriter writer;
  const auto missing = writer.Tables<wire::TelemetryGap>(
      gaps.gaps, [&](const TelemetryGap& gap) { return WriteGap(gap, writer); });
  const auto heard = WriteRanks(gaps.heard, writer);
  const auto ended = WriteRanks(gaps.ended, writer);
  const auto table = wire::CreateTelemetryGaps(writer.builder(), gaps.steps, missing, heard, ended);
  wire::FinishDiagnosisStateBuffer(writer.builder(),
                                   wire::CreateDiagnosisState(writer.builder(), 0, 0, table));
  return BytesOf(writer.builder());
}

bool DecodeState(std::string_view bytes, RankTimes* out) {
  return Decode(
      bytes, [](const wire::DiagnosisState& row) { return row.rank_times(); }, out);
}

bool DecodeState(std::string_view bytes, LedgerState* out) {
  return Decode(
      bytes, [](const wire::DiagnosisState& row) { return row.ledger(); }, out);
}

bool DecodeState(std::string_view bytes, TelemetryGapsState* out) {
  return Decode(
      bytes, [](const wire::DiagnosisState& row) { return row.telemetry_gaps(); }, out);
}

}  // namespace eroica
