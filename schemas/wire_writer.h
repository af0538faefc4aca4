// What the codecs write with: a FlatBuffers builder and the scratch memory of columns, both kept
// from payload to payload. Beyond what a payload may hold no further rows are written: rows times
// texts would outgrow what a FlatBuffer can address. Included by *_codec.cc only.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "schemas/codec.h"
#include "schemas/varint_column.h"

namespace eroica {

class WireWriter {
 public:
  template <typename T>
  using VectorOffset = flatbuffers::Offset<flatbuffers::Vector<T>>;

  flatbuffers::FlatBufferBuilder& builder() { return builder_; }
  void Clear() {
    builder_.Clear();
    inexact_ = false;
  }
  // Larger than a payload may be; what was written is no payload.
  bool full() const { return builder_.GetSize() > CodecLimits::kPayloadBytes; }
  // A time has no place in the column's unit; what was written is no payload.
  void NoteInexactTime() { inexact_ = true; }
  // kNone: what was written is a payload.
  DropReason failure() const {
    if (full()) return DropReason::kLimitExceeded;
    return inexact_ ? DropReason::kTimeOutOfRange : DropReason::kNone;
  }

  // Nothing where the text is empty. What is longer than the limit is cut, at a character's begin
  // where it is UTF-8.
  flatbuffers::Offset<flatbuffers::String> Text(std::string_view text,
                                                size_t bytes_max = CodecLimits::kNameBytes);

  // A vector of `count` scalars, the i-th being value(i). Nothing where the count is 0.
  template <typename T, typename F>
  VectorOffset<T> Scalars(size_t count, F value) {
    if (count == 0 || full()) return 0;
    T* out = nullptr;
    const VectorOffset<T> vector = builder_.CreateUninitializedVector<T>(count, &out);
    for (size_t i = 0; i < count; ++i) out[i] = static_cast<T>(value(i));
    return vector;
  }

  // A vector of `count` varints, the i-th being value(i).
  template <typename F>
  VectorOffset<uint8_t> Varints(size_t count, F value) {
    if (count == 0 || full()) return 0;
    const std::span<const uint8_t> bytes = column_.Write(count, value);
    return builder_.CreateVector(bytes.data(), bytes.size());
  }

  template <typename T, typename S>
  VectorOffset<const T*> Structs(const std::vector<S>& rows, T (*pack)(const S&)) {
    if (rows.empty()) return 0;
    return builder_.CreateVectorOfNativeStructs<T, S>(rows.data(), rows.size(), pack);
  }

  // A vector of the tables (or strings) that `write` makes of each row; `write` may itself write
  // vectors of tables.
  template <typename T, typename S, typename F>
  VectorOffset<flatbuffers::Offset<T>> Tables(const std::vector<S>& rows, F write) {
    if (rows.empty()) return 0;
    const size_t begin = offsets_.size();
    for (const S& row : rows) {
      if (full()) break;
      const flatbuffers::Offset<T> offset = write(row);
      offsets_.push_back(offset.o);
    }
    const size_t written = offsets_.size() - begin;
    builder_.StartVector(written, sizeof(flatbuffers::uoffset_t));
    for (size_t i = offsets_.size(); i > begin; --i)
      builder_.PushElement(flatbuffers::Offset<T>(offsets_[i - 1]));
    offsets_.resize(begin);
    return VectorOffset<flatbuffers::Offset<T>>(builder_.EndVector(written));
  }

 private:
  flatbuffers::FlatBufferBuilder builder_{64 << 10};
  VarintColumnWriter column_;
  bool inexact_ = false;
  // a stack: one stretch for each vector of tables that is being written
  std::vector<flatbuffers::uoffset_t> offsets_;
};

}  // namespace eroica
