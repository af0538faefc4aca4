// Drains the rings of the process, finds the steps, and sends batches: everything that happens
// between an event and the transport. Knows no thread and asks for no time: emitter_thread.h drives
// it.
// Owner: one thread.
//
// A batch that the transport does not take is dropped and counted; its count goes with the next
// one. While the rank makes no progress it says once a second where it stands (ProgressReport).
// Repeats that a capture is suspended as each step begins, and once a second before the first one:
// so every window holds it, wherever a reader begins and whatever is lost.
#pragma once

#include <absl/status/status.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "producers/core/batch_maker.h"
#include "producers/core/batch_sink.h"
#include "producers/core/capture_plan.h"
#include "producers/core/core_state.h"
#include "producers/core/step_detector.h"
#include "schemas/capture_gap.h"
#include "schemas/rank_standing.h"

namespace eroica {

struct EmitterOptions {
  ProducerIdentity identity;
  int64_t send_interval_ns = 500'000'000;
  CaptureLevel level = CaptureLevel::kEvents;
  int64_t first_step = 0;
};

class Emitter {
 public:
  static constexpr size_t kSendRows = 4'096;  // a batch is sent at once beyond this
  // without progress: a report, and one every so often
  static constexpr int64_t kStalledNs = 1'000'000'000;
  // without steps: how often it is said that a capture is suspended
  static constexpr int64_t kRepeatNs = 1'000'000'000;

  // state and sink must outlive the emitter.
  Emitter(CoreState* state, EmitterOptions options, BatchSink* sink);

  // One round. Returns how full the fullest ring was, 0 .. 1: the next round should come before it
  // is.
  double Tick(int64_t now_ns);
  // The last batch, marked final.
  void Finish(int64_t now_ns);

  // What somebody else asks for; false: refused.
  bool AddCapture(const Control& control, int64_t now_ns) { return plan_.Add(control, now_ns); }
  // What has become of the rank, at most once a cool-down (StepDetector).
  Degradation TakeDegradation(int64_t now_ns) { return steps_.Check(now_ns); }
  // Python is traced in full, or is about to be.
  bool expects_many_events() const { return plan_.WantsFullTrace(); }
  // Step, function and last progress of the rank, for the note that outlives its process.
  RankStanding Place(int64_t now_ns) const;
  int64_t step() const { return steps_.step(); }
  int64_t mean_step_ns() const { return steps_.mean_step_ns(); }
  const absl::Status& last_error() const { return last_error_; }

 private:
  void Take(const RingSlot& slot, const RingSlot* second);
  void TakeMark(const RingSlot& slot);
  // Steps are what the thread that trains does, whatever others load or save meanwhile.
  void TakeBatch(const RingSlot& slot);
  void TakeOptimizer(const RingSlot& slot);
  bool TakePause(const RingSlot& slot);  // false: it is none of the thread that trains
  void AddMark(const Mark& mark);
  void NoteCapture(const Mark& mark);
  bool IsSuspended(CaptureKind capture) const {
    return suspended_[static_cast<size_t>(capture)].has_value();
  }
  // Where there are no steps, windows are of time.
  void RepeatSuspended(int64_t now_ns);
  void ReportIfStalled(int64_t now_ns);
  void SetGate(int64_t now_ns);
  void Send(int64_t now_ns, bool final);
  void SendBatch(EventBatch& batch, bool final);

  CoreState* const state_;
  const EmitterOptions options_;
  BatchSink* const sink_;
  BatchMaker maker_;
  CapturePlan plan_;
  StepDetector steps_;
  std::vector<Mark> marks_;
  std::array<std::optional<Mark>, kCaptureKindCount>
      suspended_;  // the newest mark of what stands still
  uint64_t sequence_ = 0;
  int64_t last_send_ns_ = 0;
  int64_t last_progress_ns_ = 0;
  int64_t last_report_ns_ = 0;
  int64_t last_repeat_ns_ = 0;
  uint64_t progress_ = 0;                   // changes of the flight table at the last round
  std::optional<uint32_t> pausing_thread_;  // that evaluates or saves
  bool marked_ = false;                     // a mark has come since the last round
  absl::Status last_error_;
};

}  // namespace eroica
