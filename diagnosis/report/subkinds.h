// Subkinds of claims by which those of one fault are known (explanation/shared_cause.h).
#pragma once

#include <string_view>

namespace eroica {

// Subkind of a claim that a rank is slow in single steps, and well in between.
inline constexpr std::string_view kTransient = "transient";

// Subkind of a claim that a host is slow as a whole: its culprits are the ranks there.
inline constexpr std::string_view kWholeHost = "host";
inline constexpr std::string_view kRoaming = "roaming";  // now this rank is late, and now that one

// Subkind of a claim that says which function a rank runs longer than its peers.
inline constexpr std::string_view kNamedFunction = "function";

// Subkind of a claim that all that a rank runs of a class is slow.
inline constexpr std::string_view kWholeRank = "whole_rank";

// Subkind of a claim that a rank runs a function that its peers do not, in a job without seen
// waits.
inline constexpr std::string_view kUnseenWaits = "unseen_waits";

// Subkind of a claim that a rank compiles again while its peers train.
inline constexpr std::string_view kRecompilation = "recompilation";

// Subkind of a hang that ends by itself: a rank compiles, and the others wait for it.
inline constexpr std::string_view kHangCompiling = "compiling";

// Subkind of a hang over a library of the host: a rank has launched what others wait in, and does
// not wait in it.
inline constexpr std::string_view kHangNotWaiting = "not_waiting";

// Subkind of a claim that the process of a rank ended while the job trained.
inline constexpr std::string_view kEndedProcess = "ended_process";

// Subkind of a claim by the order of arrival alone, of windows of few steps: what the rank ran at
// that moment is named, which need not be why.
inline constexpr std::string_view kLateArrival = "late_arrival";

// Subkind of an imbalance: each step another rank has the most work.
inline constexpr std::string_view kVarying = "varying";

// Subkind of a claim of the communication: what NVLink carried goes over PCIe.
inline constexpr std::string_view kNvlinkDown = "nvlink_down";

// Subkinds of gaps in the telemetry: steps of a rank, and what a capture that stood still left out.
inline constexpr std::string_view kMissingSteps = "ranks";
inline constexpr std::string_view kStoppedCollectives = "collectives";
inline constexpr std::string_view kStoppedDeviceWork = "device_work";

}  // namespace eroica
