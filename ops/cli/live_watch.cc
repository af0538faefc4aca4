#include "ops/cli/live_watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "ops/cli/capture_gaps.h"
#include "ops/cli/finding_text.h"
#include "ops/cli/job_coverage.h"
#include "ops/cli/local_page.h"
#include "ops/cli/lost_entries.h"
#include "ops/cli/open_log.h"
#include "ops/cli/stages.h"
#include "ops/cli/state_folder.h"
#include "ops/cli/terminal.h"
#include "ops/cli/wrapped_text.h"
#include "ops/config/memory_shares.h"
#include "ops/findings/finding_reader.h"
#include "schemas/finding_json.h"
#include "schemas/printable_text.h"
#include "state_store/rocksdb_store.h"
#include "stream_ops/kafka/kafka_log.h"
#include "stream_ops/runtime/bounded_run.h"
#include "stream_ops/runtime/stage_threads.h"

namespace eroica {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kPoll{250};

// Readable at its end only: nobody writes to it.
bool HasEnded(int fd, milliseconds timeout) {
  pollfd watched{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&watched, 1, static_cast<int>(timeout.count())) > 0;
}

std::string Since(Clock::time_point start) {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start).count();
  return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
}

// Findings as they come: in full when they open, a line when they change, nothing of other jobs.
class Screen {
 public:
  Screen(const LiveWatchOptions& options, Clock::time_point start)
      : options_(options), start_(start) {}

  void Show(const Finding& finding) {
    if (finding.job.value != options_.job) return;
    const auto [entry, is_new] = latest_.insert_or_assign(finding.id, finding.state);
    if (options_.json) {
      std::cerr << ToJson(finding) << std::endl;
    } else if (is_new) {
      std::cerr << fmt::format(
                       "\n== eroica, {} into the job ==\n\n{}", Since(start_),
                       FindingText(finding, {.width = ErrorWidth(), .color = ColorsError()}))
                << std::endl;
    } else if (finding.state == FindingState::kResolved) {
      std::cerr << fmt::format("== eroica, {}: resolved: {}", Since(start_), FindingLine(finding))
                << std::flush;
    }
    titles_[finding.id] = Printable(finding.title);
  }

  // gaps: of what was recorded of the job; none where nobody knows.
  void Summarize(const CaptureGaps& gaps) const {
    if (options_.json) return;
    if (latest_.empty()) {
      std::cerr << fmt::format("\n== eroica, {}: {}\n", Since(start_),
                               gaps.undecided
                                   ? "cannot tell: nothing stands out, and that does not suffice."
                                   : "nothing found: no rank or function stands out from its "
                                     "peers.");
    }
    for (const std::string& sentence : gaps.sentences)
      std::cerr << Wrapped("   - " + sentence, ErrorWidth(), 5) << "\n";
    if (latest_.empty()) return;
    std::cerr << fmt::format("\n== eroica, {}: {} finding{}:\n", Since(start_), latest_.size(),
                             latest_.size() == 1 ? "" : "s");
    for (const auto& [id, state] : latest_) {
      std::cerr << fmt::format("   {}{}\n", state == FindingState::kResolved ? "(resolved) " : "",
                               titles_.at(id));
    }
  }

 private:
  const LiveWatchOptions& options_;
  const Clock::time_point start_;
  std::map<std::string, FindingState> latest_;
  std::map<std::string, std::string> titles_;
};

absl::Status ShowNew(FindingReader& reader, milliseconds timeout, Screen& screen) {
  std::vector<Finding> findings;
  const absl::Status status = reader.Poll(timeout, &findings);
  for (const Finding& finding : findings) screen.Show(finding);
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ? absl::OkStatus()
                                                                         : status;
}

absl::StatusOr<std::unique_ptr<RocksDbStore>> OpenStore(const NodeConfig& config) {
  return RocksDbStore::Open({.folder = StateFolder(config),
                             .memory_bytes = static_cast<size_t>(SharesOf(config).state),
                             .durability = Durability::kProcessDeath});
}

