// Runs the stages over a slice of a log once more, from its beginning to its end, at full speed.
//
// The slice's records are fed into topics of the replay's own folder, in the order of their
// timestamps, a little at a time, and every stage works off what is there before more is fed; what
// all stages have committed leaves the folder again. So a day takes neither the memory nor the disk
// of a day. Of collectives and patterns only those are fed that a producer has made itself: those
// of a stage bear its name in their headers (kHeaderStage), and the replay makes them anew.
//
// Where the records are stamped with their arrival the stages are also given the time: they see the
// pauses between records, and take a rank for silent, or a clock for wrong, where the live node
// did. The slice's end is then no end of the input, as it was none for the live node. Without such
// stamps every window waits for its records, and is closed at the end of the slice (BoundedRun).
//
// A checkpoint writes the state of all stages, the position in the slice and the ends of the topics
// in the folder at once (StagedStore). A replay that dies anywhere goes on from its last checkpoint
// and says what an undisturbed one says, each finding once.
//
// One thread, which nothing is started by and which asks no clock.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "state_store/staged_store.h"
#include "state_store/state_store.h"
#include "stream_ops/log/slice_reader.h"
#include "stream_ops/recording/recording_log.h"
#include "stream_ops/replay/replay_checkpoint.h"
#include "stream_ops/replay/replay_clock.h"
#include "stream_ops/runtime/stage_probe.h"
#include "stream_ops/runtime/stream_thread.h"
#include "stream_ops/runtime/topology.h"
#include "stream_ops/topics.h"

namespace eroica {

// The input topics of the stages, of this prefix: what a replay's slice is taken of.
std::vector<std::string> ReplayTopics(std::string_view topic_prefix);

struct ReplayInput {
  LogSlice slice;  // of ReplayTopics
  OpenReaders readers;
  // With stamps of arrival: the slice was whole at this time. Silence is seen until then.
  std::optional<int64_t> until_ms{};
  // Stamps are those of arrival.
  bool stamped_at_arrival() const { return until_ms.has_value(); }
};

struct ReplayOptions {
  std::string topic_prefix = std::string(kDefaultTopicPrefix);
  std::string replay_id;  // on all that is sent
  std::string job;        // only records whose header names this job; empty: all
  size_t poll_records_max = 64;
  // As of the live node; without stamps of arrival it has no meaning.
  std::chrono::milliseconds idle_timeout{2'000};
  // A checkpoint is due after so many records or bytes.
  uint64_t checkpoint_records = 4'096;
  uint64_t checkpoint_bytes = uint64_t{32} << 20;
};

class ReplayRun {
 public:
  // Everything must outlive the run; clock is moved by it. log: the replay's folder, which nobody
  // else writes; topics are made in it. store: of this replay alone.
  static absl::StatusOr<std::unique_ptr<ReplayRun>> Open(const ReplayInput& input,
                                                         RecordingLog& log, StateStore& store,
                                                         const Topology& topology,
                                                         ReplayClock* clock, ReplayOptions options);

  // Feeds a little and lets every stage work it off, or writes a checkpoint. false: the replay is
  // finished and its last checkpoint written. To destroy a run between two steps is to crash there.
  // kUnavailable: the source does not answer; Step may be called again.
  absl::StatusOr<bool> Step();

  // It continues from a checkpoint of an earlier run, or that run has finished the replay.
  bool is_resumed() const { return resumed_; }
  bool is_finished() const { return finished_; }
  // In offsets of the slice.
  int64_t done() const { return source_ == nullptr ? total() : source_->done(); }
  int64_t total() const { return input_.slice.size(); }
  // Fed by this run.
  uint64_t records_fed() const { return records_fed_; }
  uint64_t bytes_fed() const { return bytes_fed_; }
  // That the source no longer had.
  int64_t records_missing() const { return source_ == nullptr ? 0 : source_->missing_records(); }
  uint64_t corrupt_bytes() const { return source_ == nullptr ? 0 : source_->corrupt_bytes(); }
  // That it holds and could not give.
  int64_t records_unreadable() const { return source_ == nullptr ? 0 : source_->damaged_records(); }
  // From the earliest time of a record that this run has fed to the latest.
  int64_t span_ms() const { return first_fed_ms_ ? fed_ms_ - *first_fed_ms_ : 0; }
  StageProbe probe(std::string_view stage) const;

 private:
  ReplayRun(const ReplayInput& input, RecordingLog& log, StateStore& store,
            const Topology& topology, ReplayClock* clock, ReplayOptions options);

  absl::Status Resume();
  absl::Status MakeTopics();
  absl::Status OpenEnds();
  absl::Status StartClock();
  absl::Status StartStages(const ReplayCheckpoint& checkpoint);
  bool IsWanted(const ConsumerRecord& record) const;
  absl::Status Feed(ConsumerRecord record);
  absl::StatusOr<bool> FeedSome();
  absl::StatusOr<bool> FeedUntilTick();
  bool SilenceIsOver() const;
  absl::Status RunStages();
  absl::Status CatchUp(StreamThread& thread);
  absl::Status EndInput();
  bool CheckpointIsDue() const;
  absl::Status WriteCheckpoint(bool finished);
  absl::Status Trim();
  absl::Status DropInputs();
  TimePoint Now() const;

  const ReplayInput input_;
  RecordingLog& log_;
  StagedStore store_;
  const Topology& topology_;
  ReplayClock* const clock_;
  const ReplayOptions options_;

  std::unique_ptr<SliceReader> source_;
  std::unique_ptr<LogProducer> producer_;
  std::map<std::string, int32_t> partitions_;           // of the topics in the folder
  PartitionReaders ends_;                               // knows where they end
  std::vector<std::unique_ptr<StreamThread>> threads_;  // one a stage
  std::vector<StageProbe> finished_probes_;
  int64_t steps_ = 0;  // moves the stages' time where the slice has none
  std::optional<int64_t> first_fed_ms_;
  int64_t fed_ms_ = 0;  // the latest
  uint64_t records_fed_ = 0;
  uint64_t bytes_fed_ = 0;
  uint64_t records_since_checkpoint_ = 0;
  uint64_t bytes_since_checkpoint_ = 0;
  int64_t steps_since_checkpoint_ = 0;
  bool resumed_ = false;
  bool ended_ = false;     // the stages have seen all
  bool finished_ = false;  // and it is written
};

}  // namespace eroica
