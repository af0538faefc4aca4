// eroica top: a job, live, as a running node sees it.
#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "ops/cli/commands.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/flag_values.h"
#include "ops/cli/full_screen.h"
#include "ops/cli/job_view.h"
#include "ops/cli/job_view_text.h"
#include "ops/cli/node_flags.h"
#include "ops/cli/stop_signal.h"
#include "ops/cli/terminal.h"
#include "ops/cli/time_text.h"
#include "ops/rest/listen_address.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

struct TopFlags {
  NodeFlags node{fmt::format("http://127.0.0.1:{}", kDefaultPort)};
  std::string job;
  int64_t seconds = 2;
  bool once = false;
  bool json = false;
};

// What another try may mend: a node that is gone, or begins, or is asked too often.
bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsNotFound(status) ||
         absl::IsResourceExhausted(status);
}

int ExitCodeOf(const JobView& view) {
  if (view.findings_open > 0) return kExitFindings;
  return view.job.newest_window.empty() ? kExitCannotTell : kExitNothingFound;
}

// A terminal may have any size; what is printed once has that of a page.
JobViewTextOptions TextOptions(const ScreenSize& size) {
  return {.size = size, .color = ColorsOutput(), .utf8 = WritesUtf8()};
}

int Refuse(const absl::Status& status) {
  const int error = ExitWithError(status);
  return absl::IsNotFound(status) ? kExitCannotTell : error;
}

int ShowOnce(const JobView& view, const std::string& url, bool json) {
  constexpr size_t kRows = 60;
  if (json) {
    std::cout << ToJson(view) << "\n";
  } else {
    for (const std::string& line :
         JobViewText(view, url, TextOptions({.columns = OutputWidth(), .rows = kRows})))
      std::cout << line << "\n";
  }
  return ExitCodeOf(view);
}

// What the node was like when it last answered, and whether it still does.
class LiveView {
 public:
  LiveView(JobViewReader& reader, JobView first) : reader_(reader), view_(std::move(first)) {}

  // What no other try mends.
  absl::Status Renew() {
    absl::StatusOr<JobView> view = reader_.Read();
    if (view.ok()) {
      view_ = *std::move(view);
      renewed_ms_ = NowMs();
      problem_.clear();
      return absl::OkStatus();
    }
    if (!MayPass(view.status())) return view.status();
    problem_ = std::string(view.status().message());
    return absl::OkStatus();
  }

  std::string Note() const {
    const std::string renewed = LocalTimeText(renewed_ms_ * kNsPerMs);
    if (problem_.empty()) return fmt::format("{}  {}  q ends it", reader_.url(), renewed);
    return fmt::format("reconnecting: {}; shown as of {}", problem_, renewed);
  }
  const JobView& view() const { return view_; }

 private:
  JobViewReader& reader_;
  JobView view_;
  int64_t renewed_ms_ = NowMs();
  std::string problem_;  // empty: the node has answered
};

int ShowLive(JobViewReader& reader, JobView first, std::chrono::seconds every) {
  LiveView live(reader, std::move(first));
  absl::Status status;
  {
    FullScreen screen(&std::cout);
    while (status.ok() && std::cout.good()) {
      const ScreenSize size = OutputScreen().value_or(ScreenSize());
      screen.Draw(JobViewText(live.view(), live.Note(), TextOptions(size)));
      if (!screen.Wait(every, size)) break;
      status = live.Renew();
    }
  }
  if (!status.ok() && !absl::IsCancelled(status)) return ExitWithError(status);
  return ExitCodeOf(live.view());
}

int Run(const TopFlags& flags) {
  CatchStopSignals();
  absl::StatusOr<NodeClient> client = flags.node.Open();
  if (!client.ok()) return ExitWithError(client.status());
  JobViewReader reader(*std::move(client), flags.job);
  absl::StatusOr<JobView> view = reader.Read();
  if (!view.ok()) return Refuse(view.status());
  const bool live = !flags.once && !flags.json && OutputScreen().has_value();
  return live ? ShowLive(reader, *std::move(view), std::chrono::seconds(flags.seconds))
              : ShowOnce(*view, reader.url(), flags.json);
}

}  // namespace

void AddTopCommand(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<TopFlags>();
  CLI::App* command =
      app.add_subcommand("top", "Watch a job: step time, open findings, ranks that deviate, waits");
  flags->node.AddTo(*command);
  command
      ->add_option("--job", flags->job,
                   "The job (default: the running one with the gravest open findings)")
      ->type_name("JOB");
  auto* once = command->add_flag("--once", flags->once,
                                 "Print it once; so where standard output is no terminal");
  command->add_option("--every", flags->seconds, "Seconds from one look to the next")
      ->type_name("SECONDS")
      ->check(WholeNumber(1, 3'600))
      ->capture_default_str()
      ->excludes(once);
  command->add_flag("--json", flags->json, "Once, as one JSON object");
  command->footer(
      "Examples:\n"
      "  eroica top\n"
      "  eroica top --node https://node:8470 --token-file token --ca-certificate ca.pem --job "
      "night\n"
      "  eroica top --once --json | jq .deviating\n\n"
      "q or Ctrl-C ends it, and gives the terminal back as it was. A node that goes away is "
      "waited for. Times are those of a step, but for waits, which are sums of the newest window. "
      "Exit codes: 0 no open finding at the last look, 1 open findings, 2 error, 3 cannot tell (no "
      "such job, or no window of it is diagnosed).");
  command->callback([flags, exit_code] { *exit_code = Run(*flags); });
}

}  // namespace eroica
