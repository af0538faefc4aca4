#include "stream_ops/summarize/summarize_harness.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "schemas/test_encoder.h"

namespace eroica {

EventBatchBuilder::EventBatchBuilder(uint32_t rank, uint64_t sequence, uint32_t window_steps,
                                     uint32_t window_offset) {
  batch_.identity = {.job = JobId{"job"},
                     .rank = RankId{rank},
                     .world_size = 2,
                     .host = "host",
                     .pid = 100 + rank,
                     .producer = "test",
                     .producer_version = "1",
                     .host_only = true,
                     .window_steps = window_steps,
                     .window_offset = window_offset};
  batch_.sequence = sequence;
  batch_.lanes = {{"main", LaneKind::kTrainingThread}};
}

uint32_t EventBatchBuilder::FunctionNumber(const std::string& name, FunctionClass function_class) {
  for (uint32_t i = 0; i < batch_.functions.size(); ++i) {
    if (batch_.functions[i].name == name) return i;
  }
  batch_.functions.push_back({.name = name, .function_class = function_class});
  return static_cast<uint32_t>(batch_.functions.size() - 1);
}

EventBatchBuilder& EventBatchBuilder::Ran(const std::string& function, int64_t start_ns,
                                          int64_t end_ns, FunctionClass function_class) {
  batch_.intervals.push_back(start_ns, end_ns - start_ns, FunctionNumber(function, function_class),
                             0);
  return *this;
}

void EventBatchBuilder::AddCommunicator() {
  if (batch_.communicators.empty())
    batch_.communicators = {{CommId{7}, "default_pg", "", 2, {0, 1}}};
}

EventBatchBuilder& EventBatchBuilder::Reported(int64_t time_ns, int64_t step,
                                               const std::string& function, int64_t sequence,
                                               int64_t launched_ns) {
  ProgressReport report{.time_ns = time_ns,
                        .step = step,
                        .function = FunctionNumber(function, FunctionClass::kPython)};
  if (sequence >= 0) {
    AddCommunicator();
    report.in_flight = {{.operation = CollectiveOperation::kAllReduce,
                         .sequence = static_cast<uint64_t>(sequence),
                         .bytes = 64,
                         .launched_ns = launched_ns}};
  }
  batch_.progress.push_back(report);
  return *this;
}

EventBatchBuilder& EventBatchBuilder::Reduced(uint64_t sequence, int64_t start_ns, int64_t end_ns) {
  AddCommunicator();
  const auto interval = static_cast<uint32_t>(batch_.intervals.size());
  batch_.collectives.push_back({.interval = interval,
                                .operation = CollectiveOperation::kAllReduce,
                                .sequence = sequence,
                                .bytes = 64});
  return Ran("all_reduce", start_ns, end_ns, FunctionClass::kCollective);
}

EventBatchBuilder& EventBatchBuilder::Marked(MarkKind kind, int64_t id, int64_t time_ns) {
  batch_.marks.push_back({time_ns, kind, id});
  return *this;
}

EventBatchBuilder& EventBatchBuilder::Sampled(Resource resource, int64_t time_ns, float value) {
  batch_.samples.push_back({time_ns, resource, value});
  return *this;
}

EventBatchBuilder& EventBatchBuilder::Lost(uint64_t count) {
  batch_.losses.push_back({EventKind::kInterval, DropReason::kRingFull, count});
  return *this;
}

EventBatchBuilder& EventBatchBuilder::Final() {
  batch_.final = true;
  return *this;
}

SummarizeHarness::SummarizeHarness(const SummarizeOptions& options) : options_(options) {
  processor_ = std::make_unique<SummarizeProcessor>(options_);
  EXPECT_TRUE(processor_->Init(*this).ok());
}

void SummarizeHarness::Process(const EventBatch& batch) {
  TestEncoder encoder;
  const Bytes bytes = encoder.Encode(batch);  // live as long as the encoder
  ProcessBytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

void SummarizeHarness::ProcessBytes(std::string payload) {
  ConsumerRecord record;
  record.offset = static_cast<int64_t>(log_.size());
  record.value = std::move(payload);
  log_.push_back(record);
  Deliver(log_.back());
}

void SummarizeHarness::Deliver(const ConsumerRecord& record) {
  ASSERT_TRUE(processor_->Process(record).ok());
  Commit();
}

void SummarizeHarness::Punctuate(PunctuationType type) {
  ASSERT_TRUE(processor_->Punctuate(type).ok());
  Commit();
}

void SummarizeHarness::Commit() {
  ASSERT_TRUE(store_.Write(changes_).ok());
  changes_.clear();
  restart_offset_ = processor_->RestartOffset(static_cast<int64_t>(log_.size()));
}

void SummarizeHarness::Restart() {
  unused_.clear();
  processor_ = std::make_unique<SummarizeProcessor>(options_);
  ASSERT_TRUE(processor_->Init(*this).ok());
  for (auto i = static_cast<size_t>(restart_offset_); i < log_.size(); ++i) Deliver(log_[i]);
}

void SummarizeHarness::Forward(Topic topic, std::string key, PayloadType, Bytes payload, int64_t,
                               const JobId& job) {
  EXPECT_EQ(job, JobId{"job"});
  forwarded_.push_back(
      {topic, std::move(key), {reinterpret_cast<const char*>(payload.data()), payload.size()}});
}

namespace {

// Those messages that are of the type.
template <typename T>
std::vector<T> AllOf(const std::vector<Forwarded>& forwarded, PayloadType type) {
  std::vector<T> found;
  Decoder decoder;
  for (const Forwarded& message : forwarded) {
    const Bytes bytes = std::as_bytes(std::span(message.payload));
    if (TypeOf(bytes) != type) continue;
    EXPECT_EQ(decoder.Decode(bytes, &found.emplace_back()), DropReason::kNone);
  }
  return found;
}

}  // namespace

std::vector<PatternBatch> SummarizeHarness::patterns() const {
  return AllOf<PatternBatch>(forwarded_, PayloadType::kPatternBatch);
}

std::vector<CollectiveBatch> SummarizeHarness::collectives() const {
  return AllOf<CollectiveBatch>(forwarded_, PayloadType::kCollectiveBatch);
}

std::vector<RankStanding> SummarizeHarness::standings() const {
  return AllOf<RankStanding>(forwarded_, PayloadType::kRankStanding);
}

PatternBatch SummarizeHarness::Patterns(uint32_t rank, int64_t index) const {
  PatternBatch found;
  int count = 0;
  for (PatternBatch& batch : patterns()) {
    if (batch.rank.value != rank || batch.window.index != index) continue;
    found = std::move(batch);
    ++count;
  }
  EXPECT_EQ(count, 1) << "pattern batches of rank " << rank << ", window " << index;
  return found;
}

void SummarizeHarness::ExpectBooksClosed() const {
  const SummarizeProbe& probe = processor_->probe();
  EXPECT_EQ(probe.events_received, probe.events_used + probe.events_late + probe.events_outside +
                                       probe.events_duplicate + probe.events_replayed +
                                       processor_->events_held());
  const std::map<DropReason, uint64_t> unused = {{DropReason::kLate, probe.events_late},
                                                 {DropReason::kOutsideWindow, probe.events_outside},
                                                 {DropReason::kDuplicate, probe.events_duplicate}};
  for (const auto& [reason, events] : unused) {
    const auto heard = unused_.find(reason);
    EXPECT_EQ(heard == unused_.end() ? 0 : heard->second, events) << ToString(reason);
  }
}

const FunctionPattern* FindPattern(const PatternBatch& batch, std::string_view name) {
  const auto found = std::find_if(batch.patterns.begin(), batch.patterns.end(),
                                  [&](const FunctionPattern& row) { return row.name == name; });
  return found == batch.patterns.end() ? nullptr : &*found;
}

}  // namespace eroica
