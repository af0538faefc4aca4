// Every function that an import has seen, on all ranks: names stored once, a call stack as a chain
// of rows. Bounded: what comes after the limits is counted to one function per class named
// kOverflowName. One owner, one thread.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/function.h"

namespace eroica {

struct HashStringView {
  size_t operator()(std::string_view text) const;
};

class TraceFunctions {
 public:
  struct Limits {
    size_t names = size_t{1} << 20;
    size_t name_bytes = size_t{256} << 20;
    size_t functions = size_t{1} << 22;
  };
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  static constexpr std::string_view kOverflowName =
      "(more functions than the importer tells apart)";
  // Of a name, as the codec allows it; a longer one is cut and gets a hash of the whole, so that
  // ranks agree on it.
  static constexpr size_t kMaxNameBytes = 4'000;
  // deeper frames are counted to the frame at this depth
  static constexpr uint16_t kMaxDepth = 500;

  struct Row {
    uint32_t name = 0;
    uint32_t parent = kNone;
    FunctionClass function_class = FunctionClass::kCpuOp;
    WaitKind wait = WaitKind::kNone;
    uint16_t depth = 1;
  };

  TraceFunctions() : TraceFunctions(Limits{}) {}
  explicit TraceFunctions(Limits limits);

  uint32_t InternName(std::string_view name);
  // The row of a function called by `parent` (kNone: by nobody).
  uint32_t Intern(uint32_t parent, uint32_t name, FunctionClass function_class, WaitKind wait);

  const Row& row(uint32_t function) const { return rows_[function]; }
  const std::string& name(uint32_t name) const { return names_[name]; }
  size_t size() const { return rows_.size(); }
  uint64_t overflowed() const { return overflowed_; }  // look-ups that a limit turned away

 private:
  struct Key {
    uint32_t parent;
    uint32_t name;
    FunctionClass function_class;
    friend bool operator==(const Key&, const Key&) = default;
    template <typename H>
    friend H AbslHashValue(H state, const Key& key) {
      return H::combine(std::move(state), key.parent, key.name,
                        static_cast<uint8_t>(key.function_class));
    }
  };

  Limits limits_;
  std::deque<std::string> names_;
  absl::flat_hash_map<std::string_view, uint32_t, HashStringView, std::equal_to<>> name_index_;
  size_t name_bytes_ = 0;
  std::vector<Row> rows_;
  absl::flat_hash_map<Key, uint32_t> row_index_;
  uint64_t overflowed_ = 0;
};

}  // namespace eroica
