// Every function that a simulated job can run: kernels, collectives, Python stacks. Built once,
// before the simulation; shared by all ranks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schemas/function.h"

namespace eroica::simulate {

class FunctionCatalog {
 public:
  // The function's index. stack: callers, outermost first, separated by kStackSeparator; they
  // become Python rows of their own.
  uint32_t Add(std::string_view stack, std::string_view name, FunctionClass function_class,
               WaitKind wait = WaitKind::kNone);
  // A Python frame with its callers: "train.py: main > dataset.py: __getitem__".
  uint32_t AddStack(std::string_view frames, WaitKind wait = WaitKind::kNone);

  const std::vector<FunctionDef>& functions() const { return functions_; }

 private:
  uint32_t AddRow(uint32_t parent, std::string_view name, FunctionClass function_class,
                  WaitKind wait);

  std::vector<FunctionDef> functions_;
  std::unordered_map<uint64_t, uint32_t> by_id_;  // FunctionId of the row -> its index
  std::vector<FunctionId> ids_;
};

}  // namespace eroica::simulate
