#include "producers/import/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <string>

namespace eroica {
namespace {

std::string Complaint(unsigned char opcode, size_t at) {
  // GLOBAL, REDUCE, INST, OBJ, BUILD, NEWOBJ, persistent ids, extensions
  static constexpr std::string_view kCalls = "cRioObQP\x93\x92\x81\x82\x83\x84";
  if (kCalls.find(static_cast<char>(opcode)) != std::string_view::npos) {
    return fmt::format(
        "it names a class or calls a function (opcode 0x{:02x} at byte {}), which is never done",
        opcode, at);
  }
  return fmt::format("it is no pickle of plain data (opcode 0x{:02x} at byte {})", opcode, at);
}

}  // namespace

absl::Status Pickle::Parse(std::string_view bytes) {
  bytes_ = bytes;
  at_ = 0;
  bad_ = false;
  root_ = kNoNode;
  nodes_.clear();
  pool_.clear();
  stack_.clear();
  marks_.clear();
  memo_.clear();
  while (at_ < bytes_.size()) {
    const auto opcode = static_cast<unsigned char>(bytes_[at_++]);
    if (opcode == '.') return Finish();
    const size_t at = at_ - 1;
    if (!Execute(opcode)) {
      if (bad_) break;
      return absl::InvalidArgumentError(Complaint(opcode, at));
    }
    if (nodes_.size() > kMaxNodes || pool_.size() > kMaxNodes || stack_.size() > kMaxNodes ||
        marks_.size() > kMaxNodes)
      return absl::InvalidArgumentError("it holds too many values");
  }
  return absl::DataLossError("it is cut off");
}

bool Pickle::Execute(unsigned char opcode) {
  switch (opcode) {
    case 0x80: return Skip(1);                                                    // PROTO
    case 0x95: return Skip(8);                                                    // FRAME
    case '(': marks_.push_back(stack_.size()); return true;                       // MARK
    case '0': return !stack_.empty() && (stack_.pop_back(), true);                // POP
    case '1': return PopMarked();                                                 // POP_MARK
    case '2': return !stack_.empty() && (stack_.push_back(stack_.back()), true);  // DUP
    case 'N': return Push({.kind = Kind::kNone});
    case 0x88: return Push({.kind = Kind::kBool, .integer = 1});
    case 0x89: return Push({.kind = Kind::kBool, .integer = 0});
    case 'q': return Put(Little(1));      // BINPUT
    case 'r': return Put(Little(4));      // LONG_BINPUT
    case 0x94: return Put(memo_.size());  // MEMOIZE
    case 'h': return Get(Little(1));      // BINGET
    case 'j': return Get(Little(4));      // LONG_BINGET
    case ']':
    case ')':
    case 0x8f:
      return PushContainer(Kind::kList, stack_.size());  // EMPTY_LIST, EMPTY_TUPLE, EMPTY_SET
    case '}': return PushContainer(Kind::kDict, stack_.size());  // EMPTY_DICT
    case 'l':
    case 't':
    case 0x91: return Collect(Kind::kList);  // LIST, TUPLE, FROZENSET
    case 'd': return Collect(Kind::kDict);   // DICT
    case 0x85: return Tuple(1);
    case 0x86: return Tuple(2);
    case 0x87: return Tuple(3);
    case 'a': return stack_.size() >= 2 && AppendFrom(stack_.size() - 1, Kind::kList);  // APPEND
    case 's': return stack_.size() >= 3 && AppendFrom(stack_.size() - 2, Kind::kDict);  // SETITEM
    case 'e':
    case 0x90: return AppendMarked(Kind::kList);  // APPENDS, ADDITEMS
    case 'u': return AppendMarked(Kind::kDict);   // SETITEMS
    default: return ExecuteScalar(opcode);
  }
}

bool Pickle::ExecuteScalar(unsigned char opcode) {
  switch (opcode) {
    case 'K': return PushInteger(static_cast<int64_t>(Little(1)));  // BININT1
    case 'M': return PushInteger(static_cast<int64_t>(Little(2)));  // BININT2
    case 'J': return PushInteger(static_cast<int32_t>(Little(4)));  // BININT
    case 0x8a: return Long(Little(1));                              // LONG1
    case 0x8b: return Long(Little(4));                              // LONG4
    case 'I':
    case 'L': return IntegerLine();     // INT, LONG
    case 'G': return Float();           // BINFLOAT
    case 'X': return Text(Little(4));   // BINUNICODE
    case 0x8c: return Text(Little(1));  // SHORT_BINUNICODE
    case 0x8d: return Text(Little(8));  // BINUNICODE8
    case 'T':
    case 'B': return Text(Little(4));  // BINSTRING, BINBYTES
    case 'U':
    case 'C': return Text(Little(1));   // SHORT_BINSTRING, SHORT_BINBYTES
    case 0x8e: return Text(Little(8));  // BINBYTES8
    default: return false;
  }
}

// Whether fewer bytes are left. Cut off: sets bad_, which every user of it checks.
bool Pickle::Lacks(uint64_t count) {
  bad_ = bad_ || bytes_.size() - at_ < count;
  return bad_;
}

bool Pickle::Skip(size_t count) {
  if (Lacks(count)) return false;
  at_ += count;
  return true;
}

// An unsigned little-endian number.
uint64_t Pickle::Little(size_t count) {
  if (Lacks(count)) return 0;
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i)
    value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes_[at_ + i])) << (8 * i);
  at_ += count;
  return value;
}

bool Pickle::Push(const Node& node) {
  if (bad_) return false;
  stack_.push_back(static_cast<uint32_t>(nodes_.size()));
  nodes_.push_back(node);
  return true;
}

