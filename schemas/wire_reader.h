// What the codecs read with, on top of FlatBuffers' verifier, which leaves three holes: it does not
// check that vectors of eight-byte elements are aligned; it lets many tables share one vector or
// string, so that a small payload can grow without bound; and it knows no limits of ours. The first
// failure is kept and what is read afterwards is empty, so that a codec reads on and asks once.
// Included by
// *_codec.cc only.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstdint>
#include <span>
#include <string>

#include "schemas/codec.h"
#include "schemas/varint_column.h"

namespace eroica {

class WireReader {
 public:
  DropReason reason() const { return reason_; }
  bool ok() const { return reason_ == DropReason::kNone; }
  void Fail(DropReason reason) {
    if (ok()) reason_ = reason;
  }

  // The number of tables in a vector, 0 where there is none or where they are too many.
  template <typename T>
  uint32_t Rows(const flatbuffers::Vector<T>* tables, size_t rows_max) {
    if (tables == nullptr || !Fits(tables->size(), rows_max)) return 0;
    return tables->size();
  }

  // The elements of a vector, none where it is absent.
  template <typename T>
  std::span<const T> Scalars(const flatbuffers::Vector<T>* vector, size_t rows_max) {
    return Elements<T>(vector, vector == nullptr ? 0 : vector->size(), rows_max);
  }
  template <typename T>
  std::span<const T> Structs(const flatbuffers::Vector<const T*>* vector, size_t rows_max) {
    return Elements<T>(vector, vector == nullptr ? 0 : vector->size(), rows_max);
  }
  std::span<const uint8_t> Varints(const flatbuffers::Vector<uint8_t>* vector) {
    return Elements<uint8_t>(vector, vector == nullptr ? 0 : vector->size(),
                             CodecLimits::kPayloadBytes);
  }

  // Reads the column into values, which must be as long as the column is said to be.
  template <typename T>
  bool Varints(const flatbuffers::Vector<uint8_t>* vector, std::span<T> values) {
    Fail(ReadVarints(Varints(vector), values));
    return ok();
  }

  void Text(const flatbuffers::String* from, std::string* to,
            size_t bytes_max = CodecLimits::kNameBytes);

  bool Fits(size_t rows, size_t rows_max) {
    if (rows > rows_max) Fail(DropReason::kLimitExceeded);
    return ok();
  }
  // Columns of one group are equally long.
  bool SameLength(size_t a, size_t b) {
    if (a != b) Fail(DropReason::kColumnLength);
    return ok();
  }

 private:
  template <typename T>
  std::span<const T> Elements(const void* vector, size_t rows, size_t rows_max) {
    if (rows == 0 || !Fits(rows, rows_max) || !Charge(rows * sizeof(T))) return {};
    const uint8_t* first = static_cast<const uint8_t*>(vector) + sizeof(flatbuffers::uoffset_t);
    if (reinterpret_cast<uintptr_t>(first) % alignof(T) != 0) {
      Fail(DropReason::kVerifierFailed);
      return {};
    }
    return {reinterpret_cast<const T*>(first), rows};
  }

  // All that is read from one payload may not be larger than the largest payload, however much of
  // it is shared.
  bool Charge(size_t bytes) {
    if (!ok()) return false;
    if (bytes > budget_) return Fail(DropReason::kLimitExceeded), false;
    budget_ -= bytes;
    return true;
  }

  DropReason reason_ = DropReason::kNone;
  size_t budget_ = CodecLimits::kPayloadBytes;
};

}  // namespace eroica
