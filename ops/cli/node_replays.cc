#include "ops/cli/node_replays.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "ops/cli/lost_entries.h"
#include "ops/cli/replay_job.h"
#include "ops/cli/replay_order_file.h"
#include "ops/cli/replay_verdict.h"
#include "ops/cli/time_text.h"
#include "ops/config/config_file.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMemoryMinMib = 128;

// What findings depend on, and nothing that reaches files, brokers or memory.
bool MayBeSet(std::string_view option) {
  constexpr std::array<std::string_view, 4> kSingle = {
      "state.job_retention_minutes", "state.ended_jobs_kept", "state.findings_retention_days",
      "runtime.idle_timeout_ms"};
  if (option.ends_with(".memory_mib")) return false;
  return option.starts_with("summarize.") || option.starts_with("align.") ||
         std::ranges::find(kSingle, option) != kSingle.end();
}

// The live stages go first.
void LowerPriority() {
  constexpr int kNice = 10;
  if (setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice) != 0)
    spdlog::debug("replays: the thread keeps its priority");
}

std::shared_ptr<const std::vector<Finding>> ShownOf(std::vector<Finding> findings) {
  findings.resize(std::min(findings.size(), NodeReplays::kFindingsMax));
  return std::make_shared<const std::vector<Finding>>(std::move(findings));
}

// What was lost of the log, and what was not recorded.
std::vector<std::string> LeftOpen(const ReplayOutcome& outcome, const LostEntries& lost,
                                  const NoFindings& none) {
  std::vector<std::string> sentences = lost.sentences;
  if (outcome.records_missing > 0)
    sentences.push_back(
        fmt::format("{} records had left the log by its retention.", outcome.records_missing));
  if (outcome.corrupt_bytes > 0)
    sentences.push_back(fmt::format("{} bytes of the recording are damaged and were left out.",
                                    outcome.corrupt_bytes));
  sentences.insert(sentences.end(), none.reasons.begin(), none.reasons.end());
  return sentences;
}

}  // namespace

NodeReplays::NodeReplays(const NodeConfig& config, std::string folder,
                         std::function<void(const ReplayStatus&)> before_run)
    : config_(config), folder_(std::move(folder)), before_run_(std::move(before_run)) {
  ReadKept();
  worker_ = BoundaryThread([this](const std::stop_token& stop) { Work(stop); },
                           [](const Thrown& thrown) {
                             spdlog::error(
                                 "replays: an exception ended their thread, none runs until the "
                                 "node is restarted error=\"{}\"",
                                 thrown.text());
                           });
}

NodeReplays::~NodeReplays() = default;

void NodeReplays::ReadKept() {
  const MutexLock lock(mutex_);
  std::error_code error;
  for (const auto& folder : fs::directory_iterator(folder_, error)) {
    absl::StatusOr<ReplayStatus> replay = ReadReplayOrder(folder.path().string());
    if (!replay.ok()) continue;  // something else, which is left alone
    if (replay->state == ReplayState::kFinished) {
      absl::StatusOr<std::vector<Finding>> findings =
          ReadReplayFindings(replay->folder, config_.node.topic_prefix);
      if (!findings.ok()) continue;
      replay->findings_total = findings->size();
      replay->findings = ShownOf(*std::move(findings));
    }
    entries_.push_back({.status = *std::move(replay)});
  }
  std::ranges::sort(entries_, std::ranges::greater(),
                    [](const Entry& entry) { return entry.status.asked_ms; });
  DropOldest();
}

absl::StatusOr<NodeConfig> NodeReplays::ConfigOf(const ReplayOrder& order) const {
  NodeConfig config = config_;
  config.runtime.memory_mib = config_.rest.replay_memory_mib;
  config.state.memory_mib = 0;  // shares of that
  config.summarize.memory_mib = 0;
  config.align.memory_mib = 0;
  config.diagnose.memory_mib = 0;
  for (const std::string& option : order.options) {
    const std::string name = option.substr(0, option.find('='));
    if (!MayBeSet(name))
      return absl::InvalidArgumentError(fmt::format(
          "options: {} cannot be set for a replay over REST; those of summarize and align can, and "
          "`eroica replay --set` takes all",
          name));
    if (absl::Status status = ApplyAssignment(option, &config); !status.ok()) return status;
  }
  return config;
}

