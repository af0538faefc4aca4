// Bytes of a payload at an address that suits every type of FlatBuffers. librdkafka and RocksDB
// align their values by accident only. Owner: one decoder; the memory is kept from copy to copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace eroica {

class AlignedCopy {
 public:
  // Lives until the next call.
  std::span<const uint8_t> Assign(std::span<const std::byte> payload) {
    const size_t words = (payload.size() + sizeof(Word) - 1) / sizeof(Word);
    if (words_.size() < words) words_.resize(words);
    // An empty one may have no address.
    if (!payload.empty()) std::memcpy(words_.data(), payload.data(), payload.size());
    return {reinterpret_cast<const uint8_t*>(words_.data()), payload.size()};
  }

 private:
  struct alignas(16) Word {
    uint64_t halves[2];
  };
  std::vector<Word> words_;
};

}  // namespace eroica
