// Reads a Python thread's own stack, on that thread and with the GIL, in a few microseconds: each
// frame becomes the small number of its code object. Names are made once a code object and handed
// on with the first stack that holds it, so that whoever takes the stack (another thread) needs
// neither Python nor a lock.
//
// Code objects are kept alive for good, so that an address stands for one function: at most
// kMostCodes. Frames of code beyond that bound, of the interpreter's own start and of Eroica itself
// are left out. Owner: the thread that is read. Never throws; where memory runs out, a frame is
// left out.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "producers/python/cpython_api.h"

namespace eroica {

struct NamedCode {
  uint32_t code = 0;  // its number
  std::string name;   // as PythonFrameName
};

// Innermost first.
struct PythonStack {
  static constexpr size_t kDeepest = 64;  // what lies further out is cut off
  size_t depth = 0;
  std::array<uint32_t, kDeepest> codes;
  // The innermost frame has not run yet: the time before belongs to its caller.
  bool innermost_at_start = false;
  std::vector<NamedCode> named;  // code that no stack before held
};

class StackWalker {
 public:
  static constexpr size_t kMostCodes = 16'384;
  static constexpr uint32_t kLeftOut = UINT32_MAX;

  // own_folder: frames of files below it are left out. resume_opcode: -1 before CPython 3.11.
  StackWalker(const CPythonApi& python, std::string own_folder, int resume_opcode);

  // Of the calling thread. What stack held before is overwritten.
  void Walk(PythonStack* stack);
  // The number of a code object, kLeftOut for frames that are left out; appends to named where it
  // is new.
  uint32_t NumberOf(PyPointer code, std::vector<NamedCode>* named);

 private:
  struct Code {
    uint32_t number = kLeftOut;
    int first_instruction = -1;  // offset of the instruction at which the function is entered
  };

  const Code* Find(PyPointer code, std::vector<NamedCode>* named);
  Code Describe(PyPointer code, std::vector<NamedCode>* named);
  bool IsAtStart(PyPointer frame, const Code& code) const;
  int FirstInstruction(PyPointer code) const;

  const CPythonApi& python_;
  const std::string own_folder_;
  const int resume_opcode_;
  uint32_t next_number_ = 0;
  std::unordered_map<PyPointer, Code> codes_;
};

// An attribute as text or number; "" or 0 where it is neither. Leaves no Python error behind.
std::string TextAttribute(const CPythonApi& python, PyPointer object, const char* name);
long NumberAttribute(const CPythonApi& python, PyPointer object, const char* name);
// A str as UTF-8; what cannot be encoded becomes '?'.
std::string TextOf(const CPythonApi& python, PyPointer text);
// An attribute of sys, a new reference; null, and no error left behind, where there is none. Not
// PySys_GetObject: what that borrows another thread may give back meanwhile.
PyPointer SysAttribute(const CPythonApi& python, const char* name);
// sys.path as it is now.
std::vector<std::string> SearchPath(const CPythonApi& python);
// Name of a code object by that.
std::string NameOfCode(const CPythonApi& python, const std::string& file, long line,
                       const std::string& function);

}  // namespace eroica
