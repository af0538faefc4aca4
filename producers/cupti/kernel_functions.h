// From a kernel's symbol to its function number, without allocating for symbols seen before. CUPTI
// gives one pointer for all records of a kernel, but a module that is unloaded frees it and another
// kernel's name may take its place (Triton does so); so an answer by pointer counts only if the
// characters are still the same. Owner and thread: the collector's. Full (16,384 symbols, as many
// as the core has functions): further symbols share the function that the core gave for the first
// of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace eroica {

struct KernelFunction {
  uint32_t function = 0;
  bool collective = false;  // NCCL's
};

class KernelFunctions {
 public:
  static constexpr size_t kMaxSymbols = 16'384;

  KernelFunction Find(const char* symbol);
  size_t symbols() const { return known_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  using Known = std::unordered_map<std::string, KernelFunction, Hash, std::equal_to<>>;
  struct Recent {
    const char* symbol = nullptr;
    const Known::value_type* entry = nullptr;
  };

  KernelFunction Add(const char* symbol, Recent& recent);

  std::array<Recent, 4'096> recent_{};  // by pointer; the last one that hashed here
  Known known_;                         // by characters; nodes do not move
  KernelFunction rest_[2];              // for what finds no room: kernels, collectives
  bool rest_known_[2] = {false, false};
};

}  // namespace eroica
