#include "producers/import/function_table.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace eroica {
namespace {

// Cut at a character's first byte, so that the rest stays UTF-8.
std::string Shortened(std::string_view name) {
  size_t length = TraceFunctions::kMaxNameBytes - 20;
  while (length > 0 && (static_cast<unsigned char>(name[length]) & 0xC0) == 0x80) --length;
  return fmt::format("{}...#{:016x}", name.substr(0, length),
                     XXH3_64bits(name.data(), name.size()));
}

}  // namespace

size_t HashStringView::operator()(std::string_view text) const {
  return XXH3_64bits(text.data(), text.size());
}

TraceFunctions::TraceFunctions(Limits limits) : limits_(limits) {
  names_.emplace_back(kOverflowName);
  name_index_.emplace(names_.back(), 0);
}

uint32_t TraceFunctions::InternName(std::string_view name) {
  if (name.size() > kMaxNameBytes) return InternName(Shortened(name));
  const auto found = name_index_.find(name);
  if (found != name_index_.end()) return found->second;
  if (names_.size() >= limits_.names || name_bytes_ + name.size() > limits_.name_bytes) {
    ++overflowed_;
    return 0;
  }
  const auto id = static_cast<uint32_t>(names_.size());
  names_.emplace_back(name);
  name_bytes_ += name.size();
  name_index_.emplace(names_.back(), id);
  return id;
}

uint32_t TraceFunctions::Intern(uint32_t parent, uint32_t name, FunctionClass function_class,
                                WaitKind wait) {
  if (name >= names_.size()) name = 0;  // of what overflows
  const uint16_t depth = parent == kNone ? uint16_t{0} : rows_[parent].depth;
  if (depth >= kMaxDepth) return parent;
  const Key key{parent, name, function_class};
  const auto found = row_index_.find(key);
  if (found != row_index_.end()) return found->second;
  // The rows for what overflows (one per class, without a caller) are the only ones beyond the
  // limit.
  if (rows_.size() >= limits_.functions && !(name == 0 && parent == kNone)) {
    ++overflowed_;
    return Intern(kNone, 0, function_class, WaitKind::kNone);
  }
  const auto id = static_cast<uint32_t>(rows_.size());
  rows_.push_back({name, parent, function_class, wait, static_cast<uint16_t>(depth + 1)});
  row_index_.emplace(key, id);
  return id;
}

}  // namespace eroica
