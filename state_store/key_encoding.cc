#include "state_store/key_encoding.h"

#include <utility>

namespace eroica {
namespace {

constexpr char kEscape = '\x00';
constexpr char kEscapedZero = '\xff';
constexpr char kTerminator = '\x01';
constexpr uint64_t kSignBit = uint64_t{1} << 63;  // flipped, so that negative numbers come first

void AppendBigEndian(uint64_t value, size_t bytes, std::string* out) {
  for (size_t i = bytes; i-- > 0;) out->push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

}  // namespace

KeyWriter& KeyWriter::PutByte(uint8_t value) {
  AppendBigEndian(value, 1, &key_);
  return *this;
}

KeyWriter& KeyWriter::PutUint32(uint32_t value) {
  AppendBigEndian(value, 4, &key_);
  return *this;
}

KeyWriter& KeyWriter::PutUint64(uint64_t value) {
  AppendBigEndian(value, 8, &key_);
  return *this;
}

KeyWriter& KeyWriter::PutInt64(int64_t value) {
  return PutUint64(static_cast<uint64_t>(value) ^ kSignBit);
}

KeyWriter& KeyWriter::PutString(std::string_view value) {
  for (const char c : value) {
    key_.push_back(c);
    if (c == kEscape) key_.push_back(kEscapedZero);
  }
  key_.push_back(kEscape);
  key_.push_back(kTerminator);
  return *this;
}

std::optional<uint64_t> KeyReader::TakeBigEndian(size_t bytes) {
  if (broken_ || rest_.size() < bytes) {
    broken_ = true;
    return std::nullopt;
  }
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value = (value << 8) | static_cast<uint8_t>(rest_[i]);
  rest_.remove_prefix(bytes);
  return value;
}

std::optional<uint8_t> KeyReader::TakeByte() {
  const auto value = TakeBigEndian(1);
  return value ? std::optional(static_cast<uint8_t>(*value)) : std::nullopt;
}

std::optional<uint32_t> KeyReader::TakeUint32() {
  const auto value = TakeBigEndian(4);
  return value ? std::optional(static_cast<uint32_t>(*value)) : std::nullopt;
}

std::optional<uint64_t> KeyReader::TakeUint64() { return TakeBigEndian(8); }

std::optional<int64_t> KeyReader::TakeInt64() {
  const auto value = TakeBigEndian(8);
  return value ? std::optional(static_cast<int64_t>(*value ^ kSignBit)) : std::nullopt;
}

std::optional<std::string> KeyReader::TakeString() {
  std::string value;
  for (size_t i = 0; !broken_ && i < rest_.size(); ++i) {
    if (rest_[i] != kEscape) {
      value.push_back(rest_[i]);
      continue;
    }
    if (++i == rest_.size()) break;
    if (rest_[i] == kTerminator) {
      rest_.remove_prefix(i + 1);
      return value;
    }
    if (rest_[i] != kEscapedZero) break;
    value.push_back(kEscape);
  }
  broken_ = true;
  return std::nullopt;
}

std::string PrefixEnd(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xff') end.pop_back();
  if (!end.empty()) end.back() = static_cast<char>(static_cast<uint8_t>(end.back()) + 1);
  return end;
}

}  // namespace eroica