// Everything that the job has sent, every window closed.
absl::Status Drain(Log& log, StateStore& store, const NodeConfig& config,
                   std::shared_ptr<JobBoard> board) {
  const Topology topology = EroicaTopology(config, RunLength::kBounded, nullptr, std::move(board));
  BoundedRun run(log, store, topology,
                 {.topic_prefix = config.node.topic_prefix,
                  .replay_id = "",
                  .poll_records_max = static_cast<size_t>(config.runtime.poll_records_max)});
  for (bool more = true; more;) {
    const absl::StatusOr<bool> step = run.Step();
    if (!step.ok()) return step.status();
    more = *step;
  }
  return absl::OkStatus();
}

// The stages and, where it is wanted, their page, until the job has ended.
absl::Status RunStages(const LiveWatchOptions& options, Log& log, StateStore& store,
                       LocalPage* page, FindingReader& reader, Screen& screen) {
  StageThreads threads(log, store,
                       EroicaTopology(options.config, RunLength::kEndless, nullptr,
                                      page == nullptr ? nullptr : page->board()),
                       options.config.node.roles, ThreadOptions(options.config));
  if (absl::Status status = threads.Start(); !status.ok()) return status;
  while (!HasEnded(options.job_ended_fd, milliseconds(0))) {
    if (absl::Status status = ShowNew(reader, kPoll, screen); !status.ok()) return status;
  }
  threads.RequestStop();
  if (absl::Status status = threads.Wait(); !status.ok()) return status;
  return threads.Stop();
}

// Null where it cannot be served: findings are shown all the same.
std::unique_ptr<LocalPage> PageOf(const NodeConfig& config, Log& log) {
  absl::StatusOr<std::unique_ptr<LocalPage>> page = LocalPage::Open(config, log);
  absl::Status status = page.status();
  if (status.ok()) status = (*page)->Serve([] { return std::map<std::string, StageProbe>(); });
  if (status.ok()) return *std::move(page);
  std::cerr << fmt::format("eroica: no page is served: {}\n",
                           Printable(std::string(status.message())));
  return nullptr;
}

absl::Status RunNode(const LiveWatchOptions& options, Log& log, FindingReader& reader,
                     Screen& screen) {
  const absl::StatusOr<std::unique_ptr<RocksDbStore>> store = OpenStore(options.config);
  if (!store.ok()) return store.status();
  const std::unique_ptr<LocalPage> page = options.page ? PageOf(options.config, log) : nullptr;
  if (absl::Status status = RunStages(options, log, **store, page.get(), reader, screen);
      !status.ok())
    return status;
  if (absl::Status status =
          Drain(log, **store, options.config, page == nullptr ? nullptr : page->board());
      !status.ok())
    return status;
  return ShowNew(reader, kPoll, screen);
}

absl::StatusOr<std::unique_ptr<Log>> OpenWatched(const LiveWatchOptions& options) {
  if (options.config.kafka.bootstrap.empty()) return OpenLog(options.config, LogAccess::kWrite);
  return KafkaLog::Open({.bootstrap_servers = options.config.kafka.bootstrap,
                         .properties = options.kafka_properties});
}

}  // namespace

absl::Status WatchLive(const LiveWatchOptions& options) {
  const absl::StatusOr<std::unique_ptr<Log>> log = OpenWatched(options);
  if (!log.ok()) return log.status();
  const absl::StatusOr<std::unique_ptr<FindingReader>> reader =
      FindingReader::Open(**log, options.config.node.topic_prefix);
  if (!reader.ok()) return reader.status();
  Screen screen(options, Clock::now());
  if (options.run_node) {
    if (absl::Status status = RunNode(options, **log, **reader, screen); !status.ok())
      return status;
  } else {
    while (!HasEnded(options.job_ended_fd, milliseconds(0))) {
      if (absl::Status status = ShowNew(**reader, kPoll, screen); !status.ok()) return status;
    }
  }
  CaptureGaps gaps;
  if (options.run_node) {  // a recording holds this job alone, Kafka those of everybody
    const absl::StatusOr<JobCoverage> coverage =
        MeasureJobCoverage(**log, options.config.node.topic_prefix);
    if (!coverage.ok()) return coverage.status();
    gaps = FindLiveGaps(*coverage);
    const absl::StatusOr<LostEntries> lost = FindLostEntries(**log, options.config);
    if (!lost.ok()) return lost.status();
    for (const std::string& sentence : lost->sentences) gaps.sentences.push_back(sentence + ".");
    gaps.undecided |= lost->any();
  }
  screen.Summarize(gaps);
  return absl::OkStatus();
}

}  // namespace eroica
