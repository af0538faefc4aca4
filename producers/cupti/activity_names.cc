#include "producers/cupti/activity_names.h"

#include <cxxabi.h>

#include <array>
#include <cstdlib>
#include <cstring>

namespace eroica {
namespace {

constexpr size_t kMaxDemangledSymbol = 1'024;

// CUpti_ActivityMemcpyKind.
const char* CopyWord(uint8_t kind) {
  static constexpr std::array<const char*, 11> kWords = {
      "<unknown>", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
  return kind < kWords.size() ? kWords[kind] : kWords[0];
}

// CUpti_ActivityMemoryKind.
const char* MemoryWord(uint16_t kind) {
  static constexpr std::array<const char*, 8> kWords = {"Unknown",       "Pageable",      "Pinned",
                                                        "Device",        "Array",         "Managed",
                                                        "Device Static", "Managed Static"};
  return kind < kWords.size() ? kWords[kind] : "Unrecognized";
}

}  // namespace

std::string KernelName(const char* symbol) {
  if (symbol == nullptr || *symbol == '\0') return "(kernel without a name)";
  if (std::strlen(symbol) > kMaxDemangledSymbol) return symbol;
  int status = 0;
  char* demangled = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  std::string name = status == 0 && demangled != nullptr ? demangled : symbol;
  std::free(demangled);
  return name;
}

std::string MemcpyName(uint8_t copy_kind, uint16_t source_memory, uint16_t target_memory) {
  return std::string("Memcpy ") + CopyWord(copy_kind) + " (" + MemoryWord(source_memory) + " -> " +
         MemoryWord(target_memory) + ")";
}

std::string MemsetName(uint16_t memory) {
  return std::string("Memset (") + MemoryWord(memory) + ")";
}

const char* WaitName(SynchronizationType type) {
  switch (type) {
    case SynchronizationType::kEventSynchronize: return "cudaEventSynchronize";
    case SynchronizationType::kStreamSynchronize: return "cudaStreamSynchronize";
    case SynchronizationType::kContextSynchronize: return "cudaDeviceSynchronize";
    case SynchronizationType::kStreamWaitEvent:  // the device waits, the host goes on
    case SynchronizationType::kUnknown: break;
  }
  return nullptr;
}

}  // namespace eroica
