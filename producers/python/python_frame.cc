#include "producers/python/python_frame.h"

#include <algorithm>
#include <array>

namespace eroica {
namespace {

template <size_t N>
bool AnyOf(std::string_view text, const std::array<std::string_view, N>& list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// "<built-in method NAME of TYPE object>" or "<built-in function NAME>".
struct BuiltIn {
  std::string_view name;
  std::string_view type;
};

bool ParseBuiltIn(std::string_view frame, BuiltIn* built_in) {
  constexpr std::string_view kMethod = "<built-in method ";
  constexpr std::string_view kFunction = "<built-in function ";
  if (frame.starts_with(kFunction)) {
    built_in->name = frame.substr(kFunction.size(), frame.find('>') - kFunction.size());
    return true;
  }
  if (!frame.starts_with(kMethod)) return false;
  const std::string_view rest = frame.substr(kMethod.size());
  const size_t of = rest.find(" of ");
  built_in->name = rest.substr(0, of);
  if (of != std::string_view::npos) built_in->type = rest.substr(of + 4);
  return true;
}

WaitKind WaitOfBuiltIn(const BuiltIn& call) {
  const bool lock = Contains(call.type, "lock") || Contains(call.type, "Lock");
  if (call.name == "acquire" || (lock && call.name == "__enter__")) return WaitKind::kOther;
  if (call.name == "wait") {
    const bool torch = Contains(call.type, "pybind11") || Contains(call.type, "Work") ||
                       Contains(call.type, "torch");
    return torch ? WaitKind::kPeer : WaitKind::kOther;
  }
  static constexpr std::array<std::string_view, 5> kSynchronize = {
      "synchronize", "_cuda_synchronize", "_accelerator_synchronizeDevice",
      "_cuda_synchronizeDevice", "_xpu_synchronize"};
  if (AnyOf(call.name, kSynchronize)) return WaitKind::kPeer;
  static constexpr std::array<std::string_view, 12> kOther = {
      "poll",       "select", "recv_into", "recvmsg", "recvfrom", "accept",
      "epoll_wait", "kqueue", "waitpid",   "wait4",   "sigwait",  "sem_timedwait"};
  if (AnyOf(call.name, kOther)) return WaitKind::kOther;
  const bool queue =
      Contains(call.type, "Queue") || Contains(call.type, "socket") || Contains(call.type, "SSL");
  if (queue && (call.name == "get" || call.name == "recv" || call.name == "read"))
    return WaitKind::kOther;
  return WaitKind::kNone;
}

// A frame of PyTorch's Python code. What c10d's functions call in C++ is the communication itself,
// and on host memory (gloo) the wait for it; what begins with wait below torch/distributed waits
// for it.
WaitKind WaitOfTorchFrame(std::string_view file, std::string_view function) {
  static constexpr std::array<std::string_view, 4> kPeer = {"synchronize", "barrier",
                                                            "monitored_barrier", "wait_tensor"};
  if (AnyOf(function, kPeer)) return WaitKind::kPeer;
  if (!Contains(file, "torch/distributed/")) return WaitKind::kNone;
  if (function.starts_with("wait") || function.starts_with("_wait")) return WaitKind::kPeer;
  static constexpr std::array<std::string_view, 10> kOperations = {
      "all_reduce", "all_gather", "reduce", "broadcast", "all_to_all",
      "gather",     "scatter",    "send",   "recv",      "_all_gather"};
  const bool operates = file.ends_with("/distributed_c10d.py") &&
                        std::any_of(kOperations.begin(), kOperations.end(), [&](auto operation) {
                          return function.starts_with(operation);
                        });
  return operates ? WaitKind::kPeer : WaitKind::kNone;
}

// Longest folder of sys.path that the file lies in, with its slash; 0 where it lies in none.
size_t LengthOfSearchPath(std::string_view file, std::span<const std::string_view> search_path) {
  size_t longest = 0;
  for (std::string_view folder : search_path) {
    while (folder.ends_with('/')) folder.remove_suffix(1);
    const bool inside =
        !folder.empty() && file.size() > folder.size() + 1 && file.starts_with(folder);
    if (inside && file[folder.size()] == '/') longest = std::max(longest, folder.size() + 1);
  }
  return longest;
}

}  // namespace

WaitKind WaitOfPythonFrame(std::string_view name) {
  BuiltIn built_in;
  if (ParseBuiltIn(name, &built_in)) return WaitOfBuiltIn(built_in);
  const size_t colon = name.rfind(": ");
  if (colon == std::string_view::npos) return WaitKind::kNone;
  const std::string_view file = name.substr(0, name.find('('));
  const std::string_view function = name.substr(colon + 2);
  if (file.starts_with("torch/") || Contains(file, "/torch/"))
    return WaitOfTorchFrame(file, function);
  if (file.ends_with("threading.py")) {
    static constexpr std::array<std::string_view, 6> kThreading = {
        "wait",     "acquire", "join", "_wait_for_tstate_lock", "_acquire_restore",
        "_shutdown"};  // the main thread at its end, for threads that still run
    return AnyOf(function, kThreading) ? WaitKind::kOther : WaitKind::kNone;
  }
  if (file.ends_with("queue.py") || file.ends_with("multiprocessing/queues.py"))
    return function == "get" ? WaitKind::kOther : WaitKind::kNone;
  if (file.ends_with("selectors.py"))
    return function == "select" ? WaitKind::kOther : WaitKind::kNone;
  if (file.ends_with("multiprocessing/connection.py")) {
    return function == "poll" || function == "_poll" || function == "wait" ? WaitKind::kOther
                                                                           : WaitKind::kNone;
  }
  return WaitKind::kNone;
}

std::string StripAddress(std::string name) {
  constexpr std::string_view kMarker = " at 0x";
  size_t at = name.find(kMarker);
  while (at != std::string::npos) {
    size_t end = at + kMarker.size();
    while (end < name.size() &&
           ((name[end] >= '0' && name[end] <= '9') || (name[end] >= 'a' && name[end] <= 'f') ||
            (name[end] >= 'A' && name[end] <= 'F'))) {
      ++end;
    }
    name.erase(at, end - at);
    at = name.find(kMarker, at);
  }
  return name;
}

std::string PythonFrameName(std::string_view file, int line, std::string_view function,
                            std::span<const std::string_view> search_path) {
  const size_t inside = LengthOfSearchPath(file, search_path);
  if (inside > 0) {
    file.remove_prefix(inside);
  } else if (const size_t slash = file.rfind('/'); slash != std::string_view::npos) {
    file.remove_prefix(slash + 1);
  }
  std::string name(file);
  name += '(';
  name += std::to_string(line);
  name += "): ";
  name += function;
  return name;
}

bool IsBootstrapFrame(std::string_view file) {
  return file.starts_with("<frozen importlib") || file == "<frozen zipimport>" ||
         file == "<frozen runpy>" || file.ends_with("/runpy.py") ||
         Contains(file, "/importlib/_bootstrap") || file.ends_with("/importlib/__init__.py");
}

}  // namespace eroica
