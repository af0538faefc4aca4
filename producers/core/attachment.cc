#include "producers/core/attachment.h"

#include <fmt/format.h>
#include <pthread.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "producers/core/producer_core.h"
#include "producers/host/gpu_device.h"
#include "producers/host/host_sampler.h"
#include "schemas/capture_gap.h"
#include "schemas/check.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kExitTimeout{2'000};

// One write, so that lines of many ranks do not mix. Nobody is told of a standard error that is
// closed.
void Say(const std::string& text) {
  const std::string line = "eroica: " + text + "\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

std::string HostName() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

ProducerIdentity IdentityOf(const ProducerConfig& config, const EroicaAttachOptions& options) {
  const int64_t rank = options.rank >= 0 ? options.rank : std::max<int64_t>(config.rank, 0);
  const int64_t world =
      options.world_size > 0 ? options.world_size : std::max<int64_t>(config.world_size, 1);
  ProducerIdentity identity;
  identity.job = JobId{config.job};
  identity.rank = RankId{static_cast<uint32_t>(rank)};
  identity.world_size = static_cast<uint32_t>(std::max(world, rank + 1));
  identity.role = options.role != nullptr ? options.role : config.role;
  identity.host = HostName();
  identity.pid = static_cast<uint32_t>(::getpid());
  identity.device = options.device;
  identity.producer = "core";
  identity.producer_version = EROICA_VERSION;
  identity.host_only = true;
  identity.window_steps = config.window_steps;
  identity.started_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                            std::chrono::system_clock::now().time_since_epoch())
                            .count();
  return identity;
}

EmitterOptions EmitterOf(const ProducerConfig& config, const EroicaAttachOptions& options) {
  return {.identity = IdentityOf(config, options),
          .send_interval_ns = int64_t{config.send_interval_ms} * 1'000'000,
          .level = static_cast<CaptureLevel>(config.level),
          .first_step = config.first_step};
}

// Empty where nobody wants it. The sampler is made by the first call, on the emitter's thread.
std::function<void(int64_t)> HostSamplingOf(const ProducerConfig& config,
                                            const ProducerIdentity& identity) {
  if (config.host_hz <= 0) return {};
  HostSamplerOptions options;
  options.rank = identity.rank.value;
  options.world_size = identity.world_size;
  options.host = identity.host;
  options.exchange_folder = config.exchange;
  options.thread_period_ns = static_cast<int64_t>(1e9 / config.host_hz);
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  options.open_gpu = [nvml = NvmlOptions{.device = std::max(identity.device, 0),
                                         .visible_devices = visible != nullptr ? visible : "",
                                         .process = identity.pid}] { return OpenNvmlDevice(nvml); };
  const auto wanted = std::make_shared<HostSamplerOptions>(std::move(options));
  const auto sampler = std::make_shared<std::unique_ptr<HostSampler>>();
  return [wanted, sampler](int64_t now_ns) {
    if (*sampler == nullptr) *sampler = std::make_unique<HostSampler>(std::move(*wanted));
    (*sampler)->Tick(now_ns);
  };
}

// Reports the number of processes of this host that were refused as this rank, when it has grown.
std::function<void(int64_t)> RefusalWatchOf(const RankClaim& claim) {
  return [&claim, said = uint32_t{0}](int64_t now_ns) mutable {
    const uint32_t refused = claim.refused();
    if (refused <= said) return;
    said = refused;
    const CaptureGap gap{.capture = CaptureKind::kProcesses, .detail = refused};
    eroica_mark(now_ns, EROICA_CAPTURE_SUSPENDED, gap.mark_id());
  };
}

}  // namespace

std::atomic<CoreState*> Attachment::state_{nullptr};

Attachment& Attachment::OfProcess() {
  static Attachment* const attachment = new Attachment;  // outlives every thread
  return *attachment;
}

bool Attachment::Attach(const EroicaAttachOptions& options) {
  if (forked_.load(std::memory_order_relaxed))
    return TurnOff("a forked child of an attached process", false);
  const MutexLock lock(mutex_);
  // Other producers than Python's attach where there is something to capture: a device, NCCL.
  if (options.component != nullptr && std::string_view(options.component) != "python") Keep();
  if (hold_.load(std::memory_order_acquire) == Rank::kHandedOver) return Resume(options);
  if (!decided_ || held_by_ancestor_) {
    decided_ = true;
    return Start(options);
  }
  AddWhatIsKnown(options);
  return state() != nullptr;
}

