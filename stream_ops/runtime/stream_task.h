// One task: a stage's processor over one partition of its input. Owned and called by one
// StreamThread.
//
// The cycle: records are processed, what the processor forwards waits in the outbox and is handed
// to the log at once; at the commit, first everything that was handed over must be durable, with
// the rows that the task changed if it keeps a changelog; then its position goes to the changelog;
// and then changes and position enter the store in one write. A crash in between
// repeats outputs, it never loses one: outputs are deterministic and carry identities, so that a
// consumer knows the second copy. What a bad record leaves on the dead-letter topic has no identity
// of its own, so the position also says which records were processed before: they are not
// dead-lettered again.
#pragma once

#include <absl/status/status.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "state_store/task_store.h"
#include "stream_ops/processor.h"
#include "stream_ops/runtime/changelog.h"
#include "stream_ops/runtime/stage_probe.h"
#include "stream_ops/runtime/task_position.h"
#include "stream_ops/runtime/task_restore.h"

namespace eroica {

// Headers of a dead letter, after the record's own ones.
// ToString(DropReason)
inline constexpr std::string_view kHeaderDeadLetterReason = "dead-letter-reason";
inline constexpr std::string_view kHeaderDeadLetterStage = "dead-letter-stage";
inline constexpr std::string_view kHeaderDeadLetterTopic = "dead-letter-topic";
inline constexpr std::string_view kHeaderDeadLetterPartition = "dead-letter-partition";
inline constexpr std::string_view kHeaderDeadLetterOffset = "dead-letter-offset";
// The size of the record's value, where the log does not take all of it: the dead letter has what
// fits. The record's own headers and its key are left out only where they alone are too large.
inline constexpr std::string_view kHeaderDeadLetterCut = "dead-letter-cut";
// Of records that the log could not give, of which there is nothing but their offsets: the offset
// behind the last of them, and what the log said.
inline constexpr std::string_view kHeaderDeadLetterEnd = "dead-letter-end";
inline constexpr std::string_view kHeaderDeadLetterDetail = "dead-letter-detail";

struct StreamTaskOptions {
  std::string topic_prefix = std::string(kDefaultTopicPrefix);
  std::string replay_id;  // not empty: on every record that is sent
};

class StreamTask : private ProcessorContext {
 public:
  // store and probe must outlive the task.
  StreamTask(TaskId id, StreamTaskOptions options, std::unique_ptr<Processor> processor,
             StateStore& store, StageProbe* probe);
  // From now on every commit goes to the changelog as well. Before Init.
  void KeepChangelog(ChangelogOwner owner, size_t record_bytes_max);

  // Loads the position, then the processor. Before any other call.
  absl::Status Init();
  // Where the input must be read from: the committed restart position; else the first record that
  // the task saw; else nothing.
  std::optional<int64_t> restart_offset() const;
  // Of the last commit.
  std::optional<TaskPosition> position() const { return committed_; }
  // Of the record that is to be processed next.
  std::optional<int64_t> next_offset() const { return next_; }
  // How many records would be read again, were the task unloaded now.
  int64_t reread_records() const { return next_ ? *next_ - processor_->RestartOffset(*next_) : 0; }
  uint64_t held_bytes() const { return processor_->held_bytes(); }

  // The partition begins anew at this offset, with other records: goes on with what is kept of the
  // old ones, in a new processor. Everything must be committed.
  absl::Status BeginAnew(std::unique_ptr<Processor> processor, int64_t offset);
  // Lets go of what is read again from restart_offset on: its windows begin anew with a new
  // processor. Everything must be committed.
  absl::Status Unload(std::unique_ptr<Processor> processor);
  // A record behind the task's position is ignored and counted.
  absl::Status Process(const ConsumerRecord& record);
  // Records that the log could not give: dead-lettered by their offsets, and behind the task.
  void Skip(const DamagedRange& range);
  absl::Status Punctuate(PunctuationType type);
  // Hands the outbox to the producer, in order, until it fails: the record at hand and those after
  // it stay. What the log never takes is cut, if it is a dead letter, else dropped and counted.
  absl::Status SendOutputs(LogProducer& producer);
  // Counts what the log has refused after it was handed over. False where there was nothing.
  bool CountRefused(LogProducer& producer);
  bool has_outputs() const { return !outbox_.empty(); }
  // Something happened that a commit would have to say.
  bool dirty() const { return dirty_; }

  // A commit, in this order; nothing else is called before its end. After an error the same step
  // again. The outbox must be empty, as after SendOutputs.
  //   BeginCommit     puts the changed rows into the outbox, where there is a changelog
  //   ConfirmCommit   puts the position there: all before must be durable by now
  //   Commit          writes changes and position to the store: the position must be durable by now
  // changelog_end: all that the changelog held at some moment since the last commit lies before it.
  absl::Status BeginCommit(std::optional<int64_t> changelog_end);
  void ConfirmCommit();
  absl::Status Commit();
  const TaskId& id() const { return id_; }

 private:
  struct Output {
    ProducerRecord record;
    // of a dead letter: how many of its headers are the record's own, in front
    std::optional<size_t> own_headers;
    bool of_changelog = false;
  };

  void Forward(Topic topic, std::string key, PayloadType type, Bytes payload, int64_t timestamp_ms,
               const JobId& job) override;
  void ForwardEvent(EventRecord event) override;
  void DeadLetter(DropReason reason) override;
  void DropOutput(DropReason reason) override { CountDropped(reason, 1); }
  void CountUnused(DropReason reason, uint64_t events) override {
    if (!IsRepeated()) probe_->events_unused[reason] += events;
  }
  void CountForced(uint64_t windows) override { probe_->windows_forced += windows; }
  bool IsRepeated() const override;
  const StateStore& store() const override { return store_; }
  StateChanges& changes() override { return changes_; }

  void AddDeadLetterHeaders(DropReason reason, int64_t offset, ProducerRecord* letter) const;
  void Send(ProducerRecord record, std::optional<size_t> own_headers = std::nullopt);
  static void Cut(size_t bytes_max, Output* dead_letter);
  absl::Status SendOne(Output& output, LogProducer& producer);
  void CountDropped(DropReason reason, uint64_t count);
  void CollectCommit();
  absl::Status AddChangedRows();
  absl::Status AddRow(const std::string& row, const std::optional<std::string>& value);

  const TaskId id_;
  const StreamTaskOptions options_;
  std::array<std::string, kTopicCount> topic_names_;
  StateStore& node_store_;
  TaskStore store_;
  StageProbe* const probe_;
  StateChanges changes_;
  StateChanges to_store_;  // collected for a commit, not in the store yet
  std::optional<ChangelogRecords> changelog_;
  ChangelogOwner owner_;       // of the changelog
  bool in_changelog_ = false;  // this owner's position is
  std::vector<Output> outbox_;
  const ConsumerRecord* current_ = nullptr;  // during Process
  std::optional<TaskPosition> committed_;
  std::optional<int64_t> first_;  // offset of the first record since Init
  std::optional<int64_t> next_;   // one past the last processed record
  int64_t latest_ms_ = 0;         // timestamp of the last record that was processed
  bool dirty_ = false;
  std::unique_ptr<Processor> processor_;  // last: it may look at the context until it is gone
};

}  // namespace eroica
