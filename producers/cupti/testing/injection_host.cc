// A process such as the CUDA driver makes of a training job: it loads the library that its argument
// names, calls InitializeInjection as the driver does, lets a profiler come and go, forks as data
// loaders do, and goes on. Says "went on" on standard output, and nothing else.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "producers/cupti/injection.h"

int main(int argc, char** argv) {
  void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : nullptr;
  if (library == nullptr) {
    std::printf("not loaded: %s\n", argc > 1 ? dlerror() : "no argument");
    return 2;
  }
  const auto initialize =
      reinterpret_cast<decltype(&InitializeInjection)>(dlsym(library, "InitializeInjection"));
  const auto yield =
      reinterpret_cast<decltype(&eroica_cupti_yield)>(dlsym(library, "eroica_cupti_yield"));
  const auto resume =
      reinterpret_cast<decltype(&eroica_cupti_resume)>(dlsym(library, "eroica_cupti_resume"));
  const auto state =
      reinterpret_cast<decltype(&eroica_cupti_state)>(dlsym(library, "eroica_cupti_state"));
  if (initialize == nullptr || yield == nullptr || resume == nullptr || state == nullptr) return 3;
  // Before it is initialized, and twice: hosts do what they like.
  yield(0);
  resume();
  if (initialize() != 1 || initialize() != 1) return 4;
  yield(100);
  resume();
  // No device here, or one that this process does not use.
  if (state() < 0 || state() > 4) return 5;
  const pid_t child = fork();
  if (child == 0) {
    yield(100);
    resume();
    _exit(initialize() == 1 ? 0 : 1);
  }
  if (argc > 2 && std::getenv("EROICA_ATTACHED") != nullptr) return 7;
  int status = -1;
  if (waitpid(child, &status, 0) != child || status != 0) return 6;
  std::puts("went on");
  return 0;
}
