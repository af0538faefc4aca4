// Taking device work by CUPTI in one process: who has CUPTI now, and what we do about it.
//
//            wanted              another client has it
//   kIdle ------------> kCapturing ------------------> kDisplaced: asks now and then, takes it back
//         <------------    |  ^    <------------------
//          not wanted      v  |  RequestYield(true), (false)
//                        kYielded            kOff: no CUPTI, no GPU or repeated trouble, for good
//
// Wanted: the core is on and the capture level is 1 or 2.
// CUPTI belongs to one client a process, and its activity callbacks and kinds to nobody: whoever
// registers later replaces who did before. So we never keep a subscription (torch.profiler and nsys
// would be refused), hand CUPTI over where we are asked to, and take nothing from a client
// that we find.
//
// Threads: Start, Step and Stop belong to one thread, the capture's, which alone calls CUPTI, and
// holds no lock while it does (buffers come back inside a flush). RequestYield is for any thread.
// CUPTI's own threads call BufferRequested and BufferCompleted, which have no boundary: they change
// atomics of the pool and call `wake`, and nothing in that throws.
// Times: now_ns is CLOCK_MONOTONIC and only paces; marks carry the core's time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "producers/cupti/activity_collector.h"
#include "producers/cupti/buffer_pool.h"
#include "producers/cupti/cupti_api.h"

namespace eroica {

class CuptiCapture {
 public:
  enum class State : uint8_t { kOff, kIdle, kCapturing, kYielded, kDisplaced };
  struct Options {
    BufferPool::Options pool;
    int64_t flush_period_ns = 500'000'000;
    // So long without any record, CUPTI is asked whether another client has come.
    int64_t quiet_ns = 10'000'000'000;
    int64_t longest_quiet_ns = 120'000'000'000;
    int64_t probe_period_ns = 10'000'000'000;
    int64_t longest_probe_period_ns = 60'000'000'000;
    int give_up_after = 5;  // failures in a row
    int64_t longest_wait_for_room_ns = 1'000'000'000;
    std::function<bool()> nccl_plugin_attached = [] { return false; };
    // A buffer came back; called by CUPTI's threads: neither locks nor throws.
    std::function<void()> wake = [] {};
    // Why it is off: once.
    std::function<void(const std::string&)> announce = [](const std::string&) {};
  };
  struct Counts {
    ActivityCollector::Counts collector;
    BufferPool::Counts pool;
    uint64_t dropped_by_cupti = 0;
    uint64_t displaced = 0;
    uint64_t retaken = 0;  // callbacks registered again because nothing came back
  };

  // One at a time in a process: CUPTI's callbacks carry no context.
  CuptiCapture(CuptiApi& api, Options options);
  ~CuptiCapture();
  CuptiCapture(const CuptiCapture&) = delete;
  CuptiCapture& operator=(const CuptiCapture&) = delete;

  State Start(int64_t now_ns);
  // Reads what came back, flushes when it is time, follows the capture level and the other clients.
  State Step(int64_t now_ns);
  // Brings in all there is, ended or not, and stops CUPTI; for the end of the process.
  void Stop();

  void RequestYield(bool yield) { yield_requested_.store(yield, std::memory_order_release); }

  State state() const { return state_; }
  Counts counts() const;

 private:
  static void BufferRequested(uint8_t** buffer, size_t* bytes, size_t* max_records);
  static void BufferCompleted(uint8_t* buffer, size_t bytes, size_t valid_bytes);

  void FollowRequests(int64_t now_ns);
  void Take(int64_t now_ns, bool probe);
  int EnableKinds();
  bool ClockIsRealtime();
  void Release(bool forced);
  void Displace(int64_t now_ns);
  void Fail(int64_t now_ns, const std::string& what, int result);
  void TurnOff(const std::string& why);
  void Flush(int64_t now_ns);
  void WatchForQuiet(int64_t now_ns);
  void LeaveWhereCrowded(int64_t now_ns);
  void Drain();
  void WaitForRoom(size_t bytes);
  void ReportLosses();
  void MarkSuspended();
  void MarkResumed();

  CuptiApi& api_;
  const Options options_;
  std::unique_ptr<BufferPool> pool_;
  ActivityCollector collector_;
  std::atomic<bool> yield_requested_{false};
  State state_ = State::kIdle;
  bool ever_taken_ = false;
  bool hooked_ = false;  // somebody tells us when to yield: no need to guess
  bool suspended_ = false;
  int failures_ = 0;
  int flush_failures_ = 0;
  int crowds_ = 0;
  int64_t next_flush_ns_ = 0;
  int64_t next_probe_ns_ = 0;
  int64_t probe_period_ns_ = 0;
  int64_t last_heard_ns_ = 0;
  int64_t quiet_ns_ = 0;
  uint64_t heard_ = 0;  // buffers that had come back then
  uint64_t stolen_bytes_ = 0;
  Counts counts_;
};

}  // namespace eroica
