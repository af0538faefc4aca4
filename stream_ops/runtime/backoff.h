// Pauses that grow while the same thing fails, and log lines that do not: what a loop that tries
// again needs. Asks no clock. Owner: one thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace eroica {

class Backoff {
 public:
  struct Options {
    std::chrono::milliseconds first{};
    std::chrono::milliseconds longest{};
    uint32_t times_max = 0;  // in a row
  };
  explicit Backoff(Options options) : options_(options) {}

  // After another failure: how long to wait. Nothing: that was too often.
  std::optional<std::chrono::milliseconds> Next() {
    if (failures_ >= options_.times_max) return std::nullopt;
    const auto pause = options_.first * (int64_t{1} << std::min(failures_++, 16u));
    return std::min(pause, options_.longest);
  }
  void Reset() { failures_ = 0; }
  uint32_t failures() const { return failures_; }  // in a row

 private:
  const Options options_;
  uint32_t failures_ = 0;
};

// Lets one line through in ten seconds.
class LogRate {
 public:
  // How many lines were held back since the last one; nothing: this one is held back, too.
  std::optional<uint64_t> Due(std::chrono::steady_clock::time_point now) {
    if (logged_at_ && now - *logged_at_ < std::chrono::seconds(10)) {
      ++held_back_;
      return std::nullopt;
    }
    logged_at_ = now;
    return std::exchange(held_back_, 0);
  }

 private:
  std::optional<std::chrono::steady_clock::time_point> logged_at_;
  uint64_t held_back_ = 0;
};

}  // namespace eroica
