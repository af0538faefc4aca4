#include "stream_ops/pattern/function_table.h"

#include <algorithm>
#include <numeric>

namespace eroica {
namespace {

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

ResourceChoice ResourceOf(FunctionClass function_class, std::string_view name) {
  switch (function_class) {
    case FunctionClass::kGpuCompute: return {Resource::kGpuSm, Resource::kNone};
    case FunctionClass::kMemoryOp:
      if (Contains(name, "HtoD") || Contains(name, "DtoH"))
        return {Resource::kPcieTx, Resource::kGpuDram};
      if (Contains(name, "PtoP")) return {Resource::kNvlink, Resource::kPcieTx};
      return {Resource::kGpuDram, Resource::kNone};
    case FunctionClass::kCollective: return {Resource::kNic, Resource::kPcieTx};
    case FunctionClass::kPython:
    case FunctionClass::kCpuOp: return {Resource::kCpu, Resource::kNone};
  }
  return {};
}

FunctionTable::FunctionTable(size_t most_functions, size_t most_name_bytes)
    : most_functions_(most_functions), name_bytes_left_(most_name_bytes), slots_(1024, 0) {}

void FunctionTable::Intern(std::span<const FunctionDef> functions, std::vector<uint32_t>* numbers) {
  numbers->clear();
  for (const FunctionDef& function : functions) {
    const uint32_t parent = function.parent == kNoParent ? kNoParent : (*numbers)[function.parent];
    numbers->push_back(InternOne(function, parent));
  }
}

uint32_t FunctionTable::InternOne(const FunctionDef& definition, uint32_t parent) {
  const FunctionId parent_id = parent == kNoParent ? FunctionId{0} : traits_[parent].id;
  const FunctionId id = HashFunction(definition.function_class, definition.name, parent_id);
  if (const uint32_t slot = *SlotOf(id); slot != 0) return slot - 1;
  if (traits_.size() < most_functions_ && definition.name.size() <= name_bytes_left_) {
    name_bytes_left_ -= definition.name.size();
    return Append(id, definition, definition.name, parent);
  }
  ++overflowed_;
  const FunctionId other = HashFunction(definition.function_class, kOtherFunctions, FunctionId{0});
  if (const uint32_t slot = *SlotOf(other); slot != 0) return slot - 1;
  return Append(other, {.name = {}, .function_class = definition.function_class}, kOtherFunctions,
                kNoParent);
}

uint32_t FunctionTable::Append(FunctionId id, const FunctionDef& definition, std::string_view name,
                               uint32_t parent) {
  const auto number = static_cast<uint32_t>(traits_.size());
  const ResourceChoice resource = ResourceOf(definition.function_class, name);
  const uint32_t depth = parent == kNoParent ? 0 : traits_[parent].depth + 1;
  traits_.push_back(
      {id, definition.function_class, definition.wait, resource.first, resource.second, depth});
  names_.emplace_back(name);
  parents_.push_back(parent);
  if (traits_.size() * 2 > slots_.size()) {
    Grow();
  } else {
    *SlotOf(id) = number + 1;
  }
  return number;
}

uint32_t* FunctionTable::SlotOf(FunctionId id) {
  const size_t mask = slots_.size() - 1;
  size_t slot = id.value & mask;
  while (slots_[slot] != 0 && traits_[slots_[slot] - 1].id != id) slot = (slot + 1) & mask;
  return &slots_[slot];
}

void FunctionTable::Grow() {
  slots_.assign(slots_.size() * 2, 0);
  for (uint32_t i = 0; i < traits_.size(); ++i) *SlotOf(traits_[i].id) = i + 1;
}

std::string FunctionTable::Stack(uint32_t function) const {
  std::vector<uint32_t> callers;
  size_t length = 0;
  for (uint32_t caller = parents_[function]; caller != kNoParent; caller = parents_[caller]) {
    callers.push_back(caller);
    length += names_[caller].size() + kStackSeparator.size();
  }
  std::string stack;
  stack.reserve(length);
  for (auto caller = callers.rbegin(); caller != callers.rend(); ++caller) {
    if (!stack.empty()) stack += kStackSeparator;
    stack += names_[*caller];
  }
  return stack;
}

}  // namespace eroica
