// For tests, tools and benchmarks, whose values keep their invariants: an Encoder that answers
// with the bytes. One owner, one thread.
#pragma once

#include "schemas/check.h"
#include "schemas/codec.h"

namespace eroica {

class TestEncoder : public Encoder {
 public:
  // The bytes live until the next call. A value that breaks an invariant stops the program.
  template <typename T>
  Bytes Encode(const T& value) {
    Bytes bytes;
    EROICA_CHECK(TryEncode(value, &bytes) == DropReason::kNone);
    return bytes;
  }
};

}  // namespace eroica
