// Where a data loader's worker is while the training thread waits for the batch that it loads: its
// Python stack, read from the memory of its process. A worker that was forked from the training
// thread has that thread's state at the same address; one that was spawned is found by its
// interpreter's list of threads (other_interpreter.h), from CPython 3.13 on. A stack counts as a
// worker's where PyTorch's worker loop is in it, and from there inwards. A worker whose memory this
// process may not read has no stack here.
//
// Each look stands for the time since the tick before: the function's interval, called by the wait,
// lies in a lane of its own, which is no training lane. Owner: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "producers/python/awaited_worker.h"
#include "producers/python/cpython_api.h"
#include "producers/python/frame_reader.h"
#include "producers/python/other_interpreter.h"
#include "producers/python/python_thread.h"
#include "producers/python/stack_functions.h"
#include "producers/python/stack_walker.h"

namespace eroica {

class WorkerStacks {
 public:
  // own_folder: as of StackWalker.
  WorkerStacks(const CPythonApi& python, const std::string& own_folder);

  // thread: the one that waits, in this process. last_ns: of the tick before.
  void Look(const AwaitedWorker& worker, const PythonThread& thread, int64_t last_ns,
            int64_t now_ns, const std::vector<std::string>& search_path);

 private:
  // Whether the thread is in PyTorch's worker loop; then the stack is what the loop runs.
  bool Read(int32_t process, const OtherThread& of, int64_t now_ns,
            const std::vector<std::string>& search_path);
  bool KeepWhatTheLoopRuns();
  // A spawned worker's main thread, which is sought once a second at most.
  std::optional<OtherThread> Seek(int32_t process, int64_t now_ns);

  const int minor_;
  FrameReader reader_;
  StackFunctions functions_;
  std::unordered_set<uint32_t> loops_;  // codes that are a worker's loop
  std::unordered_map<int32_t, OtherThread> spawned_;
  int64_t sought_ns_ = 0;
  PythonStack stack_;
  int32_t process_ = 0;  // that the reader reads
  intptr_t moved_ = 0;   // likewise
  int lane_ = -1;
};

}  // namespace eroica
