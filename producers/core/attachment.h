// The core's life in this process: never attached, on, off for good; or handed over to a process
// that it has started, until it comes to train itself. One a process. See
// producer_core.h for what the outside may rely on.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "producers/core/core_state.h"
#include "producers/core/emitter_thread.h"
#include "producers/core/producer_config.h"
#include "producers/core/producer_core.h"
#include "producers/core/rank_claim.h"
#include "schemas/mutex.h"
#include "schemas/thread_boundary.h"

namespace eroica {

class Attachment {
 public:
  static Attachment& OfProcess();

  // Null where events are not taken. Hot.
  static CoreState* state() { return state_.load(std::memory_order_acquire); }

  bool Attach(const EroicaAttachOptions& options);
  void Detach(std::chrono::milliseconds timeout);
  // The process is what trains, and keeps the rank whatever its children do. Any thread.
  void Keep();
  // A library threw within a call of the host's: the collection is off from now on, and that is
  // said once. Any thread; takes no memory.
  void TurnOffThrown(const Thrown& thrown);
  // Likewise within Detach, which has switched the collection off: what it had to say of losses is
  // not said.
  void DetachThrown(const Thrown& thrown);
  // Lives for ever.
  const char* off_reason() const { return off_reason_.load(std::memory_order_acquire); }

 private:
  Attachment() = default;

  bool Start(const EroicaAttachOptions& options) EROICA_REQUIRES(mutex_);
  // The rank is handed over: attaches again where that process has let it go.
  bool Resume(const EroicaAttachOptions& options) EROICA_REQUIRES(mutex_);
  bool Run(ProducerConfig config, EmitterOptions emitter) EROICA_REQUIRES(mutex_);
  bool TurnOff(const std::string& reason, bool say);
  void SayThrown(const char* what, const Thrown& thrown);
  bool HandsOver();
  void AddWhatIsKnown(const EroicaAttachOptions& options);
  void RegisterHandlers() EROICA_REQUIRES(mutex_);
  static void AtExit();
  static void InForkedChild();
  [[noreturn]] static void OnCheckFailed(const char* file, int line, const char* condition);

  static std::atomic<CoreState*> state_;

  Mutex mutex_;  // of attaching and detaching; no hot call takes it
  bool decided_ EROICA_GUARDED_BY(mutex_) = false;  // attached once, or refused
  // Refused, as a process that this one descends from is the rank; it may hand it over.
  bool held_by_ancestor_ EROICA_GUARDED_BY(mutex_) = false;
  bool said_refused_ EROICA_GUARDED_BY(mutex_) = false;  // as it came back for its rank
  bool handlers_ EROICA_GUARDED_BY(mutex_) = false;
  uint32_t rank_ EROICA_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<CoreState> owned_ EROICA_GUARDED_BY(mutex_);
  std::unique_ptr<EmitterThread> thread_ EROICA_GUARDED_BY(mutex_);
  std::optional<RankClaim> claim_;  // set before other threads know of it
  std::atomic<const char*> off_reason_{""};
  enum class Rank : uint8_t { kMayBeHandedOver, kKept, kHandedOver };
  std::atomic<Rank> hold_{Rank::kMayBeHandedOver};
  std::atomic<bool> forked_{false};
};

}  // namespace eroica
