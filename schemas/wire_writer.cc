#include "schemas/wire_writer.h"

namespace eroica {

flatbuffers::Offset<flatbuffers::String> WireWriter::Text(std::string_view text, size_t bytes_max) {
  if (text.empty()) return 0;
  if (text.size() > bytes_max) {
    size_t end = bytes_max;
    for (int i = 0; i < 3 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80; ++i) --end;
    text = text.substr(0, end);
  }
  return builder_.CreateString(text.data(), text.size());
}

}  // namespace eroica
