// The functions of Python stacks: from code numbers (StackWalker) to numbers of the core's function
// table. A stack that was seen before costs one look-up a frame and no call into the core, and none
// for the outer frames that it shares with the stack before. Owner: one thread. Bounded: beyond
// kMostNodes stacks end in the last caller that is known.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "producers/core/producer_core.h"
#include "producers/python/stack_walker.h"

namespace eroica {

class StackFunctions {
 public:
  static constexpr size_t kMostNodes = 16'384;

  void Name(const std::vector<NamedCode>& named);
  // The function of the stack's leaf; `outside` where the stack is empty. outside: the region that
  // all frames run in, or EROICA_NO_PARENT.
  uint32_t LeafOf(const PythonStack& stack, uint32_t outside = EROICA_NO_PARENT);
  // The function of that code called by parent.
  uint32_t FunctionOf(uint32_t parent, uint32_t code);

 private:
  std::vector<std::string> names_;                    // by code number
  std::unordered_map<uint64_t, uint32_t> functions_;  // by parent and code
  // The stack before, outermost first: on a processor that others share each look-up misses caches.
  struct Frame {
    uint32_t code = 0;
    uint32_t function = 0;
  };
  std::vector<Frame> last_;
  uint32_t last_outside_ = EROICA_NO_PARENT;
};

}  // namespace eroica
