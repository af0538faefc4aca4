#include "schemas/wire_codec.h"

namespace eroica {
namespace {

struct FindingOffsets {
  WireWriter::VectorOffset<flatbuffers::Offset<wire::Culprit>> culprits;
  WireWriter::VectorOffset<flatbuffers::Offset<wire::Victim>> victims;
  WireWriter::VectorOffset<flatbuffers::Offset<wire::Measure>> evidence;
  WireWriter::VectorOffset<flatbuffers::Offset<wire::Effect>> chain;
  WireWriter::VectorOffset<flatbuffers::Offset<flatbuffers::String>> caveats;
};

FindingOffsets WriteTables(const Finding& finding, WireWriter& writer) {
  flatbuffers::FlatBufferBuilder& builder = writer.builder();
  return {
      .culprits = writer.Tables<wire::Culprit>(finding.culprits,
                                               [&](const Culprit& row) {
                                                 return wire::CreateCulprit(builder, row.rank,
                                                                            writer.Text(row.host),
                                                                            row.device, row.peer);
                                               }),
      .victims = writer.Tables<wire::Victim>(
          finding.victims,
          [&](const Victim& row) {
            return wire::CreateVictim(builder, row.rank.value, row.lost_ns, row.lost_ns_per_step);
          }),
      .evidence = writer.Tables<wire::Measure>(finding.evidence,
                                               [&](const Measure& row) {
                                                 const auto name = writer.Text(row.name);
                                                 const auto unit = writer.Text(row.unit);
                                                 return wire::CreateMeasure(
                                                     builder, name, unit, row.culprit, row.peers,
                                                     row.threshold, row.samples);
                                               }),
      .chain = writer.Tables<wire::Effect>(
          finding.chain,
          [&](const Effect& row) {
            return wire::CreateEffect(builder, row.rank,
                                      writer.Text(row.description, CodecLimits::kTextBytes),
                                      row.lost_ns);
          }),
      // A vector holds no absent strings, so an empty one is written as such.
      .caveats = writer.Tables<flatbuffers::String>(
          finding.caveats,
          [&](const std::string& row) {
            return row.empty() ? builder.CreateString("", 0)
                               : writer.Text(row, CodecLimits::kTextBytes);
          }),
  };
}

void ReadTables(const wire::Finding& from, WireReader& reader, Finding* to) {
  to->culprits.resize(reader.Rows(from.culprits(), CodecLimits::kRanks));
  for (uint32_t i = 0; i < to->culprits.size(); ++i) {
    const wire::Culprit& row = *from.culprits()->Get(i);
    Culprit& culprit = to->culprits[i];
    culprit.rank = row.rank();
    reader.Text(row.host(), &culprit.host);
    culprit.device = row.device();
    culprit.peer = row.peer();
  }
  to->victims.resize(reader.Rows(from.victims(), CodecLimits::kRanks));
  for (uint32_t i = 0; i < to->victims.size(); ++i) {
    const wire::Victim& row = *from.victims()->Get(i);
    to->victims[i] = {RankId(row.rank()), row.lost_ns(), row.lost_ns_per_step()};
  }
  to->evidence.resize(reader.Rows(from.evidence(), CodecLimits::kPatterns));
  for (uint32_t i = 0; i < to->evidence.size(); ++i) {
    const wire::Measure& row = *from.evidence()->Get(i);
    Measure& measure = to->evidence[i];
    reader.Text(row.name(), &measure.name);
    reader.Text(row.unit(), &measure.unit);
    measure.culprit = row.culprit();
    measure.peers = row.peers();
    measure.threshold = row.threshold();
    measure.samples = row.samples();
  }
  to->chain.resize(reader.Rows(from.chain(), CodecLimits::kPatterns));
  for (uint32_t i = 0; i < to->chain.size(); ++i) {
    const wire::Effect& row = *from.chain()->Get(i);
    Effect& effect = to->chain[i];
    effect.rank = row.rank();
    reader.Text(row.description(), &effect.description, CodecLimits::kTextBytes);
    effect.lost_ns = row.lost_ns();
  }
  to->caveats.resize(reader.Rows(from.caveats(), CodecLimits::kPatterns));
  for (uint32_t i = 0; i < to->caveats.size(); ++i)
    reader.Text(from.caveats()->Get(i), &to->caveats[i], CodecLimits::kTextBytes);
}

}  // namespace

void Write(const Finding& finding, WireWriter& writer) {
  const FindingOffsets tables = WriteTables(finding, writer);
  const auto id = writer.Text(finding.id);
  const auto job = writer.Text(finding.job.value);
  const auto subkind = writer.Text(finding.subkind);
  const auto function = writer.Text(finding.function);
  const auto stack = writer.Text(finding.stack, CodecLimits::kTextBytes);
  const auto title = writer.Text(finding.title, CodecLimits::kTextBytes);
  const auto explanation = writer.Text(finding.explanation, CodecLimits::kTextBytes);
  const auto suggested_action = writer.Text(finding.suggested_action, CodecLimits::kTextBytes);
  const auto operator_name = writer.Text(finding.operator_name);
  const auto operator_version = writer.Text(finding.operator_version);
  const auto replay_id = writer.Text(finding.replay_id);

  wire::FindingBuilder table(writer.builder());
  table.add_id(id);
  table.add_job(job);
  table.add_kind(static_cast<wire::FindingKind>(finding.kind));
  table.add_subkind(subkind);
  table.add_severity(static_cast<wire::Severity>(finding.severity));
  table.add_state(static_cast<wire::FindingState>(finding.state));
  table.add_confidence(finding.confidence);
  table.add_first_window(finding.first_window);
  table.add_last_window(finding.last_window);
  table.add_first_step(finding.first_step);
  table.add_last_step(finding.last_step);
  table.add_culprits(tables.culprits);
  table.add_victims(tables.victims);
  table.add_function(function);
  table.add_stack(stack);
  table.add_function_class(static_cast<wire::FunctionClass>(finding.function_class));
  table.add_evidence(tables.evidence);
  table.add_chain(tables.chain);
  table.add_lost_gpu_seconds_per_hour(finding.lost_gpu_seconds_per_hour);
  table.add_lost_ns_per_step(finding.lost_ns_per_step);
  table.add_title(title);
  table.add_explanation(explanation);
  table.add_suggested_action(suggested_action);
  table.add_caveats(tables.caveats);
  table.add_operator_name(operator_name);
  table.add_operator_version(operator_version);
  table.add_replay_id(replay_id);
  table.add_events(finding.events);
  table.add_events_lost(finding.events_lost);
  table.add_ranks_seen(finding.ranks_seen);
  table.add_world_size(finding.world_size);
  table.add_emitted_at_ns(finding.emitted_at_ns);
  table.add_first_seen_ns(finding.first_seen_ns);
  table.add_last_seen_ns(finding.last_seen_ns);
  wire::FinishFindingBuffer(writer.builder(), table.Finish());
}

void Read(const wire::Finding& from, WireReader& reader, Finding* to) {
  reader.Text(from.id(), &to->id);
  reader.Text(from.job(), &to->job.value);
  to->kind = static_cast<FindingKind>(from.kind());
  reader.Text(from.subkind(), &to->subkind);
  to->severity = static_cast<Severity>(from.severity());
  to->state = static_cast<FindingState>(from.state());
  to->confidence = from.confidence();
  to->first_window = from.first_window();
  to->last_window = from.last_window();
  to->first_step = from.first_step();
  to->last_step = from.last_step();
  reader.Text(from.function(), &to->function);
  reader.Text(from.stack(), &to->stack, CodecLimits::kTextBytes);
  to->function_class = static_cast<FunctionClass>(from.function_class());
  to->lost_gpu_seconds_per_hour = from.lost_gpu_seconds_per_hour();
  to->lost_ns_per_step = from.lost_ns_per_step();
  reader.Text(from.title(), &to->title, CodecLimits::kTextBytes);
  reader.Text(from.explanation(), &to->explanation, CodecLimits::kTextBytes);
  reader.Text(from.suggested_action(), &to->suggested_action, CodecLimits::kTextBytes);
  reader.Text(from.operator_name(), &to->operator_name);
  reader.Text(from.operator_version(), &to->operator_version);
  reader.Text(from.replay_id(), &to->replay_id);
  to->events = from.events();
  to->events_lost = from.events_lost();
  to->ranks_seen = from.ranks_seen();
  to->world_size = from.world_size();
  to->emitted_at_ns = from.emitted_at_ns();
  to->first_seen_ns = from.first_seen_ns();
  to->last_seen_ns = from.last_seen_ns();
  ReadTables(from, reader, to);
}

}  // namespace eroica
