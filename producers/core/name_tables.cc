#include "producers/core/name_tables.h"

#include <algorithm>
#include <utility>

#include "schemas/codec.h"

namespace eroica {
namespace {

// Nobody sends names with control characters on purpose; they would reach terminals.
std::string Clean(std::string_view name) {
  std::string clean(name.substr(0, NameTables::kMaxNameBytes));
  for (char& c : clean) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return clean;
}

}  // namespace

NameTables::NameTables() {
  for (int i = 0; i < kFunctionClassCount; ++i) {
    functions_.push_back(
        {.name = "(other functions)", .function_class = static_cast<FunctionClass>(i)});
    depths_.push_back(1);
  }
}

uint32_t NameTables::Function(std::string_view name, FunctionClass function_class, WaitKind wait,
                              uint32_t parent, bool* full) {
  const MutexLock lock(mutex_);
  *full = false;
  if (parent != kNoParent && parent >= functions_.size()) parent = kNoParent;
  if (parent != kNoParent && depths_[parent] >= CodecLimits::kStackDepth) parent = kNoParent;
  // Two names of one hash would share a number: at 16,384 names once in 10^11 processes.
  const uint64_t hash =
      HashFunction(function_class, name, FunctionId{static_cast<uint64_t>(wait)}).value;
  const auto known = function_numbers_.find({hash, parent});
  if (known != function_numbers_.end()) return known->second;
  if (functions_.size() >= kMaxFunctions || name_bytes_ + name.size() > kMaxNamesBytes) {
    *full = true;
    return OtherFunctions(function_class);
  }
  const auto number = static_cast<uint32_t>(functions_.size());
  functions_.push_back({Clean(name), function_class, wait, parent});
  depths_.push_back(parent == kNoParent ? uint16_t{1} : static_cast<uint16_t>(depths_[parent] + 1));
  name_bytes_ += functions_.back().name.size();
  function_numbers_.emplace(FunctionKey{hash, parent}, number);
  return number;
}

uint8_t NameTables::LaneOf(std::string_view name, LaneKind kind) {
  const MutexLock lock(mutex_);
  const Lane lane{Clean(name), kind};
  const auto known = std::find(lanes_.begin(), lanes_.end(), lane);
  if (known != lanes_.end()) return static_cast<uint8_t>(known - lanes_.begin());
  if (lanes_.size() > kMaxLanes) return kMaxLanes;
  lanes_.push_back(lanes_.size() == kMaxLanes ? Lane{"(other threads)", LaneKind::kHostThread}
                                              : lane);
  return static_cast<uint8_t>(lanes_.size() - 1);
}

uint16_t NameTables::CommunicatorOf(const Communicator& communicator) {
  const MutexLock lock(mutex_);
  const auto known =
      std::find_if(communicators_.begin(), communicators_.end(),
                   [&](const Communicator& row) { return row.id == communicator.id; });
  if (known != communicators_.end()) return static_cast<uint16_t>(known - communicators_.begin());
  if (communicators_.size() >= kMaxCommunicators) return kNoCommunicator;
  communicators_.push_back(communicator);
  communicators_.back().name = Clean(communicator.name);
  communicators_.back().description = Clean(communicator.description);
  return static_cast<uint16_t>(communicators_.size() - 1);
}

std::vector<std::string> NameTables::PathTo(uint32_t function) const {
  const MutexLock lock(mutex_);
  std::vector<std::string> names;
  for (uint32_t at = function; at < functions_.size(); at = functions_[at].parent)
    names.push_back(functions_[at].name);
  std::ranges::reverse(names);
  return names;
}

void NameTables::CopyNew(std::vector<FunctionDef>* functions, std::vector<Lane>* lanes,
                         std::vector<Communicator>* communicators) const {
  const MutexLock lock(mutex_);
  const auto append_new = [](const auto& all, auto* seen) {
    seen->insert(seen->end(), all.begin() + static_cast<std::ptrdiff_t>(seen->size()), all.end());
  };
  append_new(functions_, functions);
  append_new(lanes_, lanes);
  append_new(communicators_, communicators);
}

size_t NameTables::memory_bytes() const {
  const MutexLock lock(mutex_);
  // Names are kept twice: here and in the emitter's copy.
  return 2 * (name_bytes_ + functions_.size() * sizeof(FunctionDef)) +
         function_numbers_.size() * 48;
}

}  // namespace eroica
