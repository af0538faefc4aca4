#include "tests/fuzz/stage_chain.h"

#include <span>
#include <utility>

#include "schemas/check.h"

namespace eroica {

// One processor, its input, and what it had committed.
class StageChain::Stage final : private ProcessorContext {
 public:
  explicit Stage(StageChain& chain) : chain_(chain) {}

  template <typename P>
  P* Start(std::unique_ptr<P> processor) {
    P* const started = processor.get();
    processor_ = std::move(processor);
    changes_.clear();
    next_ = restart_;
    processed_ = 0;
    EROICA_CHECK(processor_->Init(*this).ok());
    return started;
  }
  void Add(std::string payload) {
    ConsumerRecord record;
    record.offset = static_cast<int64_t>(input_.size());
    record.value = std::move(payload);
    input_.push_back(std::move(record));
  }
  // All that is there.
  void Run() {
    for (; next_ < input_.size(); ++next_, ++processed_)
      EROICA_CHECK(processor_->Process(input_[next_]).ok());
    Commit();
  }
  void Punctuate(PunctuationType type) {
    EROICA_CHECK(processor_->Punctuate(type).ok());
    Commit();
  }
  uint64_t processed() const { return processed_; }  // since the start

 private:
  void Forward(Topic topic, std::string, PayloadType type, Bytes payload, int64_t,
               const JobId& job) override {
    EROICA_CHECK(!job.value.empty());
    chain_.TakeOutput(topic, type, payload);
  }
  void ForwardEvent(EventRecord event) override {
    EROICA_CHECK(event.topic == Topic::kFindings && !event.headers.empty());
    chain_.TakeOutput(event.topic, PayloadType::kFinding, std::as_bytes(std::span(event.value)));
  }
  void DeadLetter(DropReason reason) override { EROICA_CHECK(reason != DropReason::kNone); }
  void DropOutput(DropReason reason) override { EROICA_CHECK(reason != DropReason::kNone); }
  const StateStore& store() const override { return store_; }
  StateChanges& changes() override { return changes_; }

  void Commit() {
    EROICA_CHECK(store_.Write(changes_).ok());
    changes_.clear();
    const int64_t restart = processor_->RestartOffset(static_cast<int64_t>(next_));
    EROICA_CHECK(restart >= 0 && static_cast<size_t>(restart) <= next_);
    restart_ = static_cast<size_t>(restart);
  }

  StageChain& chain_;
  InMemoryStore store_;
  StateChanges changes_;
  std::vector<ConsumerRecord> input_;
  size_t next_ = 0;
  size_t restart_ = 0;
  uint64_t processed_ = 0;
  std::unique_ptr<Processor> processor_;
};

StageChain::StageChain() {
  for (auto& stage : stages_) stage = std::make_unique<Stage>(*this);
  Start();
}

StageChain::~StageChain() = default;

void StageChain::Start() {
  summarize_ = stages_[0]->Start(std::make_unique<SummarizeProcessor>(SummarizeOptions{}));
  align_ = stages_[1]->Start(std::make_unique<AlignProcessor>(
      AlignOptions{.open_windows_max = 8, .memory = std::make_shared<MemoryPool>(1 << 19)}));
  diagnose_ = stages_[2]->Start(std::make_unique<DiagnoseProcessor>(DiagnoseOptions{}));
}

void StageChain::Add(Topic topic, std::string payload) {
  const size_t stage = topic == Topic::kEvents ? 0 : topic == Topic::kCollectives ? 1 : 2;
  stages_[stage]->Add(std::move(payload));
  Run();
}

void StageChain::Run() {
  for (auto& stage : stages_) stage->Run();
  CheckBooks();
}

void StageChain::Punctuate(PunctuationType type) {
  for (auto& stage : stages_) {
    stage->Run();
    stage->Punctuate(type);
  }
  CheckBooks();
}

void StageChain::Restart() {
  Start();
  Run();
}

void StageChain::TakeOutput(Topic topic, PayloadType type, Bytes payload) {
  EROICA_CHECK(TypeOf(payload) == type);
  const auto decodes = [&](auto output) {
    return decoder_.Decode(payload, &output) == DropReason::kNone;
  };
  switch (type) {
    case PayloadType::kPatternBatch: EROICA_CHECK(decodes(PatternBatch{})); break;
    case PayloadType::kCollectiveBatch: EROICA_CHECK(decodes(CollectiveBatch{})); break;
    case PayloadType::kCollectiveSummary: EROICA_CHECK(decodes(CollectiveSummary{})); break;
    case PayloadType::kRankStanding: EROICA_CHECK(decodes(RankStanding{})); break;
    case PayloadType::kFinding: EROICA_CHECK(decodes(Finding{})); break;
    default: EROICA_CHECK(false); break;
  }
  const size_t stage = topic == Topic::kCollectives ? 1 : 2;
  if (topic == Topic::kCollectives || topic == Topic::kPatterns)
    stages_[stage]->Add({reinterpret_cast<const char*>(payload.data()), payload.size()});
}

void StageChain::CheckBooks() const {
  const SummarizeProbe& summarize = summarize_->probe();
  EROICA_CHECK(summarize.batches_received + summarize.batches_bad + summarize.batches_forwarded ==
               stages_[0]->processed());
  EROICA_CHECK(summarize.events_received ==
               summarize.events_used + summarize.events_late + summarize.events_outside +
                   summarize.events_duplicate + summarize.events_replayed +
                   summarize_->events_held());
  const AlignProbe& align = align_->probe();
  EROICA_CHECK(align.batches_received == stages_[1]->processed());
  EROICA_CHECK(align.batches_received == align.batches_malformed + align.batches_late +
                                             align.batches_duplicate + align.batches_closed +
                                             align_->open_batches());
  EROICA_CHECK(align.rows_received + align.rows_restored ==
               align.rows_dropped + align.rows.aligned + align.rows.incomplete +
                   align.rows.unobserved + align.rows.duplicate + align_->pending_rows());
  const DiagnoseProbe& diagnose = diagnose_->probe();
  EROICA_CHECK(diagnose.patterns_received + diagnose.summaries_received +
                   diagnose.standings_received + diagnose.dead_lettered ==
               stages_[2]->processed());
}

}  // namespace eroica
