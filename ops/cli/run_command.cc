// eroica run: a training job with Eroica inside its ranks and a node beside it, findings on the
// screen.
//
// Three processes: this one only starts the others, forwards signals and ends as the job ends; the
// job; and the watcher (live_watch.h), which may fail without harm to the job. Nothing but a wrong
// command line keeps the job from its start: what fails of Eroica is said in one line
// (run_plan.h), and where no second process can be had, this one becomes the job.
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/cli/commands.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/flag_values.h"
#include "ops/cli/job_process.h"
#include "ops/cli/live_watch.h"
#include "ops/cli/run_plan.h"
#include "ops/launch/first_end.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> FromEnvironment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

void Say(const std::string& remark) { std::cerr << "eroica: " << Printable(remark) << std::endl; }

struct Watcher {
  pid_t pid = 0;
  int job_ended = -1;  // takes a JobEnd, and is closed, when the job has ended
};

absl::StatusOr<Watcher> StartWatcher(LiveWatchOptions options) {
  int ended[2];
  if (::pipe2(ended, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe");
  const pid_t pid = ::fork();
  if (pid < 0) return absl::ErrnoToStatus(errno, "cannot start a process");
  if (pid > 0) {
    ::close(ended[0]);
    return Watcher{pid, ended[1]};
  }
  ::close(ended[1]);
  options.job_ended_fd = ended[0];
  // Its threads wait for the end of a rank's turn and do not interrupt one.
  const sched_param none{};
  ::sched_setscheduler(0, SCHED_BATCH, &none);
  // Ctrl-C is for the job; the watcher ends after it. A screen that is gone leaves the recording.
  for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_IGN);
  const absl::Status status = WatchLive(options);
  if (!status.ok()) ExitWithError(status);
  ::_exit(status.ok() ? 0 : kExitError);
}

void FinishWatcher(const Watcher& watcher, const JobEnd& end) {
  // The job has ended and has no use for a signal: whoever sends one wants an end of the waiting.
  SignalsEnd(watcher.pid);
  [[maybe_unused]] const ssize_t written = ::write(watcher.job_ended, &end, sizeof(end));
  ::close(watcher.job_ended);
  int status = 0;
  while (::waitpid(watcher.pid, &status, 0) < 0 && errno == EINTR) {
  }
  SignalsEnd(0);
  if (WIFSIGNALED(status)) Say(fmt::format("the watcher was ended by signal {}", WTERMSIG(status)));
}

void SayWhereRecorded(const RunFlags& flags, const RunPlan& plan) {
  if (flags.json || !plan.recording) return;
  std::cerr << fmt::format("   recording: {0}\n   again: eroica findings --recording {0}\n",
                           Printable(plan.recording->path()));
}

int CannotRun(const absl::Status& status) {
  ExitWithError(status);
  return absl::IsNotFound(status) ? 127 : 126;  // as a shell says it
}

std::optional<Watcher> WatcherOf(const RunPlan& plan) {
  if (!plan.watch) return std::nullopt;
  const absl::StatusOr<Watcher> watcher = StartWatcher(*plan.watch);
  if (watcher.ok()) return *watcher;
  Say(fmt::format("no findings are shown while the job runs: {}",
                  std::string(watcher.status().message())));
  return std::nullopt;
}

int Run(const RunFlags& flags) {
  RunPlan plan = PlanRun(flags, FromEnvironment);
  for (const std::string& remark : plan.remarks) Say(remark);
  const std::optional<Watcher> watcher = WatcherOf(plan);
  absl::StatusOr<JobProcess> job = JobProcess::Start(flags.command, plan.variables);
  if (!job.ok()) {
    if (watcher) {
      ::kill(watcher->pid, SIGKILL);
      ::waitpid(watcher->pid, nullptr, 0);
    }
    DiscardPlan(plan);
    if (!absl::IsAborted(job.status())) return CannotRun(job.status());
    Say(fmt::format("the job runs without Eroica: {}", std::string(job.status().message())));
    return CannotRun(BecomeJob(flags.command, plan.variables));
  }
  const int status = job->Wait();
  if (watcher)
    FinishWatcher(*watcher, {.wait_status = status, .told_ns = JobProcess::told_to_end_ns()});
  SayWhereRecorded(flags, plan);
  plan.exchange.reset();
  ExitAs(status);
}

}  // namespace

void AddRunCommand(CLI::App& app, std::vector<std::string> job, int* exit_code) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command = app.add_subcommand(
      "run", "Run a training job with Eroica inside its ranks, and show findings while it runs");
  command
      ->add_option("-o,--recording", flags->recording,
                   "Folder for the recording (default: eroica-DATE-TIME here); where it holds one "
                   "already, the next of DIR-2, DIR-3, ... is taken")
      ->type_name("DIR");
  auto* kafka = command
                    ->add_option("--kafka", flags->kafka,
                                 "Send there instead, and show what the nodes there find")
                    ->type_name("HOST:PORT");
  command->get_option("--recording")->excludes(kafka);
  command
      ->add_option("--job", flags->job,
                   "Name of the job (default: EROICA_JOB, or the program and the time)")
      ->type_name("JOB");
  command
      ->add_option("--window-steps", flags->window_steps,
                   "Training steps that are compared at once (default: EROICA_WINDOW_STEPS, or 32)")
      ->check(WholeNumber(1, 1'000'000));
  command->add_option("--ranks", flags->ranks, "Ranks on this host, at most")
      ->check(WholeNumber(1, 4'096))
      ->capture_default_str();
  command
      ->add_option(
          "--level", flags->level,
          "Capture level: 0 marks and collectives, 1 patterns, 2 events (default: 2, over Kafka 1)")
      ->check(WholeNumber(0, 2));
  command->add_flag("--json", flags->json,
                    "Findings as JSON lines, on standard error; the last line is the last word");
  command
      ->add_flag("--open", flags->open,
                 "Serve the dashboard of the job on 127.0.0.1 while it runs, and open it")
      ->excludes(kafka);
  command->add_option("command", flags->command, "The job")->type_name("-- COMMAND...");
  command->positionals_at_end();
  command->footer(
      "Examples:\n"
      "  eroica run -- torchrun --nproc-per-node 8 train.py\n"
      "  eroica run --job night -o night/ -- python train.py\n"
      "  eroica run --open -- python train.py\n"
      "  eroica run --kafka broker:9092 -- mpirun -np 64 python train.py\n\n"
      "Standard output is the job's own; what Eroica says goes to standard error. Whatever fails "
      "of Eroica, the job runs. Exit codes: the job's own, or its signal; 126 and 127 the job "
      "could not be started, 2 a wrong command line.");
  command->callback([flags, exit_code, job = std::move(job)] {
    flags->command.insert(flags->command.end(), job.begin(), job.end());
    const bool given = !flags->command.empty() && !flags->command[0].empty();
    *exit_code =
        given ? Run(*flags)
              : ExitWithError(absl::InvalidArgumentError("which job? eroica run -- COMMAND..."));
  });
}

}  // namespace eroica
