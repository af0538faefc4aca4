// NCCL's activation mask: the kinds of events that NCCL delivers. NCCL hands out the address of one
// int, the plugin writes it, and NCCL reads it for every operation that is enqueued.
//
// The plugin is not the only writer. NCCL 2.32 sets the mask from outside ("control ...
// profiler_mask" of its RAS port) and writes that value again after each init of a profiler. What
// the plugin did not write it leaves as it is, until the mask has again the value that the plugin
// wrote last. Only the first communicator of an NCCL writes whatever was there: init is where NCCL
// asks for a mask.
//
// Owner: the process' recorder. Threads: any; Join is [setup] and may lock, all else neither locks
// nor waits. The address stays valid: Join keeps the library that it lies in loaded.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "schemas/mutex.h"

namespace eroica::nccl {

class ActivationMask {
 public:
  // The mask that holds. Before that, wanted is written where the plugin was the last to write.
  int Follow(int wanted);
  // The mask that holds.
  int Now() const;
  // The mask that holds where somebody else wrote it.
  std::optional<int> FromOutside() const;

 private:
  friend class ActivationMasks;

  // Where the plugin writes; false: another thread is at it.
  bool Write(int wanted, bool whatever_is_there);

  std::atomic<int*> address_{nullptr};
  std::atomic<bool> pinned_{false};        // the address is in a library that stays
  std::atomic<int32_t> communicators_{0};  // that are open
  std::atomic<uint32_t> changes_{0};  // goes up when one begins and when it ends: odd meanwhile
  std::atomic<int> written_{0};       // by the plugin, last
};

// One mask for each NCCL in the process: mostly one.
class ActivationMasks {
 public:
  // A communicator of the NCCL with this mask begins: its mask, nullptr where there are too many
  // NCCLs or the address is none. wanted: as Follow, but that the first communicator writes it in
  // any case. [setup]
  ActivationMask* Join(int* address, int wanted);
  // The communicator is over.
  static void Leave(ActivationMask* mask);
  // Of the masks that were set from outside what is in all of them; of NCCLs with a communicator
  // whose library stays loaded.
  std::optional<int> FromOutside() const;

 private:
  static constexpr int kMostLibraries = 8;

  Mutex mutex_;  // of Join
  std::array<ActivationMask, kMostLibraries> masks_;
};

}  // namespace eroica::nccl
