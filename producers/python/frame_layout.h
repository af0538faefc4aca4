// Where CPython 3.9 to 3.13 keep what a thread's stack consists of: offsets in bytes, of 64-bit
// release builds (Include/cpython/pystate.h, code.h, unicodeobject.h, internal/pycore_frame.h).
// They do not change within a minor version; FrameReader compares what they give with what CPython
// says before it relies on them.
#pragma once

#include <cstdint>

namespace eroica {

struct FrameLayout {
  int minor;  // of 3.minor
  // PyThreadState: the running frame, or what points at it (up to 3.12: _PyCFrame).
  uint16_t thread_frame;
  uint16_t thread_number;  // uint64_t
  int16_t c_frame;         // in that; -1: the thread state points at the frame itself
  // PyFrameObject, from 3.11 on _PyInterpreterFrame.
  uint16_t frame_code;
  uint16_t frame_previous;
  int16_t frame_owner;  // one byte; -1: has none
  // PyCodeObject.
  uint16_t code_line;  // int
  uint16_t code_file;
  uint16_t code_name;
  // PyUnicodeObject: where its text begins, ASCII and other.
  uint16_t ascii_text;
  uint16_t compact_text;
};

// Of PyObject and PyUnicodeObject, in all of them.
inline constexpr uint16_t kTypeOffset = 8;
inline constexpr uint16_t kTextLengthOffset = 16;
inline constexpr uint16_t kTextStateOffset = 32;
// A frame of the interpreter's own on the C stack has this owner.
inline constexpr uint8_t kOwnedByCStack = 3;

// Null where it is not known.
const FrameLayout* FindFrameLayout(int minor);

}  // namespace eroica
