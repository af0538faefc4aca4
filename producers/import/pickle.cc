#include "producers/import/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <unordered_map>

namespace eroica {
namespace {

constexpr size_t kMaxNodes = size_t{4} << 20;
constexpr size_t kMaxTreeNodes = size_t{4} << 20;
constexpr int kMaxDepth = 256;

// Values as the machine builds them: containers hold numbers of nodes, so that the memo can name a
// list that still grows. What refers to itself, or unfolds to more than the limit, is refused when
// the tree is made.
struct Node {
  PickleValue::Kind kind = PickleValue::Kind::kNone;
  int64_t integer = 0;
  double real = 0;
  std::string_view text;  // into the input
  std::vector<uint32_t> items;
};

class Machine {
 public:
  explicit Machine(std::string_view bytes) : bytes_(bytes) {}

  absl::StatusOr<PickleValue> Run() {
    while (at_ < bytes_.size()) {
      const auto opcode = static_cast<unsigned char>(bytes_[at_++]);
      if (opcode == '.') return Result();
      if (!Execute(opcode)) return absl::InvalidArgumentError(Complaint(opcode));
      if (nodes_.size() > kMaxNodes) return absl::InvalidArgumentError("it holds too many values");
    }
    return absl::DataLossError("it is cut off");
  }

 private:
  using Kind = PickleValue::Kind;

  std::string Complaint(unsigned char opcode) const {
    // GLOBAL, REDUCE, INST, OBJ, BUILD, NEWOBJ, persistent ids, extensions
    static constexpr std::string_view kCalls = "cRioObQP\x93\x92\x81\x82\x83\x84";
    if (kCalls.find(static_cast<char>(opcode)) != std::string_view::npos) {
      return fmt::format(
          "it names a class or calls a function (opcode 0x{:02x} at byte {}), which is never done",
          opcode, at_ - 1);
    }
    return fmt::format("it is no pickle of plain data (opcode 0x{:02x} at byte {})", opcode,
                       at_ - 1);
  }

  bool Execute(unsigned char opcode) {
    switch (opcode) {
      case 0x80: return Skip(1);                                                    // PROTO
      case 0x95: return Skip(8);                                                    // FRAME
      case '(': marks_.push_back(stack_.size()); return true;                       // MARK
      case '0': return !stack_.empty() && (stack_.pop_back(), true);                // POP
      case '1': return !marks_.empty() && (TakeMarked(), true);                     // POP_MARK
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
      case 0x8f: return Push({.kind = Kind::kList});  // EMPTY_LIST, EMPTY_TUPLE, EMPTY_SET
      case '}': return Push({.kind = Kind::kDict});   // EMPTY_DICT
      case 'l':
      case 't':
      case 0x91: return Collect(Kind::kList);  // LIST, TUPLE, FROZENSET
      case 'd': return Collect(Kind::kDict);   // DICT
      case 0x85: return Tuple(1);
      case 0x86: return Tuple(2);
      case 0x87: return Tuple(3);
      case 'a': return Append(1, Kind::kList);  // APPEND
      case 's': return Append(2, Kind::kDict);  // SETITEM
      case 'e':
      case 0x90: return AppendMarked(Kind::kList);  // APPENDS, ADDITEMS
      case 'u': return AppendMarked(Kind::kDict);   // SETITEMS
      default: return ExecuteScalar(opcode);
    }
  }

  bool ExecuteScalar(unsigned char opcode) {
    switch (opcode) {
      case 'K': return Integer(static_cast<int64_t>(Little(1)));  // BININT1
      case 'M': return Integer(static_cast<int64_t>(Little(2)));  // BININT2
      case 'J': return Integer(static_cast<int32_t>(Little(4)));  // BININT
      case 0x8a: return Long(Little(1));                          // LONG1
      case 0x8b: return Long(Little(4));                          // LONG4
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

  bool Skip(size_t count) {
    if (bytes_.size() - at_ < count) return false;
    at_ += count;
    return true;
  }

  // An unsigned little-endian number. Cut off: sets bad_, which whoever uses it checks.
  uint64_t Little(size_t count) {
    if (bytes_.size() - at_ < count) {
      bad_ = true;
      return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < count; ++i)
      value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes_[at_ + i])) << (8 * i);
    at_ += count;
    return value;
  }

  bool Push(Node node) {
    if (bad_) return false;
    nodes_.push_back(std::move(node));
    stack_.push_back(static_cast<uint32_t>(nodes_.size() - 1));
    return true;
  }

  bool Integer(int64_t value) { return Push({.kind = Kind::kInt, .integer = value}); }

  // Two's complement of any length; what does not fit into 64 bits keeps its low ones.
  bool Long(uint64_t size) {
    if (bad_ || bytes_.size() - at_ < size) return false;
    uint64_t value =
        size > 0 && static_cast<signed char>(bytes_[at_ + size - 1]) < 0 ? ~uint64_t{0} : 0;
    for (size_t i = 0; i < size && i < 8; ++i) {
      value &= ~(uint64_t{0xFF} << (8 * i));
      value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes_[at_ + i])) << (8 * i);
    }
    at_ += size;
    return Integer(static_cast<int64_t>(value));
  }

