// What the processes of a Chrome trace are: a process of the host, a device of any vendor, a view
// that the profiler derived. Asked for events that have no category, or an unknown one. One owner,
// one thread.
//
// Kineto names devices by process_labels ("GPU 0"). torch_npu (profiler/analysis/prof_view) writes
// the processes Python and CANN, "Ascend Hardware" with a thread a stream, "HCCL" or
// "Communication" with collectives and their parts, and "Overlap Analysis", which is derived; its
// events of the device and of CANN have no category. XLA's profiler (JAX, TensorFlow) names
// processes "/host:CPU" and "/device:GPU:0".
#pragma once

#include <absl/container/flat_hash_map.h>

#include <string>
#include <string_view>

#include "producers/import/chrome_event.h"
#include "producers/import/function_classifier.h"

namespace eroica {

class ProcessKinds {
 public:
  // A metadata event: process_name and process_labels are kept.
  void Read(const ChromeEvent& metadata);

  // Of an event whose own category does not say it, from its process, its raw name and its args;
  // never kUnknown.
  TraceCategory CategoryOf(const ChromeEvent& event) const;

  // Whether XLA's profiler wrote the trace.
  bool of_xla() const { return of_xla_; }

 private:
  enum class Kind : uint8_t { kHost, kDevice, kCommunication, kDerived };
  Kind KindOf(const ChromeEvent& event) const;

  static constexpr size_t kMaxProcesses = 65'536;
  absl::flat_hash_map<std::string, Kind> kinds_;  // by pid, of those that are no host's
  bool of_xla_ = false;
};

// A call of CANN's layers, on the thread of the host that its tid names:
// "AscendCL@aclrtSynchronizeStream". It lies in a process of its own.
bool IsCannCall(std::string_view name);

}  // namespace eroica
