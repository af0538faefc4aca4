// Reads Python pickles of plain data: None, bool, int, float, str, bytes, list, tuple, dict, set.
// Every opcode that names a class or calls anything is refused, so that a hostile file can do
// nothing but be wrong. Values are numbers of nodes, as the pickle shares them: nothing is
// unfolded, and the caller bounds its walk through them (a list may hold itself). One owner, one
// thread.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace eroica {

class Pickle {
 public:
  enum class Kind : uint8_t { kNone, kBool, kInt, kFloat, kString, kList, kDict };
  static constexpr uint32_t kNoNode = ~uint32_t{0};

  // Forgets what it held and keeps the memory. Texts are views into the bytes, which the caller
  // keeps. Limits: 8 Mi values (16 bytes each) and 8 Mi members of containers; a dump of 10,000
  // collectives has half a million.
  absl::Status Parse(std::string_view bytes);

  uint32_t root() const { return root_; }
  Kind KindOf(uint32_t node) const { return nodes_[node].kind; }
  int64_t IntegerOf(uint32_t node) const { return nodes_[node].integer; }  // kBool: 0 or 1
  double RealOf(uint32_t node) const;
  std::string_view TextOf(uint32_t node) const;  // kString, and bytes; empty of all others
  // kList: of a list, tuple or set; kDict: key, value, key, value ...; none of all others.
  std::span<const uint32_t> ItemsOf(uint32_t node) const;
  // The value of a text key; kNoNode where there is none or this is no dict.
  uint32_t Find(uint32_t dict, std::string_view key) const;

 private:
  struct Node {
    Kind kind = Kind::kNone;
    uint32_t size = 0;    // bytes of a text, members of a container
    int64_t integer = 0;  // kFloat: its bits; kString: where it begins in the input; containers: in
                          // the pool
  };
  static constexpr size_t kMaxNodes = size_t{8} << 20;

  bool Execute(unsigned char opcode);
  bool ExecuteScalar(unsigned char opcode);
  bool Lacks(uint64_t count);
  bool Skip(size_t count);
  uint64_t Little(size_t count);
  bool Push(const Node& node);
  bool PushContainer(Kind kind, size_t first);
  bool PushInteger(int64_t value) { return Push({.kind = Kind::kInt, .integer = value}); }
  bool Long(uint64_t size);
  bool IntegerLine();
  bool Float();
  bool Text(uint64_t size);
  bool Put(uint64_t slot);
  bool Get(uint64_t slot);
  bool PopMarked();
  bool Collect(Kind kind);
  bool Tuple(size_t count);
  bool AppendFrom(size_t first, Kind kind);
  bool AppendMarked(Kind kind);
  absl::Status Finish();

  std::string_view bytes_;
  size_t at_ = 0;
  bool bad_ = false;
  uint32_t root_ = kNoNode;
  std::vector<Node> nodes_;
  std::vector<uint32_t> pool_;  // members of containers, those of one side by side
  std::vector<uint32_t> stack_;
  std::vector<size_t> marks_;
  std::vector<uint32_t> memo_;  // by slot; kNoNode where nothing was put
};

}  // namespace eroica