bool Attachment::Start(const EroicaAttachOptions& options) {
  absl::StatusOr<ProducerConfig> config = ReadProducerConfig();
  if (!config.ok()) return TurnOff(std::string(config.status().message()), true);
  if (config->disabled) return TurnOff("EROICA_DISABLE is set", false);
  if (config->recording.empty() && config->bootstrap.empty() && !config->null_transport) {
    return TurnOff("neither EROICA_RECORDING nor EROICA_BOOTSTRAP is set", false);
  }
  for (const std::string& name : held_by_ancestor_ ? std::vector<std::string>() : config->unknown)
    Say(fmt::format("nobody knows the variable {}", name));
  EmitterOptions emitter = EmitterOf(*config, options);
  rank_ = emitter.identity.rank.value;
  if (!*SelectsRank(config->ranks, rank_))
    return TurnOff("EROICA_RANKS leaves this rank out", false);
  if (config->exchange.empty()) config->exchange = DefaultExchangeFolder(config->job);
  const RankSource source =
      options.rank < 0 && config->rank < 0 ? RankSource::kAssumed : RankSource::kStated;
  const bool tried_before = std::exchange(held_by_ancestor_, false);
  if (tried_before) RankClaim::Ask(config->exchange, rank_);
  absl::StatusOr<RankClaim> claim = RankClaim::Take(config->exchange, rank_, source);
  if (!claim.ok()) {
    held_by_ancestor_ = absl::IsAlreadyExists(claim.status()) &&
                        RankClaim::IsHeldByAncestor(config->exchange, rank_);
    const bool is_news =
        !held_by_ancestor_ || (!tried_before && source == RankSource::kStated &&
                               RankClaim::IsHeldByAssumption(config->exchange, rank_));
    if (is_news && absl::IsAlreadyExists(claim.status()))
      RankClaim::NoteRefused(config->exchange, rank_);
    return TurnOff(std::string(claim.status().message()), is_news);
  }
  claim_ = *std::move(claim);
  std::unique_ptr<RingPool> rings = RingPool::Make();
  if (rings == nullptr) return TurnOff("no memory for the rings", true);
  spdlog::set_default_logger(spdlog::null_logger_mt("eroica"));
  owned_ = std::make_unique<CoreState>(std::move(rings));
  owned_->device.store(options.device, std::memory_order_relaxed);
  owned_->own_steps.store(config->first_step, std::memory_order_relaxed);
  owned_->rank.store(rank_, std::memory_order_relaxed);
  owned_->world_size.store(emitter.identity.world_size, std::memory_order_relaxed);
  return Run(*std::move(config), std::move(emitter));
}

// Names, threads and what watches the core stay as they were: producers have kept their numbers.
bool Attachment::Resume(const EroicaAttachOptions& options) {
  if (thread_ == nullptr || !thread_->HasEnded()) return false;
  absl::StatusOr<ProducerConfig> config = ReadProducerConfig();
  if (!config.ok()) return false;
  EmitterOptions emitter = EmitterOf(*config, options);
  if (emitter.identity.rank.value != rank_) return false;
  if (config->exchange.empty()) config->exchange = DefaultExchangeFolder(config->job);
  absl::StatusOr<RankClaim> claim = RankClaim::Take(config->exchange, rank_);
  if (!claim.ok()) {
    const bool is_first = !std::exchange(said_refused_, true);
    if (is_first && absl::IsAlreadyExists(claim.status()))
      RankClaim::NoteRefused(config->exchange, rank_);
    return TurnOff(fmt::format("it has handed its rank over, and trains itself: {}",
                               std::string(claim.status().message())),
                   is_first);
  }
  thread_->Stop(milliseconds(0));  // it has ended
  thread_.reset();
  claim_ = *std::move(claim);
  hold_.store(Rank::kKept, std::memory_order_release);
  off_reason_.store("", std::memory_order_release);
  return Run(*std::move(config), std::move(emitter));
}

bool Attachment::Run(ProducerConfig config, EmitterOptions emitter) {
  EmitterThread::Parts parts;
  parts.state = owned_.get();
  parts.periodic = [sample = HostSamplingOf(config, emitter.identity),
                    watch = RefusalWatchOf(*claim_)](int64_t now_ns) {
    if (sample) sample(now_ns);
    watch(now_ns);
  };
  parts.hands_over = [this] { return HandsOver(); };
  parts.handed_over = [this] { claim_->Release(); };
  parts.config = std::move(config);
  parts.emitter = std::move(emitter);
  parts.give_up = [this](const std::string& reason) { TurnOff(reason, true); };
  parts.complain = [rank = rank_](const std::string& reason) {
    Say(fmt::format("rank {} is losing events: {}", rank, reason));
  };
  thread_ = std::make_unique<EmitterThread>(std::move(parts));
  RegisterHandlers();
  state_.store(owned_.get(), std::memory_order_release);
  if (absl::Status status = thread_->Start(); !status.ok()) {
    thread_.reset();
    return TurnOff(std::string(status.message()), true);
  }
  return true;
}

