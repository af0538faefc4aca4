// The real core, attached once in this test's process, with events that are encoded and thrown
// away.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "producers/core/producer_core.h"
#include "stream_ops/recording/scratch_directory.h"

namespace eroica {

class AttachedCore {
 public:
  AttachedCore() {
    ::setenv("EROICA_NULL", "1", 1);
    ::setenv("EROICA_RANK", "0", 1);
    ::setenv("EROICA_HOST_HZ", "0", 1);
    ::setenv("EROICA_SEND_MS", "10", 1);
    ::setenv("EROICA_LEVEL", "2", 1);
    ::setenv("EROICA_EXCHANGE", exchange_.path().c_str(), 1);
    attached_ = eroica_attach(nullptr);
  }

  bool attached() const { return attached_; }
  static EroicaCoreStatistics Statistics() {
    EroicaCoreStatistics statistics;
    eroica_core_statistics(&statistics);
    return statistics;
  }
  // Until the emitter has taken so many events or lost them; false after a minute.
  static bool AwaitEvents(uint64_t count) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (Statistics().events_taken + Statistics().events_lost < count) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

 private:
  ScratchDirectory exchange_;
  bool attached_ = false;
};

}  // namespace eroica
