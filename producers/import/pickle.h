// Reads Python pickles of plain data: None, bool, int, float, str, bytes, list, tuple, dict, set.
// Every opcode that names a class or calls anything is refused, so that a hostile file can do
// nothing but be wrong.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace eroica {

struct PickleValue {
  enum class Kind : uint8_t { kNone, kBool, kInt, kFloat, kString, kList, kDict };
  Kind kind = Kind::kNone;
  int64_t integer = 0;  // kBool: 0 or 1
  double real = 0;
  std::string text;  // kString; bytes too
  // kList: of a list, tuple or set; kDict: key, value, key, value ...
  std::vector<PickleValue> items;

  // The value of a text key; null where there is none or this is no dict.
  const PickleValue* Find(std::string_view key) const;
};

// Limits: 4 Mi values (some 400 MB; a dump of 10,000 collectives has half a million), 256 levels.
absl::StatusOr<PickleValue> ParsePickle(std::string_view bytes);

}  // namespace eroica
