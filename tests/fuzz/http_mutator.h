// The mutator of the fuzz targets of HTTP, for libFuzzer and for corpus_main.cc: a message of the
// grammar, or a change of the one that is there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "tests/fuzz/http_messages.h"

namespace eroica {

inline size_t MutateHttp(HttpMessages::Side side, uint8_t* data, size_t size, size_t max_size,
                         unsigned int seed) {
  HttpMessages messages(side, seed);
  std::string text(reinterpret_cast<const char*>(data), size);
  if (seed % 4 == 0) text = messages.Good();
  if (seed % 16 != 0) text = messages.Changed(std::move(text));
  const size_t bytes = std::min(text.size(), max_size);
  std::copy_n(text.data(), bytes, data);
  return bytes;
}

}  // namespace eroica
