#include "producers/python/thread_switches.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "producers/core/producer_core.h"
#include "producers/python/switch_event.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

// 1,000 switches, of 16 bytes each: at 20 looks a second, 20,000 switches a second. Pages count
// towards perf_event_mlock_kb, which all ranks of a user share: fewer are better than none.
constexpr size_t kPages = 4;
constexpr size_t kMostRead = 4'096;
constexpr double kCostNs = 1'000;  // of a switch, to the thread
constexpr double kMostOfItsTime = 0.0025;

}  // namespace

ThreadSwitches::ThreadSwitches(int thread, int64_t now_ns) : thread_(thread), second_ns_(now_ns) {
  Open();
}

ThreadSwitches::~ThreadSwitches() { Close(); }

void ThreadSwitches::Open() {
  file_ = OpenSwitchEvent(thread_);
  if (file_ < 0) return;
  Map();
  if (is_open()) Add(eroica_now_ns(), ThreadSwitch::Kind::kLost);
}

void ThreadSwitches::Close() {
  if (is_open()) munmap(ring_, ring_bytes_);
  if (file_ >= 0) close(file_);
  ring_ = nullptr;
  file_ = -1;
}

void ThreadSwitches::KeepPace(int64_t now_ns) {
  if (!is_open()) {
    if (opens_again_ns_ < 0 || now_ns < opens_again_ns_) return;
    opens_again_ns_ = -1;
    second_ns_ = now_ns;
    switches_ = 0;
    return Open();
  }
  const int64_t passed_ns = now_ns - second_ns_;
  if (passed_ns < kNsPerSecond) return;
  const auto cost_ns = static_cast<double>(switches_) * kCostNs;
  const auto due_ns = static_cast<int64_t>(cost_ns / kMostOfItsTime);  // from the second's begin
  if (due_ns > passed_ns) {
    Close();
    Add(latest_ns_, ThreadSwitch::Kind::kLost);
    opens_again_ns_ = second_ns_ + due_ns;
  }
  second_ns_ = now_ns;
  switches_ = 0;
}

void ThreadSwitches::Map() {
  const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (size_t pages = kPages; pages > 0; pages /= 2) {
    ring_bytes_ = (pages + 1) * page_bytes;
    void* ring = mmap(nullptr, ring_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (ring == MAP_FAILED) continue;
    ring_ = ring;
    return;
  }
}

uint64_t ThreadSwitches::WordAt(uint64_t position) const {
  const auto* page = static_cast<const perf_event_mmap_page*>(ring_);
  const char* records = static_cast<const char*>(ring_) + page->data_offset;
  uint64_t word = 0;  // records are of whole words: none is cut by the ring's end
  std::memcpy(&word, records + position % page->data_size, sizeof word);
  return word;
}

void ThreadSwitches::Add(int64_t time_ns, ThreadSwitch::Kind kind) {
  latest_ns_ = std::max(latest_ns_, time_ns);
  if (read_.size() >= kMostRead) {  // nobody takes them
    read_.clear();
    kind = ThreadSwitch::Kind::kLost;
  }
  read_.push_back({.time_ns = latest_ns_, .kind = kind});
}

void ThreadSwitches::ReadRing() {
  auto* page = static_cast<perf_event_mmap_page*>(ring_);
  const uint64_t head = std::atomic_ref(page->data_head).load(std::memory_order_acquire);
  uint64_t at = page->data_tail;
  while (at < head) {
    const uint64_t word = WordAt(at);
    perf_event_header header;
    std::memcpy(&header, &word, sizeof header);
    if (header.size < sizeof header) break;
    if (header.type == PERF_RECORD_LOST) {
      Add(latest_ns_, ThreadSwitch::Kind::kLost);
    } else if (header.type == PERF_RECORD_SWITCH) {
      ++switches_;
      const auto time_ns = static_cast<int64_t>(WordAt(at + header.size - sizeof(uint64_t)));
      ThreadSwitch::Kind kind = ThreadSwitch::Kind::kRuns;
      if (header.misc & PERF_RECORD_MISC_SWITCH_OUT)
        kind = header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? ThreadSwitch::Kind::kPreempted
                                                                 : ThreadSwitch::Kind::kBlocked;
      Add(eroica_from_monotonic_ns(time_ns), kind);
    }
    at += header.size;
  }
  std::atomic_ref(page->data_tail).store(head, std::memory_order_release);
}

std::optional<ThreadSwitch> ThreadSwitches::Take(int64_t until_ns) {
  if (read_.empty() && is_open()) ReadRing();
  if (read_.empty() || read_.front().time_ns > until_ns) return std::nullopt;
  const ThreadSwitch first = read_.front();
  read_.pop_front();
  return first;
}

}  // namespace eroica
