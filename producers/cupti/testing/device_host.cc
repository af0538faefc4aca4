// A process with a device, as far as CUPTI shows one: it loads the fake libcupti (second argument),
// as PyTorch loads NVIDIA's, and then the injected library (first argument). Kernels run, a
// profiler comes and goes, the process ends. Says "flushed at exit" at its very end, and nothing
// else.
#include <dlfcn.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <thread>

#include "producers/cupti/injection.h"

namespace {

template <typename Function>
Function* Find(void* library, const char* name) {
  auto* function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function == nullptr) {
    std::printf("%s is missing\n", name);
    std::_Exit(3);
  }
  return function;
}

void Check(bool condition, const char* what) {
  if (condition) return;
  std::printf("not so: %s\n", what);
  std::_Exit(4);
}

void Await(const std::function<bool()>& condition, const char* what) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    Check(std::chrono::steady_clock::now() < deadline, what);
    std::this_thread::yield();
  }
}

int (*forced_flushes)() = nullptr;

// Registered before the library's own, so it runs after it.
void AtTheVeryEnd() {
  Check(forced_flushes() == 2, "the last records are brought in at exit");
  std::puts("flushed at exit");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  void* cupti = dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL);
  void* library = cupti == nullptr ? nullptr : dlopen(argv[1], RTLD_NOW);
  if (library == nullptr) {
    std::printf("not loaded: %s\n", dlerror());
    return 2;
  }
  auto* kernel = Find<void(const char*, int64_t, int64_t)>(cupti, "fake_libcupti_kernel");
  auto* flushes = Find<int()>(cupti, "fake_libcupti_flushes");
  auto* enabled = Find<int()>(cupti, "fake_libcupti_enabled");
  auto* probes = Find<int()>(cupti, "fake_libcupti_probes");
  forced_flushes = Find<int()>(cupti, "fake_libcupti_forced_flushes");
  auto* initialize = Find<int()>(library, "InitializeInjection");
  auto* yield = Find<bool(uint32_t)>(library, "eroica_cupti_yield");
  auto* resume = Find<void()>(library, "eroica_cupti_resume");
  auto* state = Find<int()>(library, "eroica_cupti_state");
  std::atexit(&AtTheVeryEnd);

  initialize();
  Check(state() == 2, "it takes device work at once");
  Check(probes() == 1, "it asked who has CUPTI, of the library that was loaded");
  Check(enabled() == 5, "all kinds are enabled");
  const int64_t now = static_cast<int64_t>(std::time(nullptr)) * 1'000'000'000;
  for (int i = 0; i < 5'000; ++i) kernel("_Z4gemmPf", now + i * 100, now + i * 100 + 50);
  Await([&] { return flushes() > 1; }, "its thread flushes");
  Check(yield(20'000), "it yields in time");
  Check(state() == 3, "it says that it has yielded");
  Check(enabled() == 0, "nothing is enabled while a profiler has CUPTI");
  Check(forced_flushes() == 1, "nothing of ours is left in CUPTI");
  resume();
  Await([&] { return state() == 2 && enabled() == 5; }, "it takes CUPTI back");
  kernel("last", now, now + 50);
  return 0;
}
