#include "producers/python/frame_layout.h"

namespace eroica {
namespace {

constexpr FrameLayout kLayouts[] = {
    {.minor = 9,
     .thread_frame = 24,
     .thread_number = 256,
     .c_frame = -1,
     .frame_code = 32,
     .frame_previous = 24,
     .frame_owner = -1,
     .code_line = 40,
     .code_file = 104,
     .code_name = 112,
     .ascii_text = 48,
     .compact_text = 72},
    {.minor = 10,
     .thread_frame = 24,
     .thread_number = 256,
     .c_frame = -1,
     .frame_code = 32,
     .frame_previous = 24,
     .frame_owner = -1,
     .code_line = 40,
     .code_file = 104,
     .code_name = 112,
     .ascii_text = 48,
     .compact_text = 72},
    {.minor = 11,
     .thread_frame = 56,
     .thread_number = 240,
     .c_frame = 8,
     .frame_code = 32,
     .frame_previous = 48,
     .frame_owner = 69,
     .code_line = 72,
     .code_file = 112,
     .code_name = 120,
     .ascii_text = 48,
     .compact_text = 72},
    {.minor = 12,
     .thread_frame = 56,
     .thread_number = 224,
     .c_frame = 0,
     .frame_code = 0,
     .frame_previous = 8,
     .frame_owner = 70,
     .code_line = 68,
     .code_file = 112,
     .code_name = 120,
     .ascii_text = 40,
     .compact_text = 56},
    {.minor = 13,
     .thread_frame = 72,
     .thread_number = 224,
     .c_frame = -1,
     .frame_code = 0,
     .frame_previous = 8,
     .frame_owner = 70,
     .code_line = 68,
     .code_file = 112,
     .code_name = 120,
     .ascii_text = 40,
     .compact_text = 56},
};

}  // namespace

const FrameLayout* FindFrameLayout(int minor) {
  for (const FrameLayout& layout : kLayouts) {
    if (layout.minor == minor) return &layout;
  }
  return nullptr;
}

}  // namespace eroica
