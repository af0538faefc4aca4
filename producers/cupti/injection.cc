#include "producers/cupti/injection.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "producers/core/producer_core.h"
#include "producers/core/thrown_line.h"
#include "producers/cupti/capture_thread.h"
#include "producers/cupti/cupti_capture.h"
#include "producers/cupti/nccl_plugin.h"
#include "producers/cupti/real_cupti_api.h"
#include "schemas/thread_boundary.h"

namespace eroica {
namespace {

constexpr int64_t kLeastFlushMs = 50;
constexpr int64_t kMostFlushMs = 10'000;
constexpr uint32_t kExitWaitMs = 1'000;

int64_t FlushPeriodNs() {
  int64_t ms = 500;
  if (const char* text = std::getenv("EROICA_CUPTI_FLUSH_MS"); text != nullptr) {
    std::from_chars(text, text + std::strlen(text), ms);
  }
  return std::clamp(ms, kLeastFlushMs, kMostFlushMs) * 1'000'000;
}

// Once a process. One write, so that lines of many ranks do not mix.
void Announce(const std::string& why) {
  static std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  const std::string line = "eroica: no device work is recorded: " + why + "\n";
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, line.data(), line.size());
}

// As the Python package decides it. Of SLURM a launcher has the variable, too.
bool IsNamedRank() {
  constexpr const char* kVariables[] = {"EROICA_RANK", "RANK",      "OMPI_COMM_WORLD_RANK",
                                        "PMI_RANK",    "PMIX_RANK", "MV2_COMM_WORLD_RANK"};
  return std::ranges::any_of(kVariables, [](const char* variable) {
    const char* value = std::getenv(variable);
    return value != nullptr && *value != '\0';
  });
}

// Made once and never destroyed: CUPTI's threads may call until the process is gone.
class Injection {
 public:
  explicit Injection(std::unique_ptr<CuptiApi> api)
      : api_(std::move(api)), thread_(FlushPeriodNs()), capture_(*api_, CaptureOptions()) {}

  bool Start() {
    const int64_t now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                            std::chrono::steady_clock::now().time_since_epoch())
                            .count();
    // On this thread: CUPTI wants to be set up before the first context is.
    if (capture_.Start(now) == CuptiCapture::State::kOff) return false;
    if (thread_.Start(capture_)) return true;
    capture_.Stop();
    Announce("the system gave no thread");
    return false;
  }
  CaptureThread& thread() { return thread_; }

 private:
  CuptiCapture::Options CaptureOptions() {
    CuptiCapture::Options options;
    options.flush_period_ns = FlushPeriodNs();
    options.nccl_plugin_attached = NcclPluginQuestion();
    options.wake = [this] { thread_.Wake(); };
    options.announce = &Announce;
    return options;
  }

  const std::unique_ptr<CuptiApi> api_;
  CaptureThread thread_;
  CuptiCapture capture_;
};

std::atomic<Injection*> the_injection{nullptr};

void AtExit() {
  if (Injection* injection = the_injection.load(std::memory_order_acquire)) {
    injection->thread().Stop(kExitWaitMs);
  }
}

void Initialize() {
  static std::atomic<bool> begun{false};
  if (begun.exchange(true)) return;
  const EroicaAttachOptions options = {
      .component = "cupti", .rank = -1, .world_size = -1, .role = nullptr, .device = -1};
  // Launchers start CUDA as well, to count devices, and would be taken for the rank that they
  // start. Who is no rank by name is one when its script trains, and another producer says so.
  if (IsNamedRank() && !eroica_attach(&options)) return;  // the core says why
  std::string why;
  std::unique_ptr<CuptiApi> api = LoadCuptiApi(&why);
  if (api == nullptr) {
    Announce(why);
    return;
  }
  static Injection* const injection = new Injection(std::move(api));
  if (!injection->Start()) return;
  the_injection.store(injection, std::memory_order_release);
  // After the core's own: runs before it, while events are still taken.
  std::atexit(&AtExit);
}

}  // namespace
}  // namespace eroica

extern "C" {

int InitializeInjection(void) {
  static std::atomic<bool> said{false};
  eroica::RunAtBoundary([] { eroica::Initialize(); },
                        [](const eroica::Thrown& thrown) {
                          eroica::SayThrownOnce(&said, "the capture of device work", thrown);
                        });
  return 1;
}

bool eroica_cupti_yield(uint32_t timeout_ms) {
  eroica::Injection* injection = eroica::the_injection.load(std::memory_order_acquire);
  return injection == nullptr || injection->thread().Yield(timeout_ms);
}

void eroica_cupti_resume(void) {
  eroica::Injection* injection = eroica::the_injection.load(std::memory_order_acquire);
  if (injection != nullptr) injection->thread().Resume();
}

int eroica_cupti_state(void) {
  eroica::Injection* injection = eroica::the_injection.load(std::memory_order_acquire);
  return injection == nullptr ? 0 : static_cast<int>(injection->thread().state());
}

}  // extern "C"