// A container of what lies on the stack from `first` on.
bool Pickle::PushContainer(Kind kind, size_t first) {
  const size_t size = stack_.size() - first;
  if (kind == Kind::kDict && size % 2 != 0) return false;
  const auto begin = static_cast<int64_t>(pool_.size());
  pool_.insert(pool_.end(), stack_.begin() + static_cast<std::ptrdiff_t>(first), stack_.end());
  stack_.resize(first);
  return Push({.kind = kind, .size = static_cast<uint32_t>(size), .integer = begin});
}

// Two's complement of any length; what does not fit into 64 bits keeps its low ones.
bool Pickle::Long(uint64_t size) {
  if (Lacks(size)) return false;
  uint64_t value =
      size > 0 && static_cast<signed char>(bytes_[at_ + size - 1]) < 0 ? ~uint64_t{0} : 0;
  for (size_t i = 0; i < size && i < 8; ++i) {
    value &= ~(uint64_t{0xFF} << (8 * i));
    value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes_[at_ + i])) << (8 * i);
  }
  at_ += size;
  return PushInteger(static_cast<int64_t>(value));
}

bool Pickle::IntegerLine() {
  const size_t end = bytes_.find('\n', at_);
  if (end == std::string_view::npos) {
    bad_ = true;
    return false;
  }
  const std::string_view line = bytes_.substr(at_, end - at_);
  at_ = end + 1;
  if (line == "00" || line == "01")
    return Push({.kind = Kind::kBool, .integer = line == "01" ? 1 : 0});
  int64_t value = 0;
  if (std::from_chars(line.data(), line.data() + line.size(), value).ec != std::errc())
    return false;
  return PushInteger(value);
}

bool Pickle::Float() {
  if (Lacks(8)) return false;
  uint64_t bits = 0;
  for (size_t i = 0; i < 8; ++i) bits = bits << 8 | static_cast<unsigned char>(bytes_[at_ + i]);
  at_ += 8;
  return Push({.kind = Kind::kFloat, .integer = std::bit_cast<int64_t>(bits)});
}

bool Pickle::Text(uint64_t size) {
  if (Lacks(size) || size > ~uint32_t{0}) return false;
  const auto begin = static_cast<int64_t>(at_);
  at_ += size;
  return Push({.kind = Kind::kString, .size = static_cast<uint32_t>(size), .integer = begin});
}

// Writers number what they put: a slot far beyond is no pickle's.
bool Pickle::Put(uint64_t slot) {
  if (bad_ || stack_.empty() || slot >= kMaxNodes) return false;
  if (slot >= memo_.size()) memo_.resize(slot + 1, kNoNode);
  memo_[slot] = stack_.back();
  return true;
}

bool Pickle::Get(uint64_t slot) {
  if (bad_ || slot >= memo_.size() || memo_[slot] == kNoNode) return false;
  stack_.push_back(memo_[slot]);
  return true;
}

bool Pickle::PopMarked() {
  if (marks_.empty()) return false;
  stack_.resize(std::min(marks_.back(), stack_.size()));
  marks_.pop_back();
  return true;
}

// A container of what was pushed since the last mark.
bool Pickle::Collect(Kind kind) {
  if (marks_.empty()) return false;
  const size_t mark = std::min(marks_.back(), stack_.size());
  marks_.pop_back();
  return PushContainer(kind, mark);
}

bool Pickle::Tuple(size_t count) {
  return stack_.size() >= count && PushContainer(Kind::kList, stack_.size() - count);
}

// What lies on the stack from `first` on goes to the container below it.
bool Pickle::AppendFrom(size_t first, Kind kind) {
  if (first == 0 || (kind == Kind::kDict && (stack_.size() - first) % 2 != 0)) return false;
  Node& container = nodes_[stack_[first - 1]];
  if (container.kind != kind) return false;
  const auto begin = static_cast<size_t>(container.integer);
  if (begin + container.size != pool_.size()) {  // others grew meanwhile: to the end with it
    const size_t size = container.size;
    container.integer = static_cast<int64_t>(pool_.size());
    for (size_t i = 0; i < size; ++i) pool_.push_back(pool_[begin + i]);
  }
  pool_.insert(pool_.end(), stack_.begin() + static_cast<std::ptrdiff_t>(first), stack_.end());
  container.size += static_cast<uint32_t>(stack_.size() - first);
  stack_.resize(first);
  return true;
}

bool Pickle::AppendMarked(Kind kind) {
  if (marks_.empty()) return false;
  const size_t mark = std::min(marks_.back(), stack_.size());
  marks_.pop_back();
  return AppendFrom(mark, kind);
}

absl::Status Pickle::Finish() {
  if (stack_.size() != 1) return absl::InvalidArgumentError("it does not end with one value");
  root_ = stack_.back();
  return absl::OkStatus();
}

double Pickle::RealOf(uint32_t node) const { return std::bit_cast<double>(nodes_[node].integer); }

std::string_view Pickle::TextOf(uint32_t node) const {
  const Node& text = nodes_[node];
  if (text.kind != Kind::kString) return {};
  return bytes_.substr(static_cast<size_t>(text.integer), text.size);
}

std::span<const uint32_t> Pickle::ItemsOf(uint32_t node) const {
  const Node& container = nodes_[node];
  if (container.kind != Kind::kList && container.kind != Kind::kDict) return {};
  return std::span(pool_).subspan(static_cast<size_t>(container.integer), container.size);
}

uint32_t Pickle::Find(uint32_t dict, std::string_view key) const {
  if (KindOf(dict) != Kind::kDict) return kNoNode;
  const std::span<const uint32_t> items = ItemsOf(dict);
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    if (KindOf(items[i]) == Kind::kString && TextOf(items[i]) == key) return items[i + 1];
  }
  return kNoNode;
}

}  // namespace eroica
