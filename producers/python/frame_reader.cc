#include "producers/python/frame_reader.h"

#include <cstring>
#include <string_view>
#include <utility>

#include "producers/python/python_frame.h"

namespace eroica {
namespace {

constexpr int kAttempts = 3;
constexpr int64_t kCheckAgainNs = 1'000'000'000;
constexpr int64_t kLongestText = 4'096;

uintptr_t AddressOf(PyPointer object) { return reinterpret_cast<uintptr_t>(object); }

void AppendUtf8(uint32_t point, std::string* out) {
  const auto last = [point](int shift) {
    return static_cast<char>(0x80 | ((point >> shift) & 0x3F));
  };
  if (point < 0x80) {
    out->push_back(static_cast<char>(point));
  } else if (point < 0x800) {
    *out += {static_cast<char>(0xC0 | (point >> 6)), last(0)};
  } else if (point < 0x10000) {
    *out += {static_cast<char>(0xE0 | (point >> 12)), last(6), last(0)};
  } else {
    *out += {static_cast<char>(0xF0 | ((point >> 18) & 7)), last(12), last(6), last(0)};
  }
}

// Of characters of 1, 2 or 4 bytes. What is no character (a lone surrogate) becomes '?', as in
// TextOf.
std::string ToUtf8(const std::vector<unsigned char>& raw, size_t width) {
  std::string text;
  for (size_t at = 0; at + width <= raw.size(); at += width) {
    uint32_t point = 0;
    std::memcpy(&point, raw.data() + at, width);  // little-endian, as all that we run on
    const bool is_character = point < 0x110000 && (point < 0xD800 || point > 0xDFFF);
    AppendUtf8(is_character ? point : '?', &text);
  }
  return text;
}

}  // namespace

FrameReader::FrameReader(const CPythonApi& python, std::string own_folder)
    : python_(python), own_folder_(std::move(own_folder)), layout_(FindFrameLayout(python.minor)) {
  codes_.reserve(1'024);
  addresses_.reserve(PythonStack::kDeepest);
}

bool FrameReader::Check() {
  const bool is_known = layout_.has_value() && sizeof(void*) == 8 &&
                        python_.PyCode_Type != nullptr && python_.PyUnicode_Type != nullptr;
  const std::optional<PythonThread> here = PythonThread::Here(python_);
  if (!is_known || !here || !IsThere(*here)) return false;
  const std::vector<uintptr_t> known = CodesByCPython();
  if (known.empty() || !ReadCodes(*here, &addresses_) || addresses_ != known) return false;
  for (const uintptr_t address : known) {
    Code code;
    CodeText text;
    if (!ReadCode(address, &code) || !ReadCodeText(code, &text)) return false;
    if (text != TextByCPython(address)) return false;
  }
  return true;
}

std::vector<uintptr_t> FrameReader::CodesByCPython() const {
  std::vector<uintptr_t> codes;
  PyPointer frame = python_.PyEval_GetFrame();
  if (frame != nullptr) python_.Py_IncRef(frame);
  while (frame != nullptr && codes.size() < PythonStack::kDeepest) {
    PyPointer code = python_.PyFrame_GetCode(frame);
    codes.push_back(AddressOf(code));
    python_.Py_DecRef(code);  // the frame holds it
    PyPointer caller = python_.PyFrame_GetBack(frame);
    python_.Py_DecRef(frame);
    frame = caller;
  }
  if (frame != nullptr) python_.Py_DecRef(frame);
  return codes;
}

FrameReader::CodeText FrameReader::TextByCPython(uintptr_t code) const {
  auto* object = reinterpret_cast<PyPointer>(code);
  return {.file = TextAttribute(python_, object, "co_filename"),
          .name = TextAttribute(python_, object, "co_name"),
          .line = static_cast<int>(NumberAttribute(python_, object, "co_firstlineno"))};
}

bool FrameReader::Read(const PythonThread& thread, int64_t now_ns,
                       const std::vector<std::string>& search_path, PythonStack* stack) {
  bool is_read = false;
  stack->innermost_at_start = false;  // the time before is as much this frame's as any other's
  stack->named.clear();
  for (int attempt = 0; attempt < kAttempts && !is_read; ++attempt)
    is_read = ReadStack(thread, now_ns, search_path, stack);
  return is_read;
}

void FrameReader::Follow(int process, intptr_t moved, int64_t now_ns) {
  memory_.Follow(process);
  moved_ = moved;
  followed_ns_ = now_ns;
}

bool FrameReader::IsType(uintptr_t type, PyPointer of) const {
  return type == AddressOf(of) + static_cast<uintptr_t>(moved_);
}

bool FrameReader::IsChecked(int64_t checked_ns, int64_t now_ns) const {
  return checked_ns >= followed_ns_ && now_ns - checked_ns < kCheckAgainNs;
}

bool FrameReader::ReadStack(const PythonThread& thread, int64_t now_ns,
                            const std::vector<std::string>& search_path, PythonStack* stack) {
  stack->depth = 0;
  bool is_read = IsThere(thread) && ReadCodes(thread, &addresses_);
  last_.resize(is_read ? addresses_.size() : 0);
  for (size_t i = 0; i < addresses_.size() && is_read; ++i) {
    Frame& frame = last_[addresses_.size() - 1 - i];
    if (frame.address != addresses_[i] || !IsChecked(frame.checked_ns, now_ns)) {
      Code code;
      is_read = Find(addresses_[i], now_ns, search_path, &stack->named, &code);
      frame = {addresses_[i], is_read ? code.checked_ns : 0, code.number};
    }
    if (is_read && frame.number != StackWalker::kLeftOut)
      stack->codes[stack->depth++] = frame.number;
  }
  return is_read && IsThere(thread);
}

bool FrameReader::IsThere(const PythonThread& thread) {
  uint64_t number = 0;
  memory_.Forget();
  return memory_.Read(thread.state + layout_->thread_number, &number) && number == thread.number;
}

bool FrameReader::ReadRunningFrame(const PythonThread& thread, uintptr_t* frame) {
  uintptr_t running = 0;
  if (!memory_.Read(thread.state + layout_->thread_frame, &running)) return false;
  if (layout_->c_frame < 0) {
    *frame = running;
    return true;
  }
  return memory_.Read(running + static_cast<uintptr_t>(layout_->c_frame), frame);
}

bool FrameReader::ReadCodes(const PythonThread& thread, std::vector<uintptr_t>* codes) {
  codes->clear();
  uintptr_t frame = 0;
  if (!ReadRunningFrame(thread, &frame)) return false;
  constexpr int kMostFrames = 4 * PythonStack::kDeepest;  // those of the C stack count, too
  for (int i = 0; i < kMostFrames && frame != 0 && codes->size() < PythonStack::kDeepest; ++i) {
    uintptr_t code = 0;
    uint8_t owner = 0;
    if (!memory_.Read(frame + layout_->frame_code, &code)) return false;
    if (layout_->frame_owner >= 0 &&
        !memory_.Read(frame + static_cast<uintptr_t>(layout_->frame_owner), &owner))
      return false;
    if (owner < kOwnedByInterpreter) codes->push_back(code & ~kReferenceTag);
    if (!memory_.Read(frame + layout_->frame_previous, &frame)) return false;
  }
  return true;
}

bool FrameReader::ReadCode(uintptr_t address, Code* code) {
  uintptr_t type = 0;
  return memory_.Read(address + layout_->type, &type) && IsType(type, python_.PyCode_Type) &&
         memory_.Read(address + layout_->code_file, &code->file) &&
         memory_.Read(address + layout_->code_name, &code->name) &&
         memory_.Read(address + layout_->code_line, &code->line);
}

bool FrameReader::ReadCodeText(const Code& code, CodeText* text) {
  text->line = code.line;
  return ReadText(code.file, &text->file) && ReadText(code.name, &text->name);
}

bool FrameReader::ReadText(uintptr_t address, std::string* text) {
  uintptr_t type = 0;
  int64_t length = 0;
  uint32_t state = 0;
  const bool is_text = memory_.Read(address + layout_->type, &type) &&
                       IsType(type, python_.PyUnicode_Type) &&
                       memory_.Read(address + layout_->text_length, &length) &&
                       memory_.Read(address + layout_->text_state, &state);
  if (!is_text || length < 0 || length > kLongestText) return false;
  state >>= layout_->text_kind_bit;
  const uint32_t width = state & 7;
  const bool is_compact = ((state >> 3) & 1) != 0;
  const bool is_ascii = ((state >> 4) & 1) != 0;
  if (!is_compact || (width != 1 && width != 2 && width != 4)) return false;
  std::vector<unsigned char> raw(static_cast<size_t>(length) * width);
  const uint16_t begin = is_ascii ? layout_->ascii_text : layout_->compact_text;
  if (!memory_.Read(address + begin, raw.size(), raw.data())) return false;
  *text = ToUtf8(raw, width);
  return true;
}

bool FrameReader::Find(uintptr_t address, int64_t now_ns,
                       const std::vector<std::string>& search_path, std::vector<NamedCode>* named,
                       Code* code) {
  const auto known = codes_.find(address);
  if (known != codes_.end() && IsChecked(known->second.checked_ns, now_ns)) {
    *code = known->second;
    return true;
  }
  *code = {.checked_ns = now_ns};
  if (!ReadCode(address, code)) return false;
  const bool is_same = known != codes_.end() && known->second.file == code->file &&
                       known->second.name == code->name && known->second.line == code->line;
  if (is_same) {
    known->second.checked_ns = now_ns;
    *code = known->second;
    return true;
  }
  CodeText text;
  if (!ReadCodeText(*code, &text)) return false;
  if (known == codes_.end() && codes_.size() >= StackWalker::kMostCodes) return true;  // left out
  code->number = Add(text, search_path, named);
  codes_.insert_or_assign(address, *code);
  return true;
}

uint32_t FrameReader::Add(const CodeText& text, const std::vector<std::string>& search_path,
                          std::vector<NamedCode>* named) {
  const bool is_own = !own_folder_.empty() && text.file.starts_with(own_folder_);
  if (is_own || IsBootstrapFrame(text.file)) return StackWalker::kLeftOut;
  if (next_number_ >= StackWalker::kMostCodes) return StackWalker::kLeftOut;
  const std::vector<std::string_view> folders(search_path.begin(), search_path.end());
  named->push_back({next_number_, PythonFrameName(text.file, text.line, text.name, folders)});
  return next_number_++;
}

}  // namespace eroica
