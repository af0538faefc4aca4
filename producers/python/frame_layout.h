// Where CPython keeps what a thread's stack consists of: offsets in bytes, in 64-bit release
// builds. Up to 3.12 they come from its headers (Include/cpython/pystate.h, code.h,
// unicodeobject.h, internal/pycore_frame.h) and do not change within a minor version; from 3.13 on
// the interpreter says them itself (debug_offsets.h). FrameReader compares what they give with what
// CPython says before it relies on them.
#pragma once

#include <cstdint>
#include <optional>

namespace eroica {

struct FrameLayout {
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
  // PyObject.
  uint16_t type = 8;
  // PyUnicodeObject: its length and its state.
  uint16_t text_length = 16;
  uint16_t text_state = 32;
  // The lowest bit of the state's kind (three bits); compact and ascii follow it.
  uint8_t text_kind_bit = 2;
};

// Frames of the interpreter's own have this owner or a greater one.
inline constexpr uint8_t kOwnedByInterpreter = 3;
// Bits of a frame's pointer to its code that are no part of the address (_PyStackRef, from 3.14
// on). Objects lie at multiples of eight.
inline constexpr uintptr_t kReferenceTag = 7;

// Of the running CPython 3.minor; nothing where it is not known.
std::optional<FrameLayout> FindFrameLayout(int minor);

}  // namespace eroica
