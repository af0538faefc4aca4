#include <algorithm>
#include <vector>

#include "schemas/wire_codec.h"

namespace eroica {

flatbuffers::Offset<wire::FunctionPattern> WritePattern(const FunctionPattern& pattern,
                                                        WireWriter& writer) {
  const auto name = writer.Text(pattern.name);
  const auto stack = writer.Text(pattern.stack, CodecLimits::kTextBytes);
  const auto& buckets = pattern.histogram.buckets();
  const auto bucket =
      writer.Scalars<uint16_t>(buckets.size(), [&](size_t i) { return buckets[i].first; });
  const auto bucket_count =
      writer.Scalars<uint32_t>(buckets.size(), [&](size_t i) { return buckets[i].second; });
  wire::FunctionPatternBuilder table(writer.builder());
  table.add_function_hash(pattern.function.value);
  table.add_name(name);
  table.add_stack(stack);
  table.add_function_class(static_cast<uint8_t>(pattern.function_class));
  table.add_wait(static_cast<uint8_t>(pattern.wait));
  table.add_resource(static_cast<uint8_t>(pattern.resource));
  table.add_resource_samples(pattern.resource_samples);
  table.add_beta(pattern.beta);
  table.add_mu(pattern.mu);
  table.add_sigma(pattern.sigma);
  table.add_count(pattern.count);
  table.add_total_ns(pattern.total_ns);
  table.add_critical_ns(pattern.critical_ns);
  table.add_duration_mean_ns(pattern.duration_mean_ns);
  table.add_duration_m2(pattern.duration_m2);
  table.add_duration_min_ns(pattern.duration_min_ns);
  table.add_duration_max_ns(pattern.duration_max_ns);
  table.add_bytes(pattern.bytes);
  table.add_active_steps(pattern.active_steps);
  table.add_histogram_bucket(bucket);
  table.add_histogram_count(bucket_count);
  return table.Finish();
}

namespace {

void ReadHistogram(const wire::FunctionPattern& from, WireReader& reader, DurationHistogram* to) {
  to->clear();
  const auto bucket = reader.Scalars(from.histogram_bucket(), DurationHistogram::kBucketCount);
  const auto count = reader.Scalars(from.histogram_count(), DurationHistogram::kBucketCount);
  if (!reader.SameLength(bucket.size(), count.size())) return;
  for (size_t i = 0; i < bucket.size(); ++i) {
    if (i > 0 && bucket[i] <= bucket[i - 1]) return reader.Fail(DropReason::kNotInOrder);
    if (count[i] == 0) return reader.Fail(DropReason::kValueOutOfRange);
    to->AddBucket(bucket[i], count[i]);
  }
}

}  // namespace

void ReadPattern(const wire::FunctionPattern& from, WireReader& reader, FunctionPattern* to) {
  to->function = FunctionId(from.function_hash());
  reader.Text(from.name(), &to->name);
  reader.Text(from.stack(), &to->stack, CodecLimits::kTextBytes);
  to->function_class = static_cast<FunctionClass>(from.function_class());
  to->wait = static_cast<WaitKind>(from.wait());
  to->resource = static_cast<Resource>(from.resource());
  to->resource_samples = from.resource_samples();
  to->beta = from.beta();
  to->mu = from.mu();
  to->sigma = from.sigma();
  to->count = from.count();
  to->total_ns = from.total_ns();
  to->critical_ns = from.critical_ns();
  to->duration_mean_ns = from.duration_mean_ns();
  to->duration_m2 = from.duration_m2();
  to->duration_min_ns = from.duration_min_ns();
  to->duration_max_ns = from.duration_max_ns();
  to->bytes = from.bytes();
  to->active_steps = from.active_steps();
  ReadHistogram(from, reader, &to->histogram);
}

namespace {

wire::Step PackStep(const StepRecord& step) {
  return {step.id, step.duration_ns, step.peer_wait_ns};
}

WireWriter::VectorOffset<int64_t> WriteStages(const std::vector<StepRecord>& steps,
                                              WireWriter& writer) {
  const bool any = std::any_of(steps.begin(), steps.end(),
                               [](const StepRecord& step) { return step.has_stages(); });
  return writer.Scalars<int64_t>(any ? steps.size() * kStepStageCount : 0, [&](size_t i) {
    return steps[i / kStepStageCount].stage_ns[i % kStepStageCount];
  });
}

void ReadStages(const wire::PatternBatch& from, WireReader& reader, std::vector<StepRecord>* to) {
  const auto stages =
      reader.Scalars(from.step_stage_ns(), size_t{CodecLimits::kPatterns} * kStepStageCount);
  if (stages.empty() || !reader.SameLength(stages.size(), to->size() * kStepStageCount)) return;
  for (size_t i = 0; i < stages.size(); ++i)
    (*to)[i / kStepStageCount].stage_ns[i % kStepStageCount] = stages[i];
}

WireWriter::VectorOffset<uint8_t> WritePauses(const std::vector<StepRecord>& steps,
                                              WireWriter& writer) {
  const bool any = std::any_of(steps.begin(), steps.end(),
                               [](const StepRecord& step) { return step.pause != Pause::kNone; });
  return writer.Scalars<uint8_t>(any ? steps.size() : 0,
                                 [&](size_t i) { return static_cast<uint8_t>(steps[i].pause); });
}

void ReadPauses(const wire::PatternBatch& from, WireReader& reader, std::vector<StepRecord>* to) {
  const auto pauses = reader.Scalars(from.step_pause(), CodecLimits::kPatterns);
  if (pauses.empty() || !reader.SameLength(pauses.size(), to->size())) return;
  for (size_t i = 0; i < pauses.size(); ++i) (*to)[i].pause = static_cast<Pause>(pauses[i]);
}

// 1 + its place; 0 where it is not known.
uint16_t NumberOf(CommId communicator, const std::vector<CommId>& communicators) {
  if (communicator == CommId{}) return 0;
  const auto place = std::lower_bound(communicators.begin(), communicators.end(), communicator);
  return static_cast<uint16_t>(place - communicators.begin() + 1);
}

WireWriter::VectorOffset<const wire::Connection*> WriteConnections(const PatternBatch& batch,
                                                                   WireWriter& writer) {
  if (batch.connections.empty()) return 0;
  std::vector<wire::Connection> rows;
  rows.reserve(batch.connections.size());
  for (const ConnectionPattern& row : batch.connections) {
    rows.emplace_back(row.bytes, row.busy_ns, row.retransmits, row.peer,
                      static_cast<uint8_t>(row.resource), row.channels,
                      NumberOf(row.communicator, batch.communicators));
  }
  return writer.builder().CreateVectorOfStructs(rows);
}

void ReadConnections(const wire::PatternBatch& from, WireReader& reader, PatternBatch* to) {
  const std::vector<CommId>& communicators = to->communicators;
  const auto rows = reader.Structs(from.connections(), CodecLimits::kConnections);
  to->connections.resize(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint16_t number = rows[i].communicator();
    if (number > communicators.size()) return reader.Fail(DropReason::kIndexOutOfRange);
    to->connections[i] = {.peer = rows[i].peer(),
                          .resource = static_cast<Resource>(rows[i].resource()),
                          .bytes = rows[i].bytes(),
                          .busy_ns = rows[i].busy_ns(),
                          .retransmits = rows[i].retransmits(),
                          .channels = rows[i].channels(),
                          .communicator = number > 0 ? communicators[number - 1] : CommId{}};
  }
}

WireWriter::VectorOffset<const wire::ResourceLevel*> WriteLevels(const PatternBatch& batch,
                                                                 WireWriter& writer) {
  if (batch.levels.empty()) return 0;
  std::vector<wire::ResourceLevel> rows;
  rows.reserve(batch.levels.size());
  for (const ResourceLevel& row : batch.levels)
    rows.emplace_back(row.samples, row.mean, row.max, static_cast<uint8_t>(row.resource));
  return writer.builder().CreateVectorOfStructs(rows);
}

void ReadLevels(const wire::PatternBatch& from, WireReader& reader, PatternBatch* to) {
  const auto rows = reader.Structs(from.levels(), kResourceCount);
  to->levels.clear();
  for (const wire::ResourceLevel& row : rows) {
    to->levels.push_back({.resource = static_cast<Resource>(row.resource()),
                          .mean = row.mean(),
                          .max = row.max(),
                          .samples = row.samples()});
  }
}

WireWriter::VectorOffset<const wire::SuspendedCapture*> WriteSuspended(const PatternBatch& batch,
                                                                       WireWriter& writer) {
  if (batch.suspended.empty()) return 0;
  std::vector<wire::SuspendedCapture> rows;
  rows.reserve(batch.suspended.size());
  for (const SuspendedCapture& row : batch.suspended)
    rows.emplace_back(row.suspended_ns, row.gap.detail, static_cast<uint8_t>(row.gap.capture));
  return writer.builder().CreateVectorOfStructs(rows);
}

// Of a newer program's captures nothing is known here: they are left out.
void ReadSuspended(const wire::PatternBatch& from, WireReader& reader, PatternBatch* to) {
  constexpr uint32_t kMostCaptures = 256;
  to->suspended.clear();
  for (const wire::SuspendedCapture& row : reader.Structs(from.suspended(), kMostCaptures)) {
    if (row.capture() >= kCaptureKindCount) continue;
    to->suspended.push_back(
        {.gap = {static_cast<CaptureKind>(row.capture()), row.detail()}, .suspended_ns = row.ns()});
  }
}

void ReadRows(const wire::PatternBatch& from, WireReader& reader, PatternBatch* to) {
  const auto steps = reader.Structs(from.steps(), CodecLimits::kPatterns);
  to->steps.resize(steps.size());
  for (size_t i = 0; i < steps.size(); ++i)
    to->steps[i] = {
        steps[i].id(), steps[i].duration_ns(), steps[i].peer_wait_ns(), {}, Pause::kNone};
  ReadStages(from, reader, &to->steps);
  ReadPauses(from, reader, &to->steps);

  to->patterns.resize(reader.Rows(from.patterns(), CodecLimits::kPatterns));
  for (uint32_t i = 0; i < to->patterns.size(); ++i)
    ReadPattern(*from.patterns()->Get(i), reader, &to->patterns[i]);

  // One a function class; a writer that knows fewer of them sends a shorter vector.
  const auto folded = reader.Scalars(from.folded_critical_ns(), to->folded_critical_ns.size());
  to->folded_critical_ns.fill(0);
  std::copy(folded.begin(), folded.end(), to->folded_critical_ns.begin());
  to->folded_functions = from.folded_functions();

  const auto communicators = reader.Scalars(from.communicators(), CodecLimits::kCommunicators);
  to->communicators.resize(communicators.size());
  for (size_t i = 0; i < communicators.size(); ++i) to->communicators[i] = CommId(communicators[i]);
  ReadConnections(from, reader, to);
  ReadLevels(from, reader, to);
  ReadSuspended(from, reader, to);
}

}  // namespace

wire::Window WindowToWire(const Window& window) {
  return {window.index,      window.start_ns,  window.end_ns,
          window.first_step, window.last_step, static_cast<uint8_t>(window.kind)};
}

Window WindowFromWire(const wire::Window* window) {
  if (window == nullptr) return {};
  return {.kind = static_cast<WindowKind>(window->kind()),
          .index = window->index(),
          .start_ns = window->start_ns(),
          .end_ns = window->end_ns(),
          .first_step = window->first_step(),
          .last_step = window->last_step()};
}

void Write(const PatternBatch& batch, WireWriter& writer) {
  const auto job = writer.Text(batch.job.value);
  const auto role = writer.Text(batch.role);
  const auto host = writer.Text(batch.host);
  const auto steps = writer.Structs<wire::Step>(batch.steps, PackStep);
  const auto stages = WriteStages(batch.steps, writer);
  const auto pauses = WritePauses(batch.steps, writer);
  const auto connections = WriteConnections(batch, writer);
  const auto levels = WriteLevels(batch, writer);
  const auto suspended = WriteSuspended(batch, writer);
  const auto patterns = writer.Tables<wire::FunctionPattern>(
      batch.patterns, [&](const FunctionPattern& row) { return WritePattern(row, writer); });
  const auto folded = writer.Scalars<int64_t>(
      batch.folded_critical_ns.size(), [&](size_t i) { return batch.folded_critical_ns[i]; });
  const auto communicators = writer.Scalars<uint64_t>(
      batch.communicators.size(), [&](size_t i) { return batch.communicators[i].value; });
  const wire::Window window = WindowToWire(batch.window);
  const Completeness& seen = batch.completeness;
  const wire::Completeness completeness(seen.events, seen.late, seen.lost, seen.sampled,
                                        seen.outside);

  wire::PatternBatchBuilder table(writer.builder());
  table.add_job(job);
  table.add_rank(batch.rank.value);
  table.add_world_size(batch.world_size);
  table.add_role(role);
  table.add_host(host);
  table.add_device(batch.device);
  table.add_pid(batch.pid);
  table.add_window(&window);
  table.add_watermark_ns(batch.watermark_ns);
  table.add_final(batch.final);
  table.add_silent(batch.silent);
  table.add_host_only(batch.host_only);
  table.add_completeness(&completeness);
  table.add_steps(steps);
  table.add_patterns(patterns);
  table.add_folded_critical_ns(folded);
  table.add_folded_functions(batch.folded_functions);
  table.add_communicators(communicators);
  table.add_step_stage_ns(stages);
  table.add_connections(connections);
  table.add_step_pause(pauses);
  table.add_levels(levels);
  table.add_suspended(suspended);
  wire::FinishPatternBatchBuffer(writer.builder(), table.Finish());
}

void Read(const wire::PatternBatch& from, WireReader& reader, PatternBatch* to) {
  reader.Text(from.job(), &to->job.value);
  to->rank = RankId(from.rank());
  to->world_size = from.world_size();
  reader.Text(from.role(), &to->role);
  reader.Text(from.host(), &to->host);
  to->device = from.device();
  to->pid = from.pid();
  to->window = WindowFromWire(from.window());
  to->watermark_ns = from.watermark_ns();
  to->final = from.final();
  to->silent = from.silent();
  to->host_only = from.host_only();
  const wire::Completeness* seen = from.completeness();
  to->completeness = {};
  if (seen != nullptr)
    to->completeness = {seen->events(), seen->late(), seen->lost(), seen->sampled(),
                        seen->outside()};
  ReadRows(from, reader, to);
}

}  // namespace eroica
