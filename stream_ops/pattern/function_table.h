// The functions of a job under dense numbers, so that whatever is counted by function is counted in
// arrays. All ranks of a job share one table: they run the same functions. Owner: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schemas/event_batch.h"
#include "schemas/function.h"
#include "stream_ops/pattern/interval.h"

namespace eroica {

// The resource whose use says how fast a function runs (EROICA section 4.2), and the one to take
// where the rank has no samples of it: kernels the SMs; Python and CPU operators the CPU;
// collectives the network, else PCIe (the way to it), whatever links they also use inside the host,
// so that all members of a communicator speak of one thing; copies between host and device PCIe,
// between devices NVLink, all other memory operations the device's memory. EROICA leaves memory
// operations open.
struct ResourceChoice {
  Resource first = Resource::kNone;
  Resource second = Resource::kNone;
};
ResourceChoice ResourceOf(FunctionClass function_class, std::string_view name);

class FunctionTable {
 public:
  // A job that never stops inventing names must not fill the memory: beyond this many, and beyond
  // so many bytes of names, all new functions of a class are one, kOtherFunctions.
  static constexpr size_t kMostFunctions = size_t{1} << 20;
  static constexpr size_t kMostNameBytes = size_t{256} << 20;
  static constexpr std::string_view kOtherFunctions = "(other functions)";

  explicit FunctionTable(size_t most_functions = kMostFunctions,
                         size_t most_name_bytes = kMostNameBytes);

  // numbers[i] is the number of functions[i]. Callers must come before what they call, as the codec
  // has checked.
  void Intern(std::span<const FunctionDef> functions, std::vector<uint32_t>* numbers);

  std::span<const FunctionTraits> traits() const { return traits_; }
  size_t size() const { return traits_.size(); }
  const std::string& name(uint32_t function) const { return names_[function]; }
  // Callers, outermost first, joined by kStackSeparator.
  std::string Stack(uint32_t function) const;
  // Functions that found no place of their own, counted each time.
  uint64_t overflowed() const { return overflowed_; }

 private:
  uint32_t InternOne(const FunctionDef& definition, uint32_t parent);
  uint32_t Append(FunctionId id, const FunctionDef& definition, std::string_view name,
                  uint32_t parent);
  uint32_t* SlotOf(FunctionId id);
  void Grow();

  size_t most_functions_;
  size_t name_bytes_left_;
  std::vector<FunctionTraits> traits_;
  std::vector<std::string> names_;
  std::vector<uint32_t> parents_;
  // open addressing by FunctionId, which is a hash; 1 + number, 0: free
  std::vector<uint32_t> slots_;
  uint64_t overflowed_ = 0;
};

}  // namespace eroica
