// Collections of Python's garbage as functions: "<gc collection>", called by the stack that it
// struck. What allocates makes the collector run, so that the stack is a part of the cause; where
// collections strike anywhere, diagnosis names the collection. Owner: the training thread, with the
// GIL; one that comes while another is among it gets the collection without its stack.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "producers/python/one_at_a_time.h"
#include "producers/python/stack_functions.h"
#include "producers/python/stack_walker.h"

namespace eroica {

class GarbageCollections {
 public:
  // Arguments as of StackWalker.
  GarbageCollections(const CPythonApi& python, std::string own_folder, int resume_opcode);

  // The function of a collection that the calling thread is in, called back by the collector.
  uint32_t FunctionHere();
  // Where no stack can be read.
  static uint32_t FunctionAnywhere();

 private:
  OneAtATime at_a_time_;  // the others, in whose turn
  StackWalker walker_;
  StackFunctions functions_;
  PythonStack stack_;
  std::unordered_map<uint32_t, uint32_t> collections_;  // by caller; bounded as functions_ is
};

}  // namespace eroica
