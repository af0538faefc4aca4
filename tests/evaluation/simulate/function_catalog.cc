#include "tests/evaluation/simulate/function_catalog.h"

namespace eroica::simulate {

uint32_t FunctionCatalog::AddRow(uint32_t parent, std::string_view name,
                                 FunctionClass function_class, WaitKind wait) {
  const FunctionId id =
      HashFunction(function_class, name, parent == kNoParent ? FunctionId{0} : ids_[parent]);
  const auto [place, added] = by_id_.emplace(id.value, static_cast<uint32_t>(functions_.size()));
  if (added) {
    functions_.push_back({.name = std::string(name),
                          .function_class = function_class,
                          .wait = wait,
                          .parent = parent});
    ids_.push_back(id);
  }
  return place->second;
}

uint32_t FunctionCatalog::Add(std::string_view stack, std::string_view name,
                              FunctionClass function_class, WaitKind wait) {
  uint32_t parent = kNoParent;
  while (!stack.empty()) {
    const size_t end = stack.find(kStackSeparator);
    parent = AddRow(parent, stack.substr(0, end), FunctionClass::kPython, WaitKind::kNone);
    stack = end == std::string_view::npos ? std::string_view()
                                          : stack.substr(end + kStackSeparator.size());
  }
  return AddRow(parent, name, function_class, wait);
}

uint32_t FunctionCatalog::AddStack(std::string_view frames, WaitKind wait) {
  const size_t last = frames.rfind(kStackSeparator);
  if (last == std::string_view::npos) return Add("", frames, FunctionClass::kPython, wait);
  return Add(frames.substr(0, last), frames.substr(last + kStackSeparator.size()),
             FunctionClass::kPython, wait);
}

}  // namespace eroica::simulate
