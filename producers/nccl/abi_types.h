// What the versions of NCCL's profiler ABI share: results, event types, states and the log
// function. Our own declarations, written from the layout as a fact; nothing of NCCL is included.
// An enum of C travels as an int.
#pragma once

#include <cstdint>

namespace eroica::nccl {

using AbiResult = int;
inline constexpr AbiResult kAbiSuccess = 0;

using AbiLogFunction = void (*)(int level, unsigned long flags, const char* file, int line,
                                const char* format, ...);

// Bits of the activation mask, and the type of an event. NCCL delivers a parent where only its
// child was asked for. Versions 3 and 4 carry the type in 8 bits: what lies above arrives as 0.
inline constexpr uint64_t kGroupEvent = 1 << 0;
inline constexpr uint64_t kCollEvent = 1 << 1;
inline constexpr uint64_t kP2pEvent = 1 << 2;
inline constexpr uint64_t kProxyOpEvent = 1 << 3;
inline constexpr uint64_t kProxyStepEvent = 1 << 4;
inline constexpr uint64_t kKernelChEvent = 1 << 6;
inline constexpr uint64_t kNetPluginEvent = 1 << 7;
inline constexpr uint64_t kGroupApiEvent = 1 << 8;
inline constexpr uint64_t kKernelPhaseEvent = 1 << 15;

// States that the plugin listens to; a state is signalled when it is entered.
inline constexpr int kProxyStepSendWait = 9;  // the data of a step is handed to the network
inline constexpr int kKernelChStop = 22;  // carries the device's timer; not signalled in version 3
// Of an event that the plugin does not ask for.
inline constexpr int kKernelPhaseStop = 31;

}  // namespace eroica::nccl
