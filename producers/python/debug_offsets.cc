#include "producers/python/debug_offsets.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>
#include <string_view>

namespace eroica {
namespace {

constexpr std::string_view kCookie = "xdebugpy";
constexpr size_t kVersion = 1, kFreeThreaded = 2;
// A length (Py_ssize_t) and a pointer that PyCompactUnicodeObject has behind PyASCIIObject.
constexpr uint64_t kCompactOverAscii = 16;
constexpr uint64_t kLargestOffset = INT16_MAX;
// From 3.14 on a free-threaded build keeps `interned` in a byte of its own, before the bits that
// say a text's kind; else it is two bits (Include/cpython/unicodeobject.h).
constexpr int kFirstWithInternedByte = 14;
constexpr uint8_t kKindAfterInternedByte = 8;

// _Py_DebugOffsets.runtime_state.interpreters_head and interpreter_state.threads_head, in all
// versions.
constexpr size_t kFirstInterpreter = 5, kFirstThread = 9;

// Which number of the table each is, counted from 0, the cookie.
struct Places {
  int minor;
  size_t current_frame;  // of PyThreadState; its second before is `next`
  // PyThreadState.datastack_chunk, right behind the thread's number; before it is native_thread_id
  size_t stack_chunk;
  size_t frame_previous;
  size_t frame_executable;
  size_t frame_owner;
  size_t code_file;
  size_t code_name;
  size_t code_line;
  size_t type;
  size_t text_state;
  size_t text_length;
  size_t ascii_size;
};

constexpr Places kPlaces[] = {
    {13, 23, 26, 29, 30, 33, 35, 36, 39, 45, 68, 69, 70},
    {14, 26, 29, 32, 33, 36, 40, 41, 44, 51, 78, 79, 80},
    {15, 26, 32, 40, 41, 44, 48, 49, 52, 59, 90, 91, 92},
};

class Table {
 public:
  explicit Table(std::span<const std::byte> runtime) : runtime_(runtime) {}

  bool IsOne() const {
    return runtime_.size() >= kCookie.size() &&
           std::memcmp(runtime_.data(), kCookie.data(), kCookie.size()) == 0;
  }
  // The greatest number behind the end of the memory, which is no offset.
  uint64_t Number(size_t place) const {
    uint64_t number = UINT64_MAX;
    if (runtime_.size() / sizeof number > place)
      std::memcpy(&number, runtime_.data() + place * sizeof number, sizeof number);
    return number;
  }
  // PY_VERSION_HEX: major, minor, micro and level, a byte each.
  bool IsOfVersion(int minor) const {
    return Number(kVersion) >> 16 == (uint64_t{3} << 8 | static_cast<uint64_t>(minor));
  }
  bool IsFreeThreaded() const { return Number(kFreeThreaded) != 0; }
  // 0 is an offset, too: that of a frame's executable. False where the number is none.
  bool TakeOffset(size_t place, uint16_t* offset) const {
    const uint64_t number = Number(place);
    *offset = static_cast<uint16_t>(number);
    return number <= kLargestOffset;
  }

 private:
  const std::span<const std::byte> runtime_;
};

const Places* FindPlaces(int minor) {
  for (const Places& places : kPlaces) {
    if (places.minor == minor) return &places;
  }
  return nullptr;
}

// Of that version, where this is its table; else nullptr.
const Places* PlacesIn(const Table& table, int minor) {
  return table.IsOne() && table.IsOfVersion(minor) ? FindPlaces(minor) : nullptr;
}

// Where the thread's number lies; nothing where that cannot be.
std::optional<uint16_t> ThreadNumber(const Table& table, const Places& places) {
  uint16_t stack_chunk = 0;
  if (!table.TakeOffset(places.stack_chunk, &stack_chunk) || stack_chunk < sizeof(uint64_t))
    return std::nullopt;
  return static_cast<uint16_t>(stack_chunk - sizeof(uint64_t));
}

}  // namespace

std::span<const std::byte> CPythonRuntime() {
  void* runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
  if (runtime == nullptr) return {};
  Dl_info info;
  void* extra = nullptr;
  if (dladdr1(runtime, &info, &extra, RTLD_DL_SYMENT) == 0 || extra == nullptr ||
      info.dli_saddr != runtime)
    return {};
  return {static_cast<const std::byte*>(runtime), static_cast<const ElfW(Sym)*>(extra)->st_size};
}

std::optional<FrameLayout> ParseDebugOffsets(int minor, std::span<const std::byte> runtime) {
  const Table table(runtime);
  const Places* places = PlacesIn(table, minor);
  if (places == nullptr) return std::nullopt;
  FrameLayout layout = {.c_frame = -1};
  const std::optional<uint16_t> number = ThreadNumber(table, *places);
  uint16_t owner = 0;
  const bool known = number && table.TakeOffset(places->current_frame, &layout.thread_frame) &&
                     table.TakeOffset(places->frame_executable, &layout.frame_code) &&
                     table.TakeOffset(places->frame_previous, &layout.frame_previous) &&
                     table.TakeOffset(places->frame_owner, &owner) &&
                     table.TakeOffset(places->code_line, &layout.code_line) &&
                     table.TakeOffset(places->code_file, &layout.code_file) &&
                     table.TakeOffset(places->code_name, &layout.code_name) &&
                     table.TakeOffset(places->ascii_size, &layout.ascii_text) &&
                     table.TakeOffset(places->type, &layout.type) &&
                     table.TakeOffset(places->text_length, &layout.text_length) &&
                     table.TakeOffset(places->text_state, &layout.text_state);
  if (!known) return std::nullopt;
  layout.thread_number = *number;
  layout.frame_owner = static_cast<int16_t>(owner);
  layout.compact_text = static_cast<uint16_t>(layout.ascii_text + kCompactOverAscii);
  if (table.IsFreeThreaded() && minor >= kFirstWithInternedByte)
    layout.text_kind_bit = kKindAfterInternedByte;
  return layout;
}

std::optional<ThreadListLayout> ParseThreadList(int minor, std::span<const std::byte> runtime) {
  const Table table(runtime);
  const Places* places = PlacesIn(table, minor);
  if (places == nullptr) return std::nullopt;
  const std::optional<uint16_t> number = ThreadNumber(table, *places);
  ThreadListLayout layout{};
  const bool known = number && table.TakeOffset(kFirstInterpreter, &layout.first_interpreter) &&
                     table.TakeOffset(kFirstThread, &layout.first_thread) &&
                     table.TakeOffset(places->current_frame - 2, &layout.next_thread) &&
                     table.TakeOffset(places->stack_chunk - 1, &layout.thread_id);
  if (!known) return std::nullopt;
  layout.thread_number = *number;
  return layout;
}

}  // namespace eroica