  bool IntegerLine() {
    const size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) return false;
    const std::string_view line = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    if (line == "00" || line == "01")
      return Push({.kind = Kind::kBool, .integer = line == "01" ? 1 : 0});
    int64_t value = 0;
    if (std::from_chars(line.data(), line.data() + line.size(), value).ec != std::errc())
      return false;
    return Integer(value);
  }

  bool Float() {
    if (bytes_.size() - at_ < 8) return false;
    uint64_t bits = 0;
    for (size_t i = 0; i < 8; ++i) bits = bits << 8 | static_cast<unsigned char>(bytes_[at_ + i]);
    at_ += 8;
    return Push({.kind = Kind::kFloat, .real = std::bit_cast<double>(bits)});
  }

  bool Text(uint64_t size) {
    if (bad_ || bytes_.size() - at_ < size) return false;
    const std::string_view text = bytes_.substr(at_, size);
    at_ += size;
    return Push({.kind = Kind::kString, .text = text});
  }

  bool Put(uint64_t slot) {
    if (bad_ || stack_.empty()) return false;
    memo_[slot] = stack_.back();
    return true;
  }

  bool Get(uint64_t slot) {
    const auto found = memo_.find(slot);
    if (bad_ || found == memo_.end()) return false;
    stack_.push_back(found->second);
    return true;
  }

  // What was pushed since the last mark.
  std::vector<uint32_t> TakeMarked() {
    const size_t mark = std::min(marks_.back(), stack_.size());
    marks_.pop_back();
    std::vector<uint32_t> items(stack_.begin() + static_cast<std::ptrdiff_t>(mark), stack_.end());
    stack_.resize(mark);
    return items;
  }

  bool Collect(Kind kind) {
    if (marks_.empty()) return false;
    std::vector<uint32_t> items = TakeMarked();
    if (kind == Kind::kDict && items.size() % 2 != 0) return false;
    return Push({.kind = kind, .items = std::move(items)});
  }

  bool Tuple(size_t count) {
    if (stack_.size() < count) return false;
    std::vector<uint32_t> items(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return Push({.kind = Kind::kList, .items = std::move(items)});
  }

  bool Append(size_t count, Kind kind) {
    if (stack_.size() < count + 1) return false;
    const std::vector<uint32_t> items(stack_.end() - static_cast<std::ptrdiff_t>(count),
                                      stack_.end());
    stack_.resize(stack_.size() - count);
    return AppendTo(items, kind);
  }

  bool AppendMarked(Kind kind) {
    if (marks_.empty()) return false;
    const std::vector<uint32_t> items = TakeMarked();
    return !stack_.empty() && (kind != Kind::kDict || items.size() % 2 == 0) &&
           AppendTo(items, kind);
  }

  bool AppendTo(const std::vector<uint32_t>& items, Kind kind) {
    Node& container = nodes_[stack_.back()];
    if (container.kind != kind) return false;
    container.items.insert(container.items.end(), items.begin(), items.end());
    references_ += items.size();
    return references_ <= kMaxNodes;
  }

  absl::StatusOr<PickleValue> Result() {
    if (stack_.size() != 1) return absl::InvalidArgumentError("it does not end with one value");
    PickleValue value;
    if (!MakeTree(stack_.back(), 0, &value))
      return absl::InvalidArgumentError("its values are nested too deeply, or unfold to too many");
    return value;
  }

  bool MakeTree(uint32_t number, int depth, PickleValue* value) {
    if (depth > kMaxDepth || ++tree_nodes_ > kMaxTreeNodes) return false;
    const Node& node = nodes_[number];
    // a text that is named again and again is copied again and again
    tree_nodes_ += node.text.size() / 64;
    value->kind = node.kind;
    value->integer = node.integer;
    value->real = node.real;
    value->text = node.text;
    value->items.resize(node.items.size());
    for (size_t i = 0; i < node.items.size(); ++i) {
      if (!MakeTree(node.items[i], depth + 1, &value->items[i])) return false;
    }
    return true;
  }

  std::string_view bytes_;
  size_t at_ = 0;
  bool bad_ = false;
  std::vector<Node> nodes_;
  std::vector<uint32_t> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, uint32_t> memo_;
  size_t references_ = 0;
  size_t tree_nodes_ = 0;
};

}  // namespace

const PickleValue* PickleValue::Find(std::string_view key) const {
  if (kind != Kind::kDict) return nullptr;
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].kind == Kind::kString && items[i].text == key) return &items[i + 1];
  }
  return nullptr;
}

absl::StatusOr<PickleValue> ParsePickle(std::string_view bytes) { return Machine(bytes).Run(); }

}  // namespace eroica
