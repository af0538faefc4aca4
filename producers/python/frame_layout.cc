#include "producers/python/frame_layout.h"

#include "producers/python/debug_offsets.h"

namespace eroica {
namespace {

constexpr FrameLayout kUpTo310 = {.thread_frame = 24,
                                  .thread_number = 256,
                                  .c_frame = -1,
                                  .frame_code = 32,
                                  .frame_previous = 24,
                                  .frame_owner = -1,
                                  .code_line = 40,
                                  .code_file = 104,
                                  .code_name = 112,
                                  .ascii_text = 48,
                                  .compact_text = 72};
constexpr FrameLayout k311 = {.thread_frame = 56,
                              .thread_number = 240,
                              .c_frame = 8,
                              .frame_code = 32,
                              .frame_previous = 48,
                              .frame_owner = 69,
                              .code_line = 72,
                              .code_file = 112,
                              .code_name = 120,
                              .ascii_text = 48,
                              .compact_text = 72};
constexpr FrameLayout k312 = {.thread_frame = 56,
                              .thread_number = 224,
                              .c_frame = 0,
                              .frame_code = 0,
                              .frame_previous = 8,
                              .frame_owner = 70,
                              .code_line = 68,
                              .code_file = 112,
                              .code_name = 120,
                              .ascii_text = 40,
                              .compact_text = 56};

}  // namespace

std::optional<FrameLayout> FindFrameLayout(int minor) {
  switch (minor) {
    case 9:
    case 10: return kUpTo310;
    case 11: return k311;
    case 12: return k312;
    default: return ParseDebugOffsets(minor, CPythonRuntime());
  }
}

}  // namespace eroica
