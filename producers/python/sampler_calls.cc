#include "producers/python/sampler_calls.h"

#include <atomic>
#include <cstdio>

#include "producers/core/producer_core.h"
#include "producers/python/cpython_api.h"
#include "producers/python/python_calls.h"
#include "schemas/thread_boundary.h"

namespace {

// Never destroyed: a pending call of it may still run while the interpreter ends. Without a GIL
// other threads call while one starts it.
std::atomic<eroica::StackSampler*> the_sampler{nullptr};

}  // namespace

extern "C" {

const char* eroica_python_start_sampler(double hz, const char* own_folder, int resume_opcode,
                                        void* describe) {
  if (!(hz > 0)) return nullptr;
  if (the_sampler != nullptr) return "it was started before";
  static eroica::CPythonApi python;
  const char* why = nullptr;
  if (!eroica::FindCPython(&python, &why)) return why;
  if (describe != nullptr) python.Py_IncRef(describe);
  const auto start = [&]() -> const char* {
    the_sampler = new eroica::StackSampler(
        python,
        {.hz = hz, .own_folder = own_folder, .resume_opcode = resume_opcode, .describe = describe});
    return the_sampler.load()->Start(&why) ? nullptr : why;
  };
  return eroica::AtBoundary(start, [](const eroica::Thrown& thrown) -> const char* {
    static char said[280];  // the caller reads it before the next call
    std::snprintf(said, sizeof(said), "an exception of a library (%s)", thrown.text());
    return said;
  });
}

void eroica_python_stop_sampler() {
  if (auto* sampler = the_sampler.load()) sampler->Stop();
}

void eroica_python_abandon_sampler() {
  if (auto* sampler = the_sampler.load()) sampler->Abandon();
}

void eroica_python_training_call() {
  if (auto* sampler = the_sampler.load()) sampler->OnTrainingCall();
}

void eroica_python_collection(int64_t start_monotonic_ns) {
  uint32_t function = EROICA_NO_PARENT;
  // Where there is no memory for its stack, it is the collector's of anywhere.
  eroica::RunAtBoundary(
      [&] {
        if (auto* sampler = the_sampler.load()) function = sampler->collections().FunctionHere();
      },
      [](const eroica::Thrown&) {});
  if (function == EROICA_NO_PARENT) function = eroica::GarbageCollections::FunctionAnywhere();
  eroica_python_interval(start_monotonic_ns, function);
}

void eroica_python_pause_full_trace(bool paused) {
  auto* sampler = the_sampler.load();
  if (sampler == nullptr) return;
  sampler->full_trace().Pause(paused);
  if (paused) sampler->full_trace().Remove();  // on another thread it ends with the next call
}

void eroica_python_sampler_statistics(eroica::StackSamplerStatistics* out) {
  const auto* sampler = the_sampler.load();
  *out = sampler == nullptr ? eroica::StackSamplerStatistics{} : sampler->Read();
}

}  // extern "C"
