#include "producers/core/trainer.h"

#include <algorithm>

namespace eroica {
namespace {

constexpr int kThreadShift = 8;  // the kernel's thread ids have 22 bits
constexpr int kNumberShift = 32;

std::atomic<uint32_t> next_number{1};

uint32_t NumberOf(uint64_t held) { return static_cast<uint32_t>(held >> kNumberShift); }

int32_t ThreadOf(uint64_t held) { return static_cast<int32_t>((held >> kThreadShift) & 0xFFFFFF); }

uint8_t SignsOf(uint64_t held) { return static_cast<uint8_t>(held); }

uint64_t HeldBy(const ThreadSigns& thread, uint8_t signs) {
  const auto id = static_cast<uint64_t>(thread.thread) & 0xFFFFFF;
  return (uint64_t{thread.number} << kNumberShift) | (id << kThreadShift) | signs;
}

}  // namespace

std::optional<TrainingSign> SignOf(MarkKind kind) {
  switch (kind) {
    case MarkKind::kStepBegin: return TrainingSign::kStep;
    case MarkKind::kBackwardBegin: return TrainingSign::kBackward;
    case MarkKind::kOptimizerStep: return TrainingSign::kOptimizer;
    case MarkKind::kDataloaderNext: return TrainingSign::kBatch;
    default: return std::nullopt;
  }
}

void Trainer::Take(ThreadSigns& mine, TrainingSign sign, int64_t now_ns) {
  if (mine.number == 0) mine.number = next_number.fetch_add(1, std::memory_order_relaxed);
  uint64_t held = held_.load(std::memory_order_acquire);
  if (NumberOf(held) == mine.number) return Renew(mine, held, sign, now_ns);
  if (mine.trainer != NumberOf(held)) {
    mine.trainer = NumberOf(held);
    mine.seen = 0;
  }
  mine.seen = static_cast<uint8_t>(mine.seen | static_cast<uint8_t>(sign));
  if (!TakesOver(mine, held, now_ns)) return;
  if (held_.compare_exchange_strong(held, HeldBy(mine, mine.seen), std::memory_order_acq_rel)) {
    last_ns_.store(now_ns, std::memory_order_relaxed);
    longest_ns_.store(0, std::memory_order_relaxed);
  }
}

bool Trainer::TakesOver(const ThreadSigns& mine, uint64_t held, int64_t now_ns) const {
  if (mine.seen > SignsOf(held)) return true;
  const int64_t patience_ns =
      std::max(kPatienceNs, 3 * longest_ns_.load(std::memory_order_relaxed));
  return now_ns - last_ns_.load(std::memory_order_relaxed) > patience_ns;
}

void Trainer::Renew(const ThreadSigns& mine, uint64_t held, TrainingSign sign, int64_t now_ns) {
  const int64_t silent_ns = now_ns - last_ns_.load(std::memory_order_relaxed);
  if (silent_ns > longest_ns_.load(std::memory_order_relaxed))
    longest_ns_.store(std::min(silent_ns, kLongestSilenceNs), std::memory_order_relaxed);
  last_ns_.store(now_ns, std::memory_order_relaxed);
  const auto signs = static_cast<uint8_t>(SignsOf(held) | static_cast<uint8_t>(sign));
  // Where another thread has just taken its place, it stays taken.
  if (signs != SignsOf(held)) held_.compare_exchange_strong(held, HeldBy(mine, signs));
}

bool Trainer::Is(const ThreadSigns& mine) const {
  const uint64_t held = held_.load(std::memory_order_acquire);
  return held == 0 ? mine.thread == main_thread_ : NumberOf(held) == mine.number;
}

MarkedBy Trainer::Marking(const ThreadSigns& mine, MarkKind kind) const {
  const uint64_t held = held_.load(std::memory_order_acquire);
  const auto has_shown = [held](TrainingSign sign) {
    return (SignsOf(held) & static_cast<uint8_t>(sign)) != 0;
  };
  const bool is_optimizer = kind == MarkKind::kOptimizerStep || kind == MarkKind::kStepEnd;
  const bool of_trainer = is_optimizer && !has_shown(TrainingSign::kOptimizer);
  if (!Is(mine) && !of_trainer) return MarkedBy::kOther;
  if (SignsOf(held) == static_cast<uint8_t>(TrainingSign::kBatch)) return MarkedBy::kLoader;
  return has_shown(TrainingSign::kBatch) ? MarkedBy::kTrainer : MarkedBy::kTrainerWithoutBatches;
}

Trainer::Thread Trainer::Read() const {
  const uint64_t held = held_.load(std::memory_order_acquire);
  if (held == 0) return {.thread = main_thread_};
  return {.thread = ThreadOf(held), .number = NumberOf(held)};
}

void Trainer::Ended(uint32_t number) {
  uint64_t held = held_.load(std::memory_order_acquire);
  while (held != 0 && NumberOf(held) == number && !held_.compare_exchange_weak(held, 0)) {
  }
}

}  // namespace eroica
