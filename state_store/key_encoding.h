// Order-preserving building blocks of keys: comparing encodings byte by byte gives the order of the
// values, field by field. Integers are big-endian; a string ends with 00 01 and a zero byte in it
// is written 00 ff, so that no string's encoding is a prefix of another's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace eroica {

class KeyWriter {
 public:
  KeyWriter& PutByte(uint8_t value);
  KeyWriter& PutUint32(uint32_t value);
  KeyWriter& PutUint64(uint64_t value);
  KeyWriter& PutInt64(int64_t value);
  KeyWriter& PutString(std::string_view value);
  const std::string& key() const& { return key_; }
  std::string key() && { return std::move(key_); }

 private:
  std::string key_;
};

// Reads a key front to back. After the first field that is not there every further answer is
// nothing.
class KeyReader {
 public:
  explicit KeyReader(std::string_view key) : rest_(key) {}
  std::optional<uint8_t> TakeByte();
  std::optional<uint32_t> TakeUint32();
  std::optional<uint64_t> TakeUint64();
  std::optional<int64_t> TakeInt64();
  std::optional<std::string> TakeString();
  // Everything was read, and nothing was missing.
  bool AtEnd() const { return !broken_ && rest_.empty(); }

 private:
  std::optional<uint64_t> TakeBigEndian(size_t bytes);

  std::string_view rest_;
  bool broken_ = false;
};

// The smallest key that is greater than every key with this prefix; empty where there is none (no
// prefix, or only ff bytes).
std::string PrefixEnd(std::string_view prefix);

}  // namespace eroica