NodeReplays::Entry* NodeReplays::FindEntry(const std::string& id) {
  const auto entry =
      std::ranges::find(entries_, id, [](const Entry& one) { return one.status.id; });
  return entry == entries_.end() ? nullptr : &*entry;
}

absl::StatusOr<ReplayStatus> NodeReplays::Ask(ReplayOrder order, const std::string& by) {
  if (config_.rest.replay_memory_mib < kMemoryMinMib)
    return absl::FailedPreconditionError(
        fmt::format("this node runs no replays: rest.replay_memory_mib is below {}; `eroica "
                    "replay` runs one elsewhere",
                    kMemoryMinMib));
  const absl::StatusOr<NodeConfig> config = ConfigOf(order);
  if (!config.ok()) return absl::FailedPreconditionError(config.status().message());
  const int64_t now_ms = NowMs();
  if (!order.to_ms) order.to_ms = now_ms;
  ReplayStatus replay;
  replay.id = ReplayIdOf({.source = {},
                          .from_ms = order.from_ms,
                          .to_ms = order.to_ms,
                          .job = order.job,
                          .config = ReplayConfigText(*config)});
  replay.folder = folder_ + "/" + replay.id;
  replay.order = std::move(order);
  replay.by = by;
  replay.asked_ms = now_ms;
  const MutexLock lock(mutex_);
  if (const Entry* there = FindEntry(replay.id); there != nullptr) {
    if (IsLive(there->status.state) || there->status.state == ReplayState::kFinished)
      return there->status;
    std::erase_if(entries_, [&](const Entry& one) { return one.status.id == replay.id; });
  }
  const auto waiting = std::ranges::count(entries_, ReplayState::kQueued,
                                          [](const Entry& one) { return one.status.state; });
  if (waiting >= static_cast<ptrdiff_t>(kWaitingMax))
    return absl::ResourceExhaustedError(
        fmt::format("{} replays wait already: ask again when one has ended", kWaitingMax));
  entries_.push_front({.status = replay});
  DropOldest();
  changed_.notify_all();
  return replay;
}

void NodeReplays::DropOldest() {
  for (auto entry = entries_.rbegin(); entries_.size() > kKeptMax && entry != entries_.rend();) {
    if (IsLive(entry->status.state)) {
      ++entry;
      continue;
    }
    std::error_code error;
    fs::remove_all(entry->status.folder, error);
    if (error) spdlog::warn("replays: cannot delete folder={}", entry->status.folder);
    entry = std::make_reverse_iterator(entries_.erase(std::next(entry).base()));
  }
}

std::vector<ReplayStatus> NodeReplays::List() const {
  const MutexLock lock(mutex_);
  std::vector<ReplayStatus> replays;
  for (const Entry& entry : entries_) replays.push_back(entry.status);
  return replays;
}

std::optional<ReplayStatus> NodeReplays::Find(const std::string& id) const {
  for (ReplayStatus& replay : List()) {
    if (replay.id == id) return std::move(replay);
  }
  return std::nullopt;
}

absl::Status NodeReplays::Cancel(const std::string& id) {
  const MutexLock lock(mutex_);
  Entry* const entry = FindEntry(id);
  if (entry == nullptr) return absl::NotFoundError("there is no such replay");
  if (!IsLive(entry->status.state))
    return absl::FailedPreconditionError(
        fmt::format("the replay is {} already", ToString(entry->status.state)));
  entry->cancelled = true;
  if (entry->status.state == ReplayState::kRunning) return absl::OkStatus();  // Progress sees it
  entry->status.state = ReplayState::kCancelled;
  entry->status.ended_ms = NowMs();
  return absl::OkStatus();
}

void NodeReplays::Work(const std::stop_token& stop) {
  LowerPriority();
  while (!stop.stop_requested()) {
    std::optional<ReplayStatus> next;
    {
      MutexLock lock(mutex_);
      changed_.wait(lock.native(), stop,
                    [&]() EROICA_REQUIRES(mutex_) { return (next = TakeNext()).has_value(); });
    }
    if (next) CarryOut(*std::move(next), stop);
  }
}

