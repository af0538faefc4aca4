// CUPTI as a small real thing for tests: it asks for buffers, writes records into them byte for
// byte as a chosen version does, brings a full buffer back on the thread that filled it and the
// others inside FlushAll, and has CUPTI's bad habits on demand. Thread-safe; it holds no lock while
// it calls back.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "producers/cupti/activity_record.h"
#include "producers/cupti/cupti_api.h"
#include "schemas/mutex.h"

namespace eroica {

class FakeCuptiApi : public CuptiApi {
 public:
  // Record sizes of a CUPTI version, by kind; every kind that stands in a buffer must be here.
  using RecordSizes = std::map<uint32_t, size_t>;
  static RecordSizes Cuda7();    // CUpti_ActivityKernel3, Memcpy, Memset, Synchronization
  static RecordSizes Cuda12();   // Kernel9
  static RecordSizes Cuda135();  // Kernel13, Memcpy7, PtoP4, Memset5, Synchronization2

  explicit FakeCuptiApi(RecordSizes sizes = Cuda12(), uint32_t version = 26);

  uint32_t Version() override { return version_; }
  int RegisterCallbacks(BufferRequested requested, BufferCompleted completed) override;
  int Enable(ActivityKind kind) override;
  int Disable(ActivityKind kind) override;
  int NextRecord(uint8_t* buffer, size_t valid_bytes, uint8_t** record) override;
  int FlushAll(bool forced) override;
  int DroppedRecords(size_t* count) override;
  int Timestamp(int64_t* time_ns) override;
  int RestoreClock() override;
  int ProbeSubscriber() override;
  int RecordUnfinishedQueries(bool record) override;

  // ---- What the device does. Work of a kind that is not enabled leaves no record.
  void Kernel(const char* symbol, int64_t start_ns, int64_t end_ns, uint32_t stream = 7,
              uint32_t device = 0);
  void Memcpy(uint8_t copy, uint8_t source, uint8_t target, int64_t start_ns, int64_t end_ns,
              ActivityKind kind = ActivityKind::kMemcpy);
  void Memset(uint16_t memory, int64_t start_ns, int64_t end_ns);
  void Synchronize(SynchronizationType type, int64_t start_ns, int64_t end_ns);
  // A record of a kind that nobody has heard of.
  void Unknown(uint32_t kind, size_t bytes);

  // ---- Bad habits.
  // Every call but RegisterCallbacks fails, as without a GPU.
  void BreakDown(int result = kCuptiUnknownError);
  void HoldBy(bool other_client);         // cuptiSubscribe refuses
  void RefuseEnable(int result);          // kCuptiSuccess: no longer
  void ReplaceCallbacks();                // another client registers; our buffers go to it
  void DropRecords(size_t count);         // and counts them
  void StampBy(int64_t clock_offset_ns);  // another client set a clock
  void KeepClock(bool keep);              // which RestoreClock does not undo
  // Every buffer holds a record that has not ended: only a forced flush brings them back.
  void KeepIncomplete(bool incomplete);

  // ---- What was asked of it.
  std::set<ActivityKind> enabled() const;
  bool records_unfinished_queries() const;
  int registrations() const;
  int probes() const;
  int flushes() const;
  int forced_flushes() const;
  uint64_t refused() const;          // records without a buffer
  uint64_t foreign_records() const;  // that went to the other client
  // It got no buffer, and is of a version that does not survive this.
  bool crashed() const;
  bool has_buffer() const;

 private:
  struct Filling {
    uint8_t* data = nullptr;
    size_t bytes = 0;
    size_t used = 0;
  };

  void Write(uint32_t kind, const std::vector<uint8_t>& record);
  std::vector<uint8_t> Blank(uint32_t kind) const;
  void BringBack(bool foreign, BufferCompleted completed, const Filling& buffer);

  mutable Mutex mutex_;
  RecordSizes sizes_;
  const uint32_t version_;
  BufferRequested requested_ = nullptr;
  BufferCompleted completed_ = nullptr;
  bool foreign_ = false;  // the callbacks are another client's
  Filling filling_;
  std::vector<Filling> kept_;  // full, but incomplete
  std::unique_ptr<uint8_t[]> foreign_buffer_;
  std::set<ActivityKind> enabled_;
  int broken_ = kCuptiSuccess;
  int refuse_enable_ = kCuptiSuccess;
  bool held_ = false;
  bool unfinished_queries_ = true;
  bool keep_clock_ = false;
  bool incomplete_ = false;
  int64_t clock_offset_ns_ = 0;
  size_t dropped_ = 0;
  int registrations_ = 0;
  int probes_ = 0;
  int flushes_ = 0;
  int forced_flushes_ = 0;
  uint64_t refused_ = 0;
  bool crashed_ = false;
  uint64_t foreign_records_ = 0;
};

}  // namespace eroica
