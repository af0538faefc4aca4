#include "producers/python/parking.h"

#include <unistd.h>

#include <chrono>
#include <thread>

#include "producers/python/cpython_api.h"

namespace {

constexpr std::chrono::milliseconds kLook{1};

bool IsEnding() {
  static eroica::CPythonApi python;
  const char* why = nullptr;
  static const bool known = eroica::FindCPython(&python, &why);
  return known && python.Py_IsFinalizing != nullptr && python.Py_IsFinalizing() != 0;
}

}  // namespace

extern "C" {

void eroica_python_park(uint32_t longest_ms) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(longest_ms);
  while (std::chrono::steady_clock::now() < until) {
    while (IsEnding()) ::pause();  // handlers of signals return here
    std::this_thread::sleep_for(kLook);
  }
}

}  // extern "C"
