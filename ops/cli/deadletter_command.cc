// eroica deadletter list|replay: the records that no stage could use.
#include <fmt/format.h>

#include <chrono>
#include <deque>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "ops/cli/commands.h"
#include "ops/cli/config_flags.h"
#include "ops/cli/dead_letter_filter.h"
#include "ops/cli/dead_letter_resend.h"
#include "ops/cli/dead_letter_text.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/flag_values.h"
#include "ops/cli/open_log.h"
#include "ops/cli/progress_bar.h"
#include "ops/cli/stop_signal.h"
#include "ops/cli/time_text.h"
#include "ops/cli/topic_scan.h"
#include "stream_ops/topics.h"

namespace eroica {
namespace {

struct DeadLetterFlags {
  ConfigFlags config;
  std::string job;
  std::vector<std::string> reasons;
  std::string since;
  std::string until;
  uint64_t limit = 0;
  bool json = false;
  bool summary = false;
  bool payload = false;
  bool again = false;
  bool dry_run = false;
};

absl::StatusOr<DeadLetterFilter> FilterOf(const DeadLetterFlags& flags) {
  const int64_t now_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count();
  DeadLetterFilter filter{.job = flags.job, .reasons = flags.reasons};
  for (const auto& [text, time_ms] :
       {std::pair(&flags.since, &filter.from_ms), std::pair(&flags.until, &filter.to_ms)}) {
    if (text->empty()) continue;
    const absl::StatusOr<int64_t> time = ParseTimeMs(*text, now_ms);
    if (!time.ok()) return time.status();
    *time_ms = *time;
  }
  return filter;
}

// Every record that is on the dead-letter topic now. visit: whether to go on.
absl::Status ForEachRecord(Log& log, const NodeConfig& config, std::string_view doing,
                           const std::function<absl::StatusOr<bool>(ConsumerRecord)>& visit) {
  const absl::StatusOr<std::unique_ptr<TopicScan>> scan =
      TopicScan::Open(log, TopicName(config.node.topic_prefix, Topic::kDeadLetter));
  if (!scan.ok()) return scan.status();
  ProgressBar bar(ProgressStream(), std::string(doing), std::chrono::steady_clock::now());
  for (std::vector<ConsumerRecord> records; !StopRequested();) {
    const absl::StatusOr<bool> more = (*scan)->Next(&records);
    if (!more.ok() || !*more) return more.status();
    for (ConsumerRecord& record : records) {
      const absl::StatusOr<bool> go_on = visit(std::move(record));
      if (!go_on.ok() || !*go_on) return go_on.status();
    }
    bar.Update((*scan)->passed(), (*scan)->total(), std::chrono::steady_clock::now());
  }
  return absl::OkStatus();
}

// Every dead letter that the filter takes, with what is known of its resend. visit: whether to go
// on.
absl::Status ForEachDeadLetter(Log& log, const NodeConfig& config, const DeadLetterFilter& filter,
                               const std::function<absl::StatusOr<bool>(DeadLetter)>& visit) {
  std::unordered_set<std::string> resent;
  const absl::Status status =
      ForEachRecord(log, config, "reading dead letters",
                    [&](const ConsumerRecord& record) -> absl::StatusOr<bool> {
                      if (std::optional<std::string> position = ResentPosition(record))
                        resent.insert(*std::move(position));
                      return true;
                    });
  if (!status.ok()) return status;
  return ForEachRecord(log, config, "going through dead letters",
                       [&](ConsumerRecord record) -> absl::StatusOr<bool> {
                         std::optional<DeadLetter> letter = ReadDeadLetter(std::move(record));
                         if (!letter || !filter.Takes(*letter)) return true;
                         letter->resent = resent.contains(SourcePosition(*letter));
                         return visit(*std::move(letter));
                       });
}

absl::Status List(Log& log, const NodeConfig& config, const DeadLetterFilter& filter,
                  const DeadLetterFlags& flags) {
  ReasonCounts reasons;
  std::deque<DeadLetter> newest;
  const absl::Status status =
      ForEachDeadLetter(log, config, filter, [&](DeadLetter letter) -> absl::StatusOr<bool> {
        ++reasons[letter.reason];
        if (flags.summary) return true;
        if (!flags.payload) letter.record.value.clear();
        newest.push_back(std::move(letter));
        if (flags.limit > 0 && newest.size() > flags.limit) newest.pop_front();
        return true;
      });
  if (!status.ok()) return status;
  if (flags.json) {
    for (const DeadLetter& letter : newest)
      std::cout << DeadLetterJson(letter, flags.payload) << "\n";
    if (flags.summary) std::cout << ReasonsJson(reasons) << "\n";
    return absl::OkStatus();
  }
  if (!newest.empty()) std::cout << DeadLetterTable({newest.begin(), newest.end()}) << "\n";
  std::cout << ReasonsText(reasons);
  uint64_t total = 0;
  for (const auto& [reason, count] : reasons) total += count;
  if (!flags.summary && newest.size() < total)
    std::cout << fmt::format("; the newest {} are shown (--limit)", newest.size());
  std::cout << "\n";
  return absl::OkStatus();
}

absl::Status Replay(Log& log, const NodeConfig& config, const DeadLetterFilter& filter,
                    const DeadLetterFlags& flags) {
  std::unique_ptr<LogProducer> producer;
  if (!flags.dry_run) {
    absl::StatusOr<std::unique_ptr<LogProducer>> made = log.NewProducer();
    if (!made.ok()) return made.status();
    producer = *std::move(made);
  }
  CatchStopSignals();
  DeadLetterResend resend(
      producer.get(),
      {.topic_prefix = config.node.topic_prefix, .again = flags.again, .dry_run = flags.dry_run});
  absl::Status status =
      ForEachDeadLetter(log, config, filter, [&](const DeadLetter& letter) -> absl::StatusOr<bool> {
        if (absl::Status sent = resend.Send(letter); !sent.ok()) return sent;
        return flags.limit == 0 || resend.counts().total_sent() < flags.limit;
      });
  status.Update(resend.Finish());
  const ResendCounts& counts = resend.counts();
  std::cout << (flags.json ? ResendJson(counts, flags.dry_run) + "\n"
                           : ResendText(counts, flags.dry_run));
  return status;
}

using Action = absl::Status (*)(Log&, const NodeConfig&, const DeadLetterFilter&,
                                const DeadLetterFlags&);

int Run(const DeadLetterFlags& flags, LogAccess access, Action act) {
  const absl::StatusOr<NodeConfig> config = flags.config.Load();
  if (!config.ok()) return ExitWithError(config.status());
  const absl::StatusOr<DeadLetterFilter> filter = FilterOf(flags);
  if (!filter.ok()) return ExitWithError(filter.status());
  const absl::StatusOr<std::unique_ptr<Log>> log = OpenLog(*config, access);
  if (!log.ok()) return ExitWithError(log.status());
  const absl::Status status = act(**log, *config, *filter, flags);
  return status.ok() ? kExitNothingFound : ExitWithError(status);
}

std::vector<std::string> Reasons() {
  std::vector<std::string> names;
  for (int value = 1; value < 256; ++value) {
    if (IsDropReason(static_cast<uint8_t>(value)))
      names.emplace_back(ToString(static_cast<DropReason>(value)));
  }
  return names;
}

void AddFilter(CLI::App& command, DeadLetterFlags& flags) {
  flags.config.AddTo(command);
  command.add_option("--job", flags.job, "Only of this job")->type_name("JOB");
  command.add_option("--reason", flags.reasons, "Only for these reasons (docs/RELIABILITY.md)")
      ->type_name("REASON,...")
      ->delimiter(',')
      ->check(OneOf(Reasons()));
  command
      .add_option("--since", flags.since,
                  "Only those that were refused since then: a time, or how long ago")
      ->type_name("TIME");
  command.add_option("--until", flags.until, "Only those that were refused before")
      ->type_name("TIME");
}

void AddList(CLI::App& parent, int* exit_code) {
  auto flags = std::make_shared<DeadLetterFlags>();
  flags->limit = 100;
  CLI::App* list = parent.add_subcommand("list", "Say which records were refused, and why");
  AddFilter(*list, *flags);
  list->add_option("--limit", flags->limit, "The newest so many, 0: all")->capture_default_str();
  list->add_flag("--summary", flags->summary, "Only how many there are of each reason");
  CLI::Option* json = list->add_flag("--json", flags->json, "One JSON object a line");
  list->add_flag("--payload", flags->payload, "And what the records hold, as base64")->needs(json);
  list->footer(
      "Examples:\n"
      "  eroica deadletter list --bootstrap localhost:9092 --since 1h\n"
      "  eroica deadletter list --recording recording/ --json --payload | jq .reason\n\n"
      "Exit codes: 0 listed, 2 error.");
  list->callback([flags, exit_code] { *exit_code = Run(*flags, LogAccess::kRead, &List); });
}

void AddReplay(CLI::App& parent, int* exit_code) {
  auto flags = std::make_shared<DeadLetterFlags>();
  CLI::App* replay =
      parent.add_subcommand("replay", "Send records back to the topics that they came from");
  AddFilter(*replay, *flags);
  replay->add_option("--limit", flags->limit, "The oldest so many, 0: all")->capture_default_str();
  replay->add_flag("--again", flags->again,
                   "Also those that were sent back before, and those that came back");
  replay->add_flag("--dry-run", flags->dry_run, "Say what would be sent, and send nothing");
  replay->add_flag("--json", flags->json, "One JSON object");
  replay->footer(
      "Examples:\n"
      "  eroica deadletter replay --bootstrap localhost:9092 --reason ahead_of_clock --dry-run\n"
      "  eroica deadletter replay --bootstrap localhost:9092 --job night\n\n"
      "Exit codes: 0 sent back, 2 error.");
  replay->callback([flags, exit_code] {
    *exit_code = Run(*flags, flags->dry_run ? LogAccess::kRead : LogAccess::kWrite, &Replay);
  });
}

}  // namespace

void AddDeadLetterCommand(CLI::App& app, int* exit_code) {
  CLI::App* command =
      app.add_subcommand("deadletter", "The records that no stage could use: list, send back");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n"
      "  eroica deadletter list --bootstrap localhost:9092 --since 1h\n"
      "  eroica deadletter list --recording recording/ --json --payload | jq .reason\n"
      "  eroica deadletter replay --bootstrap localhost:9092 --reason ahead_of_clock --dry-run\n"
      "  eroica deadletter replay --bootstrap localhost:9092 --job night\n\n"
      "A record goes back with its key, its headers and its bytes, and a header that names what it "
      "repeats\n(resend-of). Exit codes: 0 done, 2 error.");
  AddList(*command, exit_code);
  AddReplay(*command, exit_code);
}

}  // namespace eroica