// The one that has waited longest.
std::optional<ReplayStatus> NodeReplays::TakeNext() {
  const auto entry = std::find_if(entries_.rbegin(), entries_.rend(), [](const Entry& one) {
    return one.status.state == ReplayState::kQueued;
  });
  if (entry == entries_.rend()) return std::nullopt;
  entry->status.state = ReplayState::kRunning;
  entry->status.started_ms = NowMs();
  return entry->status;
}

void NodeReplays::CarryOut(ReplayStatus replay, const std::stop_token& stop) {
  spdlog::info("replays: begins id={} folder={}", replay.id, replay.folder);
  const absl::Status status = AtBoundary(
      [&] { return Run(&replay, stop); },
      [](const Thrown& thrown) {
        return absl::InternalError(fmt::format("an exception ended the replay: {}", thrown.text()));
      });
  Finish(std::move(replay), status);
}

absl::Status NodeReplays::Run(ReplayStatus* replay, const std::stop_token& stop) {
  before_run_(*replay);
  absl::StatusOr<NodeConfig> config = ConfigOf(replay->order);
  if (!config.ok()) return config.status();
  const absl::StatusOr<ReplayJob> prepared = PrepareReplay(*std::move(config),
                                                           {.source = {},
                                                            .from_ms = replay->order.from_ms,
                                                            .to_ms = replay->order.to_ms,
                                                            .job = replay->order.job,
                                                            .config = {}},
                                                           replay->id);
  if (!prepared.ok()) return prepared.status();
  const absl::StatusOr<ReplayFolder> folder = OpenReplayFolder(*prepared, replay->folder);
  if (!folder.ok()) return folder.status();
  if (absl::Status status = WriteReplayOrder(*replay); !status.ok()) return status;
  absl::StatusOr<ReplayOutcome> outcome =
      RunReplay(*folder, prepared->source, prepared->config, [&](int64_t done, int64_t total) {
        replay->done = done;
        replay->total = total;
        return Progress(replay->id, done, total, stop);
      });
  if (!outcome.ok()) return outcome.status();
  const absl::StatusOr<LostEntries> lost =
      FindLostEntries(*prepared->source.log, prepared->config, folder->record().slice);
  if (!lost.ok()) return lost.status();
  const absl::StatusOr<ReplayVerdict> verdict = JudgeReplay(*folder, *outcome, *lost);
  if (!verdict.ok()) return verdict.status();
  replay->verdict = verdict->text();
  replay->nothing_because = verdict->none.text;
  replay->left_open = LeftOpen(*outcome, *lost, verdict->none);
  replay->records_missing = outcome->records_missing;
  replay->findings_total = outcome->findings.size();
  replay->findings = ShownOf(std::move(outcome->findings));
  return absl::OkStatus();
}

// False: the replay is to stop.
bool NodeReplays::Progress(const std::string& id, int64_t done, int64_t total,
                           const std::stop_token& stop) {
  const MutexLock lock(mutex_);
  Entry* const entry = FindEntry(id);
  if (entry == nullptr || entry->cancelled || stop.stop_requested()) return false;
  entry->status.done = done;
  entry->status.total = total;
  return true;
}

void NodeReplays::Finish(ReplayStatus replay, const absl::Status& status) {
  replay.ended_ms = NowMs();
  {
    const MutexLock lock(mutex_);
    Entry* const entry = FindEntry(replay.id);
    const bool cancelled = entry != nullptr && entry->cancelled;
    if (status.ok()) {
      replay.state = ReplayState::kFinished;
      replay.done = replay.total;
    } else if (absl::IsCancelled(status)) {
      replay.state = cancelled ? ReplayState::kCancelled : ReplayState::kInterrupted;
    } else {
      replay.state = ReplayState::kFailed;
      replay.error = std::string(status.message());
    }
    if (entry != nullptr) entry->status = replay;
  }
  spdlog::info("replays: {} id={} findings={} {}", ToString(replay.state), replay.id,
               replay.findings_total, replay.error);
  if (const absl::Status kept = WriteReplayOrder(replay); !kept.ok())
    spdlog::warn("replays: its end is not kept: {}", std::string(kept.message()));
}

}  // namespace eroica
