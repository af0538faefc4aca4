// The calls and returns of the training thread as nested intervals, while a capture window wants
// them: all that come, in bounds (trace_pace.h). A C profile function (PyEval_SetProfile). It takes
// itself off at the first event after the window, or after another thread has begun to train; a
// profiler of somebody else is neither replaced nor removed, which is said once on standard error.
// Names as PyTorch's profiler writes them: "train.py(73): layer", "<built-in function sleep>".
// Owner: the training thread, with the GIL, for all but Pause and IsInstalledOn. Where one thread
// has just begun to train and another is among it, one of the two comes first: the trace is
// installed at the next visit, or the other thread takes its profile function off. One instance a
// process.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "producers/python/one_at_a_time.h"
#include "producers/python/stack_functions.h"
#include "producers/python/stack_walker.h"
#include "producers/python/trace_pace.h"

namespace eroica {

class FullTrace {
 public:
  FullTrace(const CPythonApi& python, std::string own_folder);

  // Installs the profile function where a window is open and nothing is in the way; frames that run
  // count from now.
  void InstallIfWanted();
  // Takes it off where it is on on the calling thread, and ends what is open.
  void Remove();
  // thread: as gettid() says. [any thread]
  bool IsInstalledOn(int thread) const {
    return installed_on_.load(std::memory_order_relaxed) == thread;
  }
  // Somebody else profiles (torch.profiler): nothing is installed meanwhile. [any thread]
  void Pause(bool paused) { paused_.store(paused, std::memory_order_relaxed); }

 private:
  static constexpr size_t kDeepest = 512;
  static constexpr size_t kMostBuiltIns = 8'192;
  struct Frame {
    uint32_t function;
    bool left_out;
    int64_t start_ns;
  };

  static int OnEvent(PyPointer self, PyPointer frame, int what, PyPointer argument);
  void Take(PyPointer frame, int what, PyPointer argument);
  void RemoveInTurn();
  bool Wanted() const;
  bool IsHere() const;
  bool SomebodyElseProfiles() const;
  // Of the calling thread, innermost first; kLeftOut for frames that are left out, which return as
  // others do.
  std::vector<uint32_t> CodesHere(std::vector<NamedCode>* named);
  uint32_t Parent() const;
  void Push(uint32_t function, bool left_out);
  void PushCode(uint32_t code);
  void Pop();
  void OnCall(PyPointer frame);
  void OnBuiltInCall(PyPointer function);

  static FullTrace* instance_;

  const CPythonApi& python_;
  OneAtATime at_a_time_;  // from here to too_deep_, in whose turn
  StackWalker walker_;
  StackFunctions functions_;
  std::unordered_map<uint64_t, uint32_t> built_ins_;  // by definition, type of self and caller
  TracePace pace_;
  std::vector<Frame> open_;
  size_t too_deep_ = 0;                // frames beyond kDeepest that are open
  std::atomic<int> installed_on_ = 0;  // a thread; 0: none
  std::atomic<bool> paused_ = false;
  bool said_ = false;
};

}  // namespace eroica
