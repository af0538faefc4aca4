#include "ops/cli/live_watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "diagnosis/report/subkinds.h"
#include "ops/cli/finding_filter.h"
#include "ops/cli/finding_text.h"
#include "ops/cli/local_page.h"
#include "ops/cli/open_log.h"
#include "ops/cli/stages.h"
#include "ops/cli/state_folder.h"
#include "ops/cli/state_reading.h"
#include "ops/cli/terminal.h"
#include "ops/cli/wrapped_text.h"
#include "ops/config/memory_shares.h"
#include "ops/findings/finding_reader.h"
#include "ops/launch/end_watch.h"
#include "ops/launch/first_end.h"
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

bool HasEnded(int fd, milliseconds timeout) {
  pollfd watched{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&watched, 1, static_cast<int>(timeout.count())) > 0;
}

// Where the launcher's process is gone without a word, nobody knows how the job ended.
std::optional<JobEnd> ReadJobEnd(int fd) {
  JobEnd end;
  return ::read(fd, &end, sizeof(end)) == sizeof(end) ? std::optional(end) : std::nullopt;
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
    const bool is_new = latest_.insert_or_assign(finding.id, finding).second;
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
  }

  size_t open() const {
    return static_cast<size_t>(std::ranges::count_if(
        latest_, [](const auto& shown) { return shown.second.state != FindingState::kResolved; }));
  }
  bool has_ended_process() const {
    return std::ranges::any_of(
        latest_, [](const auto& shown) { return shown.second.subkind == kEndedProcess; });
  }
  size_t resolved() const { return latest_.size() - open(); }
  size_t findings() const { return latest_.size(); }

  // none: as `eroica findings` says it of the same log; beside findings what was not captured.
  void Summarize(const NoFindings& none) const {
    if (options_.json) return SummarizeAsJson(none);
    if (!latest_.empty()) {
      std::vector<Finding> findings;
      for (const auto& [id, finding] : latest_) findings.push_back(finding);
      SortByWeight(&findings);
      std::cerr << fmt::format("\n== eroica, {}: {} finding{}:\n", Since(start_), findings.size(),
                               findings.size() == 1 ? "" : "s");
      for (const Finding& finding : findings) {
        std::cerr << fmt::format("   {}{}\n",
                                 finding.state == FindingState::kResolved ? "(resolved) " : "",
                                 Printable(finding.title));
      }
    }
    if (open() == 0) {
      std::cerr << "\n"
                << Wrapped(fmt::format("== eroica, {}: {}", Since(start_), none.text), ErrorWidth(),
                           3)
                << "\n";
    }
    for (const std::string& reason : none.reasons)
      std::cerr << Wrapped("   - " + reason, ErrorWidth(), 5) << "\n";
  }

 private:
  // One object behind the findings: without it silence would be taken for "nothing found".
  void SummarizeAsJson(const NoFindings& none) const {
    const bool found = open() > 0;
    const nlohmann::json word = {{"last_word", found ? "findings" : none.verdict()},
                                 {"open", open()},
                                 {"resolved", resolved()},
                                 {"text", found ? "" : none.text},
                                 {"reasons", none.reasons}};
    std::cerr << word.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
  }

  const LiveWatchOptions& options_;
  const Clock::time_point start_;
  std::map<std::string, Finding> latest_;  // by id
};

absl::Status ShowNew(FindingReader& reader, milliseconds timeout, Screen& screen) {
  std::vector<Finding> findings;
  const absl::Status status = reader.Poll(timeout, &findings);
  for (const Finding& finding : findings) screen.Show(finding);
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ? absl::OkStatus()
                                                                         : status;
}

// All that the stages have said: they have ended.
absl::Status ShowRest(FindingReader& reader, Screen& screen) {
  while (true) {
    if (absl::Status status = ShowNew(reader, milliseconds(0), screen); !status.ok()) return status;
    const absl::StatusOr<bool> at_end = reader.AtEnd();
    if (!at_end.ok()) return at_end.status();
    if (*at_end) return absl::OkStatus();
  }
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

EndWatchOptions EndWatchOptionsOf(const LiveWatchOptions& options) {
  EndWatchOptions ends{.exchange_folder = options.exchange_folder,
                       .topic_prefix = options.config.node.topic_prefix,
                       .job = JobId{options.job},
                       .partition = {}};
  if (options.run_node) ends.partition = options.config.topics.events_partitions - 1;
  return ends;
}

// Whether the end of a rank was sent.
bool FinishEnds(const LiveWatchOptions& options, EndWatch& ends) {
  const std::optional<JobEnd> end = ReadJobEnd(options.job_ended_fd);
  const uint64_t sent = end ? ends.Finish(*end) : 0;
  if (!ends.status().ok())
    std::cerr << fmt::format("eroica: the end of a rank is not reported: {}\n",
                             Printable(std::string(ends.status().message())));
  return sent > 0;
}

// The stages and, where it is wanted, their page, until the job has ended.
absl::Status RunStages(const LiveWatchOptions& options, Log& log, StateStore& store,
                       LocalPage* page, FindingReader& reader, Screen& screen) {
  EndWatch ends(log, EndWatchOptionsOf(options));
  StageThreads threads(log, store,
                       EroicaTopology(options.config, RunLength::kEndless, nullptr,
                                      page == nullptr ? nullptr : page->board()),
                       options.config.node.roles, ThreadOptions(options.config));
  if (absl::Status status = threads.Start(); !status.ok()) return status;
  while (!HasEnded(options.job_ended_fd, milliseconds(0))) {
    if (absl::Status status = ShowNew(reader, kPoll, screen); !status.ok()) return status;
  }
  FinishEnds(options, ends);
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
  return ShowRest(reader, screen);
}

// What the nodes of a Kafka find.
absl::Status FollowNodes(const LiveWatchOptions& options, Log& log, FindingReader& reader,
                         Screen& screen) {
  constexpr std::chrono::seconds kAnswerToAnEnd{3};
  EndWatch ends(log, EndWatchOptionsOf(options));
  while (!HasEnded(options.job_ended_fd, milliseconds(0))) {
    if (absl::Status status = ShowNew(reader, kPoll, screen); !status.ok()) return status;
  }
  const Clock::time_point until = Clock::now() + kAnswerToAnEnd;
  const bool awaits_answer = FinishEnds(options, ends);
  while (awaits_answer && !screen.has_ended_process() && Clock::now() < until) {
    if (absl::Status status = ShowNew(reader, kPoll, screen); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Log>> OpenWatched(const LiveWatchOptions& options) {
  if (options.config.kafka.bootstrap.empty()) return OpenLog(options.config, LogAccess::kWrite);
  return KafkaLog::Open({.bootstrap_servers = options.config.kafka.bootstrap,
                         .properties = options.kafka_properties,
                         .request_timeout = std::chrono::seconds(3)});
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
    if (absl::Status status = FollowNodes(options, **log, **reader, screen); !status.ok())
      return status;
  }
  // A recording holds this job alone, Kafka those of everybody. The job has its own exit code, and
  // does not wait for a broker that is gone. The busiest rank is named where nothing was found.
  const absl::StatusOr<NoFindings> none = NoFindingsBehind(
      **log, options.config, options.run_node ? "" : options.job, screen.findings());
  if (!none.ok()) return none.status();
  screen.Summarize(*none);
  return absl::OkStatus();
}

}  // namespace eroica
