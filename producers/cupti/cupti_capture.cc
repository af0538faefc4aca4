#include "producers/cupti/cupti_capture.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "producers/core/producer_core.h"

namespace eroica {
namespace {

// The first one decides; without the others we take less.
constexpr std::array<ActivityKind, 5> kKinds = {
    ActivityKind::kConcurrentKernel, ActivityKind::kMemcpy, ActivityKind::kPeerMemcpy,
    ActivityKind::kMemset, ActivityKind::kSynchronization};
constexpr uint32_t kMayRefuseBuffers = 27;  // CUPTI of CUDA 12.9
constexpr uint64_t kUsualRecordBytes = 208;
constexpr uint64_t kShortestRecordBytes = 48;
constexpr int64_t kPauseNs = 1'000'000;
constexpr int64_t kClockTolerance = 100'000'000;
constexpr int kMaxFlushFailures = 10;

// CUPTI's callbacks carry no context.
std::atomic<CuptiCapture*> the_capture{nullptr};

int64_t RealtimeNs() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

bool Wanted() { return eroica_enabled() && eroica_capture_level() > 0; }

BufferPool::Options PoolOptions(BufferPool::Options options, uint32_t version) {
  if (version >= kMayRefuseBuffers) options.spares = 0;
  return options;
}

}  // namespace

CuptiCapture::CuptiCapture(CuptiApi& api, Options options)
    : api_(api),
      options_(std::move(options)),
      pool_(BufferPool::Create(PoolOptions(options_.pool, api.Version()))),
      collector_(api, options_.nccl_plugin_attached),
      probe_period_ns_(options_.probe_period_ns) {
  the_capture.store(this, std::memory_order_release);
}

CuptiCapture::~CuptiCapture() { the_capture.store(nullptr, std::memory_order_release); }

void CuptiCapture::BufferRequested(uint8_t** buffer, size_t* bytes, size_t* max_records) {
  *buffer = nullptr;
  *bytes = 0;
  *max_records = 0;  // as many as fit
  CuptiCapture* capture = the_capture.load(std::memory_order_acquire);
  if (capture == nullptr) return;
  capture->pool_->Request(buffer, bytes);
  if (capture->pool_->crowded()) capture->options_.wake();
}

void CuptiCapture::BufferCompleted(uint8_t* buffer, size_t, size_t valid_bytes) {
  CuptiCapture* capture = the_capture.load(std::memory_order_acquire);
  if (capture == nullptr) return;
  capture->pool_->Complete(buffer, valid_bytes);
  capture->options_.wake();
}

CuptiCapture::State CuptiCapture::Start(int64_t now_ns) {
  if (pool_ == nullptr) {
    TurnOff("the system gave no memory for CUPTI's buffers");
  } else if (Wanted()) {
    Take(now_ns, true);
  }
  return state_;
}

CuptiCapture::State CuptiCapture::Step(int64_t now_ns) {
  if (state_ == State::kOff) return state_;
  Drain();
  FollowRequests(now_ns);
  switch (state_) {
    case State::kIdle:
      if (Wanted()) Take(now_ns, !hooked_);
      break;
    case State::kCapturing:
      LeaveWhereCrowded(now_ns);
      if (state_ != State::kCapturing) break;
      if (!Wanted()) {
        Release(false);
        state_ = State::kIdle;
      } else if (now_ns >= next_flush_ns_) {
        Flush(now_ns);
      }
      break;
    case State::kDisplaced:
      if (now_ns >= next_probe_ns_ && Wanted()) Take(now_ns, !hooked_);
      break;
    case State::kYielded:
    case State::kOff: break;
  }
  return state_;
}

void CuptiCapture::FollowRequests(int64_t now_ns) {
  const bool yield = yield_requested_.load(std::memory_order_acquire);
  if (yield == (state_ == State::kYielded)) return;
  hooked_ = true;
  if (yield) {
    if (state_ == State::kCapturing) Release(true);
    state_ = State::kYielded;
    MarkSuspended();
    return;
  }
  // Not probed: PyTorch keeps its subscription after it has stopped profiling, and who asks us to
  // resume knows.
  state_ = State::kIdle;
  if (Wanted()) Take(now_ns, false);
  if (state_ == State::kIdle) MarkResumed();
}

void CuptiCapture::Take(int64_t now_ns, bool probe) {
  if (probe && IsHeldByAnotherClient(api_.ProbeSubscriber())) {
    Displace(now_ns);
    return;
  }
  pool_->Abandon();
  pool_->ForgetCrowd();
  if (const int result = api_.RegisterCallbacks(&BufferRequested, &BufferCompleted);
      result != kCuptiSuccess) {
    Fail(now_ns, "cuptiActivityRegisterCallbacks", result);
    return;
  }
  if (!ClockIsRealtime()) {
    Fail(now_ns, "another client's clock stamps its records", kCuptiSuccess);
    return;
  }
  if (const int result = EnableKinds(); result != kCuptiSuccess) {
    Fail(now_ns, "cuptiActivityEnable", result);
    return;
  }
  state_ = State::kCapturing;
  ever_taken_ = true;
  failures_ = 0;
  flush_failures_ = 0;
  probe_period_ns_ = options_.probe_period_ns;
  next_flush_ns_ = now_ns + options_.flush_period_ns;
  last_heard_ns_ = now_ns;
  heard_ = pool_->counts().completed;
  quiet_ns_ = options_.quiet_ns;
  MarkResumed();
}

int CuptiCapture::EnableKinds() {
  const int result = api_.Enable(kKinds[0]);
  if (result != kCuptiSuccess) return result;
  for (const ActivityKind kind : kKinds) api_.Enable(kind);
  api_.RecordUnfinishedQueries(false);
  return kCuptiSuccess;
}

// Kineto sets a clock of its own on some machines, and it outlives the profiler.
bool CuptiCapture::ClockIsRealtime() {
  for (const bool restored : {false, true}) {
    if (restored && api_.RestoreClock() != kCuptiSuccess) return false;
    int64_t stamp = 0;
    // Where CUPTI does not say, Enable will tell what is wrong.
    if (api_.Timestamp(&stamp) != kCuptiSuccess) return true;
    const int64_t now = RealtimeNs();
    if (stamp > now - kClockTolerance && stamp < now + kClockTolerance) return true;
  }
  return false;
}

void CuptiCapture::Release(bool forced) {
  for (const ActivityKind kind : kKinds) api_.Disable(kind);
  api_.RecordUnfinishedQueries(true);
  api_.FlushAll(forced);
  Drain();
  ReportLosses();
}

void CuptiCapture::Displace(int64_t now_ns) {
  if (!suspended_) ++counts_.displaced;
  MarkSuspended();
  state_ = State::kDisplaced;
  next_probe_ns_ = now_ns + probe_period_ns_;
  probe_period_ns_ = std::min(2 * probe_period_ns_, options_.longest_probe_period_ns);
}

void CuptiCapture::Fail(int64_t now_ns, const std::string& what, int result) {
  const bool held = IsHeldByAnotherClient(result) || result == kCuptiSuccess;
  if (!held && (!ever_taken_ || ++failures_ >= options_.give_up_after)) {
    TurnOff(result == kCuptiNoSuchFunction
                ? what + " is missing in the libcupti that was found"
                : what + " answers " + std::to_string(result) +
                      (ever_taken_ ? "" : " (no GPU, or no driver that fits this CUPTI)"));
    return;
  }
  Displace(now_ns);
}

void CuptiCapture::TurnOff(const std::string& why) {
  if (state_ == State::kCapturing) Release(true);
  state_ = State::kOff;
  options_.announce(why);
}

void CuptiCapture::Flush(int64_t now_ns) {
  next_flush_ns_ = now_ns + options_.flush_period_ns;
  flush_failures_ = api_.FlushAll(false) == kCuptiSuccess ? 0 : flush_failures_ + 1;
  Drain();
  ReportLosses();
  if (flush_failures_ >= kMaxFlushFailures) {
    TurnOff("cuptiActivityFlushAll failed " + std::to_string(flush_failures_) + " times");
    return;
  }
  WatchForQuiet(now_ns);
}

// Nothing comes back: the device is idle, or another client has replaced our callbacks. Where none
// is subscribed, registering again is right in both cases.
void CuptiCapture::WatchForQuiet(int64_t now_ns) {
  const uint64_t heard = pool_->counts().completed;
  if (heard != heard_) {
    heard_ = heard;
    last_heard_ns_ = now_ns;
    quiet_ns_ = options_.quiet_ns;
    return;
  }
  if (hooked_ || now_ns - last_heard_ns_ < quiet_ns_) return;
  if (IsHeldByAnotherClient(api_.ProbeSubscriber())) {
    // The kinds stay enabled: they are the other client's now.
    Displace(now_ns);
    return;
  }
  pool_->Abandon();
  if (2 * pool_->Abandoned() > pool_->options().buffers) {
    TurnOff("other users of CUPTI keep our buffers");
    return;
  }
  ++counts_.retaken;
  api_.RegisterCallbacks(&BufferRequested, &BufferCompleted);
  EnableKinds();
  last_heard_ns_ = now_ns;
  quiet_ns_ = std::min(2 * quiet_ns_, options_.longest_quiet_ns);
}

// CUPTI holds every buffer, and would not survive getting none.
void CuptiCapture::LeaveWhereCrowded(int64_t now_ns) {
  if (!pool_->crowded()) return;
  pool_->ForgetCrowd();
  if (pool_->options().spares == 0) return;
  Release(true);
  if (++crowds_ >= options_.give_up_after) {
    TurnOff("CUPTI holds all buffers again and again");
  } else {
    Displace(now_ns);
  }
}

void CuptiCapture::Drain() {
  BufferPool::Buffer buffer;
  while (pool_->Take(&buffer)) {
    WaitForRoom(buffer.valid_bytes);
    collector_.Collect(buffer.data, buffer.valid_bytes);
    pool_->Recycle(buffer);
  }
}

// A device makes more records a second than the core takes at a time. The pool keeps them
// meanwhile: for a second at 160,000 kernels.
void CuptiCapture::WaitForRoom(size_t bytes) {
  const uint64_t most = bytes / kShortestRecordBytes;
  const timespec pause = {.tv_sec = 0, .tv_nsec = kPauseNs};
  for (int64_t waited = 0; eroica_room() < most; waited += kPauseNs) {
    if (waited >= options_.longest_wait_for_room_ns) return;
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
  }
}

void CuptiCapture::ReportLosses() {
  size_t dropped = 0;
  if (api_.DroppedRecords(&dropped) != kCuptiSuccess) dropped = 0;
  counts_.dropped_by_cupti += dropped;
  const uint64_t stolen_bytes = pool_->counts().stolen_bytes;
  const uint64_t stolen = (stolen_bytes - stolen_bytes_) / kUsualRecordBytes;
  stolen_bytes_ += stolen * kUsualRecordBytes;
  collector_.ReportLosses(dropped + stolen);
}

void CuptiCapture::Stop() {
  if (pool_ == nullptr) return;
  if (state_ == State::kCapturing) Release(true);
  state_ = State::kOff;
}

void CuptiCapture::MarkSuspended() {
  if (!suspended_)
    eroica_mark(eroica_now_ns(), EROICA_CAPTURE_SUSPENDED, EROICA_CAPTURE_OF_DEVICE_WORK);
  suspended_ = true;
}

void CuptiCapture::MarkResumed() {
  if (suspended_)
    eroica_mark(eroica_now_ns(), EROICA_CAPTURE_RESUMED, EROICA_CAPTURE_OF_DEVICE_WORK);
  suspended_ = false;
}

CuptiCapture::Counts CuptiCapture::counts() const {
  Counts counts = counts_;
  counts.collector = collector_.counts();
  if (pool_ != nullptr) counts.pool = pool_->counts();
  return counts;
}

}  // namespace eroica
