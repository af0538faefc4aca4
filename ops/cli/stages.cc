#include "ops/cli/stages.h"

#include <chrono>
#include <memory>
#include <utility>

#include "ops/config/memory_shares.h"
#include "schemas/printable_text.h"
#include "schemas/time_unit.h"
#include "stream_ops/align/align_processor.h"
#include "stream_ops/diagnose/diagnose_processor.h"
#include "stream_ops/summarize/summarize_processor.h"

namespace eroica {
namespace {

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::shared_ptr<MemoryPool> PoolOf(int64_t bytes) {
  return std::make_shared<MemoryPool>(static_cast<uint64_t>(bytes));
}

}  // namespace

Topology EroicaTopology(const NodeConfig& config, RunLength length,
                        std::function<int64_t()> wall_clock_ns, std::shared_ptr<JobBoard> board,
                        std::function<void(const Finding&)> on_published) {
  if (!wall_clock_ns) wall_clock_ns = NowNs;
  const JobRetention jobs{.silent_minutes = config.state.job_retention_minutes,
                          .ended_kept = static_cast<size_t>(config.state.ended_jobs_kept)};
  SummarizeOptions summarize{.window_ns = config.summarize.window_ms * kNsPerMs,
                             .out_of_orderness_ns = config.summarize.out_of_orderness_ms * kNsPerMs,
                             .fold_below = config.summarize.fold_below,
                             .jobs = jobs,
                             .wall_clock_ns = wall_clock_ns};
  constexpr int64_t kNsPerDay = int64_t{24} * 3'600 * 1'000'000'000;
  DiagnoseOptions diagnose{
      .wall_clock_ns = wall_clock_ns,
      .replay_id = config.node.replay_id,
      .jobs = jobs,
      .event_source = "/" + PercentEncoded(config.node.topic_prefix),
      .json_topic = config.findings.json_topic,
      .findings_retention_ns = config.state.findings_retention_days * kNsPerDay,
      .board = std::move(board),
      .fold_below = config.summarize.fold_below,
      .on_published = std::move(on_published)};
  AlignOptions align{.jobs = jobs};
  // A bounded run has all of its input: nothing in it comes late.
  if (length == RunLength::kEndless) {
    align.open_windows_max = static_cast<size_t>(config.align.open_windows_max);
    const MemoryShares shares = SharesOf(config);
    summarize.memory = PoolOf(shares.summarize);
    align.memory = PoolOf(shares.align);
    diagnose.memory = PoolOf(shares.diagnose);
  }
  return ThreeStages(
      [summarize] { return std::make_unique<SummarizeProcessor>(summarize); },
      [align] { return std::make_unique<AlignProcessor>(align); },
      [diagnose] { return std::make_unique<DiagnoseProcessor>(diagnose); },
      {.summarize = summarize.memory, .align = align.memory, .diagnose = diagnose.memory});
}

StageThreadsOptions ThreadOptions(const NodeConfig& config) {
  using std::chrono::milliseconds;
  StageThreadsOptions options;
  options.thread.task = {.topic_prefix = config.node.topic_prefix,
                         .replay_id = config.node.replay_id};
  options.thread.changelog = !config.kafka.bootstrap.empty();
  options.exactly_once = config.runtime.processing_guarantee == "exactly_once";
  options.thread.poll_records_max = static_cast<size_t>(config.runtime.poll_records_max);
  options.thread.poll_timeout = milliseconds(config.runtime.poll_timeout_ms);
  options.thread.commit_interval = milliseconds(config.runtime.commit_interval_ms);
  options.thread.flush_timeout = milliseconds(config.runtime.flush_timeout_ms);
  options.thread.idle_timeout = milliseconds(config.runtime.idle_timeout_ms);
  options.group_prefix = config.kafka.group_prefix;
  options.group_instance_prefix = config.kafka.instance_id;
  options.threads_per_stage = static_cast<int>(config.runtime.threads_per_stage);
  return options;
}

NodeHealthOptions HealthOptions(const NodeConfig& config) {
  return {.dead_letter_share_max = config.health.dead_letter_share_max,
          .dead_letters_min = static_cast<uint64_t>(config.health.dead_letters_min),
          .period = std::chrono::seconds(config.health.period_seconds)};
}

}  // namespace eroica
