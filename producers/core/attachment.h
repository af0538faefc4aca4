// The core's life in this process: never attached, on, off for good. One a process. See
// producer_core.h for what the outside may rely on.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "producers/core/core_state.h"
#include "producers/core/emitter_thread.h"
#include "producers/core/producer_config.h"
#include "producers/core/producer_core.h"
#include "producers/core/rank_claim.h"

namespace eroica {

class Attachment {
 public:
  static Attachment& OfProcess();

  // Null where events are not taken. Hot.
  static CoreState* state() { return state_.load(std::memory_order_acquire); }

  bool Attach(const EroicaAttachOptions& options);
  void Detach(std::chrono::milliseconds timeout);
  // Lives for ever.
  const char* off_reason() const { return off_reason_.load(std::memory_order_acquire); }

 private:
  Attachment() = default;

  bool Start(const EroicaAttachOptions& options);
  bool TurnOff(const std::string& reason, bool say);
  void AddWhatIsKnown(const EroicaAttachOptions& options);
  void RegisterHandlers();
  static void AtExit();
  static void InForkedChild();
  [[noreturn]] static void OnCheckFailed(const char* file, int line, const char* condition);

  static std::atomic<CoreState*> state_;

  std::mutex mutex_;      // of attaching and detaching; no hot call takes it
  bool decided_ = false;  // attached once, or refused
  bool handlers_ = false;
  uint32_t rank_ = 0;
  std::unique_ptr<CoreState> owned_;
  std::unique_ptr<EmitterThread> thread_;
  std::optional<RankClaim> claim_;
  std::atomic<const char*> off_reason_{""};
  std::atomic<bool> forked_{false};
};

}  // namespace eroica
