#include "producers/cupti/kernel_functions.h"

#include <cstring>

#include "producers/core/producer_core.h"
#include "producers/cupti/activity_names.h"
#include "producers/import/collective_kernels.h"

namespace eroica {

KernelFunction KernelFunctions::Find(const char* symbol) {
  if (symbol == nullptr) symbol = "";
  // Names lie some ten bytes apart: the low bits say little.
  const auto address = reinterpret_cast<uintptr_t>(symbol);
  Recent& recent = recent_[((address >> 4) ^ (address >> 16)) % recent_.size()];
  if (recent.symbol == symbol && recent.entry->first == symbol) return recent.entry->second;
  const auto known = known_.find(std::string_view(symbol));
  if (known == known_.end()) return Add(symbol, recent);
  recent = {symbol, &*known};
  return known->second;
}

KernelFunction KernelFunctions::Add(const char* symbol, Recent& recent) {
  const bool full = known_.size() >= kMaxSymbols;
  // Demangling what finds no room anyway would cost microseconds a record.
  if (full && rest_known_[0] && std::strstr(symbol, "ccl") == nullptr) return rest_[0];
  const std::string name = KernelName(symbol);
  const bool waits = CollectiveKernel(name).has_value();
  if (full && rest_known_[waits]) return rest_[waits];
  const KernelFunction added = {
      eroica_function(name.c_str(), waits ? EROICA_COLLECTIVE : EROICA_GPU_COMPUTE,
                      EROICA_WAIT_NONE, EROICA_NO_PARENT),
      IsNcclKernel(name)};
  if (full) {
    rest_[waits] = added;
    rest_known_[waits] = true;
    return added;
  }
  recent = {symbol, &*known_.emplace(symbol, added).first};
  return added;
}

}  // namespace eroica
