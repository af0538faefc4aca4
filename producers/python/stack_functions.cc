#include "producers/python/stack_functions.h"

#include "producers/python/python_frame.h"

namespace eroica {

void StackFunctions::Name(const std::vector<NamedCode>& named) {
  if (!named.empty()) last_.clear();  // a frame that had no name may have one now
  for (const NamedCode& code : named) {
    if (code.code >= StackWalker::kMostCodes) continue;
    if (names_.size() <= code.code) names_.resize(code.code + 1);
    names_[code.code] = code.name;
  }
}

uint32_t StackFunctions::FunctionOf(uint32_t parent, uint32_t code) {
  if (code >= names_.size()) return parent;
  const uint64_t key = (static_cast<uint64_t>(parent) << 32) | code;
  if (const auto known = functions_.find(key); known != functions_.end()) return known->second;
  if (functions_.size() >= kMostNodes) return parent;
  const std::string& name = names_[code];
  const int wait = static_cast<int>(WaitOfPythonFrame(name));
  const uint32_t function = eroica_function(name.c_str(), EROICA_PYTHON, wait, parent);
  functions_.emplace(key, function);
  return function;
}

uint32_t StackFunctions::LeafOf(const PythonStack& stack, uint32_t outside) {
  if (outside != last_outside_) last_.clear();
  last_outside_ = outside;
  const size_t leaf = stack.innermost_at_start && stack.depth > 1 ? 1 : 0;
  uint32_t function = outside;
  bool as_before = true;
  for (size_t i = stack.depth, at = 0; i > leaf; --i, ++at) {
    const uint32_t code = stack.codes[i - 1];
    as_before = as_before && at < last_.size() && last_[at].code == code;
    if (!as_before) {
      last_.resize(at);
      last_.push_back({code, FunctionOf(function, code)});
    }
    function = last_[at].function;
  }
  return function;
}

}  // namespace eroica
