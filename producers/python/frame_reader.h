// Reads a thread's Python stack from another thread: without the GIL, without stopping it
// and while it is inside a call into C, by reading the memory in which CPython keeps its frames.
// That may change meanwhile, so that nothing is taken on trust: memory is read where the kernel can
// (see ProcessMemory), each frame must lead to a code object, and what is read at the start must be
// what CPython itself says of the same stack; else this reader is not used (Check).
//
// A stack that changes while it is read is read anew, or seen as it was an instant before. A code
// object that is freed and another one at its place are told apart by what they say, once a second.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "producers/python/cpython_api.h"
#include "producers/python/frame_layout.h"
#include "producers/python/process_memory.h"
#include "producers/python/python_thread.h"
#include "producers/python/stack_walker.h"

namespace eroica {

class FrameReader {
 public:
  // own_folder: as of StackWalker.
  FrameReader(const CPythonApi& python, std::string own_folder);

  // With the GIL: whether stacks can be read. Tried with the calling thread's own.
  bool Check();
  // By one other thread, after Check said so. search_path: sys.path, for names. False where no
  // stack could be read, as of a thread that is no more; what stack holds is then of no use.
  bool Read(const PythonThread& thread, int64_t now_ns, const std::vector<std::string>& search_path,
            PythonStack* stack);
  // From here on the threads of another process that runs the same CPython. Static objects lie
  // `moved` from where this process has them; 0: it was forked from this one.
  void Follow(int process, intptr_t moved, int64_t now_ns);

 private:
  struct Code {
    uint32_t number = StackWalker::kLeftOut;
    int64_t checked_ns = 0;
    // By which it is known again.
    uintptr_t file = 0;
    uintptr_t name = 0;
    int line = 0;
  };
  struct CodeText {
    std::string file;
    std::string name;
    int line = 0;
    bool operator==(const CodeText&) const = default;
  };

  // Whether the state at that place is still this thread's, at this moment.
  bool IsThere(const PythonThread& thread);
  // Code objects of the thread's frames, innermost first, the deepest cut off.
  bool ReadCodes(const PythonThread& thread, std::vector<uintptr_t>* codes);
  bool ReadRunningFrame(const PythonThread& thread, uintptr_t* frame);
  // False where the thread has ended before or while its stack was read.
  bool ReadStack(const PythonThread& thread, int64_t now_ns,
                 const std::vector<std::string>& search_path, PythonStack* stack);
  std::vector<uintptr_t> CodesByCPython() const;
  CodeText TextByCPython(uintptr_t code) const;
  bool ReadCode(uintptr_t address, Code* code);
  bool ReadCodeText(const Code& code, CodeText* text);
  bool ReadText(uintptr_t address, std::string* text);
  bool IsChecked(int64_t checked_ns, int64_t now_ns) const;
  bool IsType(uintptr_t type, PyPointer of) const;
  // What is known of a code object by now; false where it is none.
  bool Find(uintptr_t address, int64_t now_ns, const std::vector<std::string>& search_path,
            std::vector<NamedCode>* named, Code* code);
  uint32_t Add(const CodeText& text, const std::vector<std::string>& search_path,
               std::vector<NamedCode>* named);

  const CPythonApi& python_;
  const std::string own_folder_;
  const std::optional<FrameLayout> layout_;
  ProcessMemory memory_;
  std::vector<uintptr_t> addresses_;
  std::unordered_map<uintptr_t, Code> codes_;
  // The stack before, outermost first: on a processor that others share each look-up misses caches.
  struct Frame {
    uintptr_t address = 0;
    int64_t checked_ns = 0;
    uint32_t number = StackWalker::kLeftOut;
  };
  std::vector<Frame> last_;
  uint32_t next_number_ = 0;
  int64_t followed_ns_ = 0;  // what was checked before is of another process
  intptr_t moved_ = 0;
};

}  // namespace eroica
