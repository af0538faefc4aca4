// The blocks of a thread within one stretch of its work: times in which it waited for something,
// and wanted no processor. From its switches (thread_switches.h). A block also holds the moment
// from when the thread could run again until it did: the kernel's counts say how long all of them
// were. Owner: one thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "producers/python/thread_switches.h"

namespace eroica {

struct ThreadBlock {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t length_ns() const { return end_ns - begin_ns; }
};

class ThreadBlocks {
 public:
  // By time; none of a moment before the end of the last stretch.
  void Switch(const ThreadSwitch& change);
  // The stretch ends: a block that lasts is cut there.
  void End(int64_t end_ns);
  // Those of the stretch, by time; what begins next has none yet.
  std::span<const ThreadBlock> blocks() const { return blocks_; }
  int64_t total_ns() const;
  // For how long the thread wanted a processor because it had to leave its own.
  int64_t preempted_ns() const { return preempted_ns_; }
  // Whether these are all blocks of the stretch.
  bool is_whole() const { return is_whole_; }
  // The next stretch begins, at the end of the last one.
  void Begin();
  // Nothing is known any longer.
  void Forget() { *this = {}; }

 private:
  void Return(int64_t now_ns);

  std::vector<ThreadBlock> blocks_;
  std::optional<int64_t> blocked_since_ns_;
  std::optional<int64_t> preempted_since_ns_;
  int64_t preempted_ns_ = 0;
  bool sees_ = false;
  bool is_whole_ = false;
};

// The function that was seen last in a block of some length, in stretches of one kind.
class SeenBlocks {
 public:
  void Add(int64_t length_ns, uint32_t function);
  // In blocks that lasted about as long, by a factor of eight at most; of several the most alike.
  std::optional<uint32_t> MostAlike(int64_t length_ns) const;

 private:
  static constexpr size_t kLengths = 48;  // powers of two
  std::array<std::optional<uint32_t>, kLengths> functions_;
};

}  // namespace eroica