// A process that shows no sign of training, and has loaded nothing that trains, has only started
// the one that does: it asks for the rank. What this one would tell is of no use.
bool Attachment::HandsOver() {
  const CoreState* const state = Attachment::state();
  if (state == nullptr || hold_.load(std::memory_order_relaxed) == Rank::kKept) return false;
  if (state->trainer.Read().number != 0 || state->flights.changes() != 0) return false;
  if (!claim_->IsAsked()) return false;
  Rank hold = Rank::kMayBeHandedOver;
  if (!hold_.compare_exchange_strong(hold, Rank::kHandedOver)) return false;
  TurnOff("a process that this one has started trains as its rank", false);
  return true;
}

// What is handed over stays so, until this process attaches again.
void Attachment::Keep() {
  Rank hold = Rank::kMayBeHandedOver;
  hold_.compare_exchange_strong(hold, Rank::kKept);
}

bool Attachment::TurnOff(const std::string& reason, bool say) {
  state_.store(nullptr, std::memory_order_release);
  if (reason == off_reason_.load(std::memory_order_acquire)) return false;
  char* kept = ::strdup(reason.c_str());  // whoever asks may keep the pointer
  off_reason_.store(kept != nullptr ? kept : "out of memory", std::memory_order_release);
  if (say) Say(fmt::format("this process is not captured: {}. Training goes on.", reason));
  return false;
}

void Attachment::TurnOffThrown(const Thrown& thrown) {
  if (state_.exchange(nullptr, std::memory_order_acq_rel) == nullptr) return;  // it is said
  SayThrown("this process is no longer captured", thrown);
}

void Attachment::DetachThrown(const Thrown& thrown) {
  SayThrown("what was captured last may be lost", thrown);
}

void Attachment::SayThrown(const char* what, const Thrown& thrown) {
  off_reason_.store("an exception of a library", std::memory_order_release);
  std::array<char, 400> line{};
  std::snprintf(line.data(), line.size(),
                "eroica: %s: an exception of a library (%s). Training goes on.\n", what,
                thrown.text());
  [[maybe_unused]] const ssize_t written =
      ::write(STDERR_FILENO, line.data(), std::strlen(line.data()));
}

void Attachment::AddWhatIsKnown(const EroicaAttachOptions& options) {
  CoreState* const state = Attachment::state();
  if (state != nullptr && options.device >= 0)
    state->device.store(options.device, std::memory_order_relaxed);
}

void Attachment::RegisterHandlers() {
  if (std::exchange(handlers_, true)) return;
  check_failed_handler.store(&Attachment::OnCheckFailed);
  std::atexit(&Attachment::AtExit);
  ::pthread_atfork(nullptr, nullptr, &Attachment::InForkedChild);
}

void Attachment::Detach(milliseconds timeout) {
  if (forked_.load(std::memory_order_relaxed)) return;
  const MutexLock lock(mutex_);
  if (thread_ == nullptr) return;
  const bool was_on = state_.exchange(nullptr, std::memory_order_acq_rel) != nullptr;
  const bool done = thread_->Stop(timeout);
  if (!done) {
    // The thread still runs on what is ours: it is left to it.
    [[maybe_unused]] auto* thread = thread_.release();
    Say(fmt::format("rank {}: what was captured last is lost, sending it took too long", rank_));
  } else {
    thread_.reset();
  }
  // A thousandth changes nothing of what is found; findings count what their windows lack.
  const uint64_t lost = owned_->losses.total();
  const uint64_t all = owned_->events_taken.load(std::memory_order_relaxed) + lost;
  if (was_on && lost > all / 1'000)
    Say(fmt::format("rank {}: {} of {} events were lost", rank_, lost, all));
  if (was_on) TurnOff("detached", false);
}

void Attachment::AtExit() {
  RunAtBoundary([] { OfProcess().Detach(kExitTimeout); },
                [](const Thrown& thrown) { OfProcess().DetachThrown(thrown); });
}

// The child has neither the emitter nor the rank. Nothing here may lock or allocate.
void Attachment::InForkedChild() {
  Attachment& attachment = OfProcess();
  attachment.forked_.store(true, std::memory_order_relaxed);
  state_.store(nullptr, std::memory_order_release);
  if (attachment.claim_) attachment.claim_->CloseInChild();
}

void Attachment::OnCheckFailed(const char* file, int line, const char* condition) {
  state_.store(nullptr, std::memory_order_release);
  Say(fmt::format("switched off by a bug of Eroica's ({}:{}: {}). Training goes on.", file, line,
                  condition));
  for (;;) ::pause();
}

}  // namespace eroica
