#include "producers/python/garbage_collections.h"

#include <utility>

#include "producers/core/producer_core.h"

namespace eroica {
namespace {

uint32_t CollectionCalledBy(uint32_t caller) {
  return eroica_function("<gc collection>", EROICA_PYTHON, EROICA_WAIT_NONE, caller);
}

}  // namespace

GarbageCollections::GarbageCollections(const CPythonApi& python, std::string own_folder,
                                       int resume_opcode)
    : walker_(python, std::move(own_folder), resume_opcode) {}

uint32_t GarbageCollections::FunctionAnywhere() { return CollectionCalledBy(EROICA_NO_PARENT); }

uint32_t GarbageCollections::FunctionHere() {
  const auto turn = at_a_time_.Take();
  if (!turn) return FunctionAnywhere();
  walker_.Walk(&stack_);
  functions_.Name(stack_.named);
  const uint32_t caller = functions_.LeafOf(stack_);
  const auto [known, is_new] = collections_.try_emplace(caller, 0);
  if (is_new) known->second = CollectionCalledBy(caller);
  return known->second;
}

}  // namespace eroica
