// The buffers that CUPTI writes its records into. One stretch of address space, taken at the start:
// nothing is allocated while training runs, memory is used only as far as CUPTI writes (the first
// buffers again and again), and what a burst has touched is given back to the system.
//
// Threads: Request and Complete are called by CUPTI on any thread, the application's among them:
// they neither lock nor allocate. Take, Recycle and Abandon belong to one thread, the capture's.
// Full: when no buffer is free, Request takes the oldest one that came back and was not read yet,
// and its records are lost and counted; where CUPTI holds all of them, it gets small spare buffers,
// and only after these nothing. CUPTI before 12.9 may crash on getting nothing (later ones count
// the records as dropped), so there crowded() tells the capture to stop CUPTI long before.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace eroica {

class BufferPool {
 public:
  // 32 MiB of address space, 4 MiB that stay in memory. A buffer comes back only when all its
  // records have ended, which under steady load is when it is full: small ones (about 1,200
  // kernels) keep the delay short.
  struct Options {
    size_t buffer_bytes = size_t{256} << 10;
    size_t buffers = 128;
    size_t resident_buffers = 16;  // keep their memory between uses
    size_t spare_bytes = size_t{64} << 10;
    size_t spares = 256;
  };
  struct Buffer {
    uint8_t* data = nullptr;
    size_t valid_bytes = 0;
    size_t slot = 0;
  };
  struct Counts {
    uint64_t completed = 0;
    uint64_t stolen = 0;        // lost unread
    uint64_t stolen_bytes = 0;  // what was valid in them
    uint64_t refused = 0;       // CUPTI got nothing
    uint64_t foreign = 0;       // came back but were never ours: another client's
  };

  // nullptr where the system gives no address space.
  static std::unique_ptr<BufferPool> Create(const Options& options);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // Aligned to a page; *buffer is nullptr and *bytes 0 where there is none.
  void Request(uint8_t** buffer, size_t* bytes);
  void Complete(uint8_t* buffer, size_t valid_bytes);

  // The one that came back first; false where there is none.
  bool Take(Buffer* buffer);
  // After reading what was taken.
  void Recycle(const Buffer& buffer);
  // CUPTI will hardly bring back what it holds: another client's callbacks got it. Abandoned
  // buffers are not used again unless they come back after all.
  void Abandon();

  bool crowded() const { return crowded_.load(std::memory_order_relaxed); }
  void ForgetCrowd() { crowded_.store(false, std::memory_order_relaxed); }
  size_t Held() const;  // by CUPTI
  size_t Abandoned() const;
  Counts counts() const;
  const Options& options() const { return options_; }

 private:
  enum class State : uint8_t { kFree, kLent, kAbandoned, kCompleted, kTaken };
  struct Slot {
    uint8_t* data = nullptr;
    size_t bytes = 0;
    std::atomic<State> state{State::kFree};
    std::atomic<size_t> valid_bytes{0};
    std::atomic<uint64_t> order{0};  // of completion
  };

  BufferPool(const Options& options, uint8_t* memory, size_t memory_bytes);
  bool Lend(size_t first, size_t last, uint8_t** buffer, size_t* bytes);
  bool Steal(uint8_t** buffer, size_t* bytes);
  size_t OldestCompleted() const;  // slots_.size() where none is
  size_t SlotOf(const uint8_t* buffer) const;
  size_t Count(State state) const;

  const Options options_;
  uint8_t* const memory_;
  const size_t memory_bytes_;
  std::vector<Slot> slots_;  // the buffers, then the spares
  std::atomic<uint64_t> order_{0};
  std::atomic<bool> crowded_{false};
  std::atomic<uint64_t> stolen_{0};
  std::atomic<uint64_t> stolen_bytes_{0};
  std::atomic<uint64_t> refused_{0};
  std::atomic<uint64_t> foreign_{0};
};

}  // namespace eroica
