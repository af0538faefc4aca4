#include "producers/cupti/testing/fake_cupti_api.h"

#include <cstring>
#include <ctime>
#include <utility>

namespace eroica {
namespace {

constexpr size_t kForeignBytes = 4'096;
constexpr uint32_t kSurvivesNoBuffer = 27;

template <typename Value>
void Put(std::vector<uint8_t>& record, size_t offset, Value value) {
  if (offset + sizeof(value) <= record.size()) {
    std::memcpy(record.data() + offset, &value, sizeof(value));
  }
}

template <typename Layout>
void PutPlace(std::vector<uint8_t>& record, int64_t start, int64_t end, uint32_t device,
              uint32_t stream) {
  Put(record, Layout::kStart, start);
  Put(record, Layout::kEnd, end);
  Put(record, Layout::kDevice, device);
  Put(record, Layout::kStream, stream);
}

int64_t RealtimeNs() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace

FakeCuptiApi::RecordSizes FakeCuptiApi::Cuda7() {
  return {{1, 64}, {2, 64}, {10, 120}, {22, 72}, {38, 40}};
}
FakeCuptiApi::RecordSizes FakeCuptiApi::Cuda12() {
  return {{1, 88}, {2, 80}, {10, 208}, {22, 96}, {38, 40}};
}
FakeCuptiApi::RecordSizes FakeCuptiApi::Cuda135() {
  return {{1, 112}, {2, 104}, {10, 248}, {22, 96}, {38, 56}};
}

FakeCuptiApi::FakeCuptiApi(RecordSizes sizes, uint32_t version)
    : sizes_(std::move(sizes)), version_(version) {}

int FakeCuptiApi::RegisterCallbacks(BufferRequested requested, BufferCompleted completed) {
  const MutexLock lock(mutex_);
  ++registrations_;
  requested_ = requested;
  completed_ = completed;
  if (foreign_) filling_ = {};  // the other client's buffer stays with it
  foreign_ = false;
  return kCuptiSuccess;
}

int FakeCuptiApi::Enable(ActivityKind kind) {
  const MutexLock lock(mutex_);
  if (broken_ != kCuptiSuccess) return broken_;
  if (refuse_enable_ != kCuptiSuccess) return refuse_enable_;
  enabled_.insert(kind);
  return kCuptiSuccess;
}

int FakeCuptiApi::Disable(ActivityKind kind) {
  const MutexLock lock(mutex_);
  if (broken_ != kCuptiSuccess) return broken_;
  enabled_.erase(kind);
  return kCuptiSuccess;
}

int FakeCuptiApi::NextRecord(uint8_t* buffer, size_t valid_bytes, uint8_t** record) {
  const auto size_at = [&](const uint8_t* at) {
    uint32_t kind = 0;
    std::memcpy(&kind, at, sizeof(kind));
    const auto size = sizes_.find(kind);
    return size == sizes_.end() ? size_t{0} : size->second;
  };
  uint8_t* next = buffer;
  if (*record != nullptr) {
    const size_t size = size_at(*record);
    if (size == 0) return kCuptiNoMoreRecords;
    next = *record + size;
  }
  if (next + sizeof(uint32_t) > buffer + valid_bytes) return kCuptiNoMoreRecords;
  *record = next;
  return kCuptiSuccess;
}

int FakeCuptiApi::FlushAll(bool forced) {
  std::vector<Filling> back;
  BufferCompleted completed = nullptr;
  bool foreign = false;
  {
    const MutexLock lock(mutex_);
    if (broken_ != kCuptiSuccess) return broken_;
    ++flushes_;
    if (forced) ++forced_flushes_;
    if (incomplete_ && !forced) return kCuptiSuccess;
    back = std::exchange(kept_, {});
    back.push_back(std::exchange(filling_, {}));
    completed = completed_;
    foreign = foreign_;
  }
  for (const Filling& buffer : back) BringBack(foreign, completed, buffer);
  return kCuptiSuccess;
}

int FakeCuptiApi::DroppedRecords(size_t* count) {
  const MutexLock lock(mutex_);
  *count = std::exchange(dropped_, size_t{0});
  return kCuptiSuccess;
}

int FakeCuptiApi::Timestamp(int64_t* time_ns) {
  const MutexLock lock(mutex_);
  if (broken_ != kCuptiSuccess) return broken_;
  *time_ns = RealtimeNs() + clock_offset_ns_;
  return kCuptiSuccess;
}

int FakeCuptiApi::RestoreClock() {
  const MutexLock lock(mutex_);
  if (!keep_clock_) clock_offset_ns_ = 0;
  return kCuptiSuccess;
}

int FakeCuptiApi::RecordUnfinishedQueries(bool record) {
  const MutexLock lock(mutex_);
  if (broken_ != kCuptiSuccess) return broken_;
  unfinished_queries_ = record;
  return kCuptiSuccess;
}

int FakeCuptiApi::ProbeSubscriber() {
  const MutexLock lock(mutex_);
  ++probes_;
  if (broken_ != kCuptiSuccess) return broken_;
  return held_ ? kCuptiMultipleSubscribers : kCuptiSuccess;
}

std::vector<uint8_t> FakeCuptiApi::Blank(uint32_t kind) const {
  const MutexLock lock(mutex_);
  std::vector<uint8_t> record(sizes_.at(kind), 0xA5);  // fields that we do not know hold anything
  Put(record, 0, kind);
  return record;
}

void FakeCuptiApi::Kernel(const char* symbol, int64_t start_ns, int64_t end_ns, uint32_t stream,
                          uint32_t device) {
  using Layout = activity_layout::KernelFields;
  std::vector<uint8_t> record = Blank(10);
  PutPlace<Layout>(record, start_ns, end_ns, device, stream);
  Put(record, Layout::kName, symbol);
  Write(10, record);
}

void FakeCuptiApi::Memcpy(uint8_t copy, uint8_t source, uint8_t target, int64_t start_ns,
                          int64_t end_ns, ActivityKind kind) {
  using Layout = activity_layout::MemcpyFields;
  std::vector<uint8_t> record = Blank(static_cast<uint32_t>(kind));
  PutPlace<Layout>(record, start_ns, end_ns, 0, 7);
  Put(record, Layout::kCopyKind, copy);
  Put(record, Layout::kSourceKind, source);
  Put(record, Layout::kTargetKind, target);
  Write(static_cast<uint32_t>(kind), record);
}

void FakeCuptiApi::Memset(uint16_t memory, int64_t start_ns, int64_t end_ns) {
  using Layout = activity_layout::MemsetFields;
  std::vector<uint8_t> record = Blank(2);
  PutPlace<Layout>(record, start_ns, end_ns, 0, 7);
  Put(record, Layout::kMemoryKind, memory);
  Write(2, record);
}

void FakeCuptiApi::Synchronize(SynchronizationType type, int64_t start_ns, int64_t end_ns) {
  using Layout = activity_layout::SynchronizationFields;
  std::vector<uint8_t> record = Blank(38);
  Put(record, Layout::kType, type);
  Put(record, Layout::kStart, start_ns);
  Put(record, Layout::kEnd, end_ns);
  Write(38, record);
}

void FakeCuptiApi::Unknown(uint32_t kind, size_t bytes) {
  {
    const MutexLock lock(mutex_);
    sizes_[kind] = bytes;
    enabled_.insert(static_cast<ActivityKind>(kind));
  }
  Write(kind, Blank(kind));
}

// Asks for a buffer where there is none, and brings it back where the record has no room.
void FakeCuptiApi::Write(uint32_t kind, const std::vector<uint8_t>& record) {
  MutexLock lock(mutex_);
  if (broken_ != kCuptiSuccess || !enabled_.contains(static_cast<ActivityKind>(kind))) return;
  if (filling_.data != nullptr && filling_.used + record.size() > filling_.bytes) {
    const Filling full = std::exchange(filling_, {});
    const BufferCompleted completed = completed_;
    const bool foreign = foreign_;
    if (incomplete_ && !foreign) {
      kept_.push_back(full);
    } else {
      lock.Unlock();
      BringBack(foreign, completed, full);
      lock.Lock();
    }
  }
  if (filling_.data == nullptr && foreign_) {
    foreign_buffer_ = std::make_unique<uint8_t[]>(kForeignBytes);
    filling_ = {foreign_buffer_.get(), kForeignBytes, 0};
  }
  if (filling_.data == nullptr) {
    const BufferRequested requested = requested_;
    Filling fresh;
    size_t max_records = 0;
    lock.Unlock();
    requested(&fresh.data, &fresh.bytes, &max_records);
    lock.Lock();
    if (fresh.data == nullptr && version_ < kSurvivesNoBuffer) crashed_ = true;
    if (filling_.data == nullptr) {
      filling_ = fresh;
    } else if (fresh.data != nullptr) {  // another thread asked at the same time
      const BufferCompleted completed = completed_;
      lock.Unlock();
      completed(fresh.data, fresh.bytes, 0);
      lock.Lock();
    }
  }
  if (filling_.data == nullptr || filling_.used + record.size() > filling_.bytes) {
    ++refused_;
    ++dropped_;
    return;
  }
  std::memcpy(filling_.data + filling_.used, record.data(), record.size());
  filling_.used += record.size();
  if (foreign_) ++foreign_records_;
}

void FakeCuptiApi::BringBack(bool foreign, BufferCompleted completed, const Filling& buffer) {
  if (buffer.data == nullptr || foreign || completed == nullptr) return;
  completed(buffer.data, buffer.bytes, buffer.used);
}

void FakeCuptiApi::BreakDown(int result) {
  const MutexLock lock(mutex_);
  broken_ = result;
}
void FakeCuptiApi::HoldBy(bool other_client) {
  const MutexLock lock(mutex_);
  held_ = other_client;
}
void FakeCuptiApi::RefuseEnable(int result) {
  const MutexLock lock(mutex_);
  refuse_enable_ = result;
}
void FakeCuptiApi::ReplaceCallbacks() {
  const MutexLock lock(mutex_);
  foreign_ = true;  // what we lent is lost with the next full buffer
}
void FakeCuptiApi::DropRecords(size_t count) {
  const MutexLock lock(mutex_);
  dropped_ += count;
}
void FakeCuptiApi::StampBy(int64_t clock_offset_ns) {
  const MutexLock lock(mutex_);
  clock_offset_ns_ = clock_offset_ns;
}
void FakeCuptiApi::KeepClock(bool keep) {
  const MutexLock lock(mutex_);
  keep_clock_ = keep;
}
void FakeCuptiApi::KeepIncomplete(bool incomplete) {
  const MutexLock lock(mutex_);
  incomplete_ = incomplete;
}

std::set<ActivityKind> FakeCuptiApi::enabled() const {
  const MutexLock lock(mutex_);
  return enabled_;
}
bool FakeCuptiApi::records_unfinished_queries() const {
  const MutexLock lock(mutex_);
  return unfinished_queries_;
}
int FakeCuptiApi::registrations() const {
  const MutexLock lock(mutex_);
  return registrations_;
}
int FakeCuptiApi::probes() const {
  const MutexLock lock(mutex_);
  return probes_;
}
int FakeCuptiApi::flushes() const {
  const MutexLock lock(mutex_);
  return flushes_;
}
int FakeCuptiApi::forced_flushes() const {
  const MutexLock lock(mutex_);
  return forced_flushes_;
}
uint64_t FakeCuptiApi::refused() const {
  const MutexLock lock(mutex_);
  return refused_;
}
bool FakeCuptiApi::crashed() const {
  const MutexLock lock(mutex_);
  return crashed_;
}
uint64_t FakeCuptiApi::foreign_records() const {
  const MutexLock lock(mutex_);
  return foreign_records_;
}
bool FakeCuptiApi::has_buffer() const {
  const MutexLock lock(mutex_);
  return filling_.data != nullptr;
}

}  // namespace eroica
