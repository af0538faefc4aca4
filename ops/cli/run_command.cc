// eroica run: a training job with Eroica inside its ranks and a node beside it, findings on the
// screen.
//
// Three processes: this one only starts the others, forwards signals and ends as the job ends; the
// job; and the watcher (live_watch.h), which may fail without harm to the job.
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/cli/commands.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/flag_values.h"
#include "ops/cli/job_environment.h"
#include "ops/cli/job_process.h"
#include "ops/cli/live_watch.h"
#include "ops/cli/run_recording.h"
#include "producers/core/producer_config.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;

struct RunFlags {
  std::string recording;
  std::string kafka;
  std::string job;
  uint32_t window_steps = 32;
  int32_t ranks = 64;
  int level = -1;
  bool json = false;
  bool open = false;
  std::vector<std::string> command;
};

std::string NowText() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &local);
  return text;
}

std::optional<std::string> FromEnvironment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// What the ranks will read; what is wrong in other variables is theirs to say.
absl::StatusOr<std::map<std::string, std::string>> KafkaPropertiesOfRanks() {
  const auto only_kafka = [](const std::string& name) {
    return name == "EROICA_KAFKA" ? FromEnvironment(name) : std::nullopt;
  };
  absl::StatusOr<ProducerConfig> config = ReadProducerConfig(only_kafka, {});
  if (!config.ok()) return config.status();
  return std::move(config->kafka_properties);
}

// The job's ranks share it; it goes with the job.
class ExchangeFolder {
 public:
  static absl::StatusOr<std::unique_ptr<ExchangeFolder>> Make() {
    const std::string runtime = FromEnvironment("XDG_RUNTIME_DIR").value_or("");
    const bool usable = !runtime.empty() && ::access(runtime.c_str(), W_OK) == 0;
    std::string pattern = fmt::format("{}/eroica-run-XXXXXX", usable ? runtime : "/dev/shm");
    if (::mkdtemp(pattern.data()) == nullptr)
      return absl::ErrnoToStatus(errno, "cannot make " + pattern);
    return std::make_unique<ExchangeFolder>(pattern);
  }
  explicit ExchangeFolder(std::string path) : path_(std::move(path)) {}
  ~ExchangeFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  ExchangeFolder(const ExchangeFolder&) = delete;
  ExchangeFolder& operator=(const ExchangeFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

// What fits a job on one host: findings within seconds, a partition for each rank.
NodeConfig ConfigOf(const RunFlags& flags, const std::string& recording) {
  NodeConfig config;
  config.node.recording = recording;
  config.node.log_level = "err";
  config.kafka.bootstrap = flags.kafka;
  config.topics.events_partitions = flags.ranks;
  config.topics.collectives_partitions = 1;
  config.topics.patterns_partitions = 1;
  config.runtime.memory_mib = 512;
  config.summarize.out_of_orderness_ms = 1'000;
  // The node trains nobody: it wakes up seldom, and has the whole job at hand after a crash.
  config.runtime.poll_timeout_ms = 250;
  config.runtime.commit_interval_ms = 2'000;
  // Ranks send every half second, or as EROICA_SEND_MS says; a window that is closed before all of
  // it is there is cut.
  config.runtime.idle_timeout_ms = 10'000;
  return config;
}

struct Watcher {
  pid_t pid = 0;
  int job_ended = -1;  // closed: the job has ended
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

void FinishWatcher(const Watcher& watcher, const RunFlags& flags, const std::string& recording) {
  // The job has ended and has no use for a signal: whoever sends one wants an end of the waiting.
  SignalsEnd(watcher.pid);
  ::close(watcher.job_ended);
  int status = 0;
  while (::waitpid(watcher.pid, &status, 0) < 0 && errno == EINTR) {
  }
  SignalsEnd(0);
  if (WIFSIGNALED(status))
    std::cerr << fmt::format("eroica: the watcher was ended by signal {}\n", WTERMSIG(status));
  if (flags.json || recording.empty()) return;
  std::cerr << fmt::format("   recording: {0}\n   again: eroica findings --recording {0}\n",
                           Printable(recording));
}

int FailToStart(const absl::Status& status, const Watcher& watcher) {
  ::kill(watcher.pid, SIGKILL);
  ::waitpid(watcher.pid, nullptr, 0);
  ExitWithError(status);
  return absl::IsNotFound(status) ? 127 : 126;  // as a shell says it
}

int Run(const RunFlags& flags) {
  const absl::StatusOr<ProducerFiles> files = FindProducerFiles();
  if (!files.ok()) return ExitWithError(files.status());
  absl::StatusOr<std::unique_ptr<ExchangeFolder>> exchange = ExchangeFolder::Make();
  if (!exchange.ok()) return ExitWithError(exchange.status());
  const std::string started = NowText();
  std::optional<RunRecording> recording;
  if (flags.kafka.empty()) {
    absl::StatusOr<RunRecording> claimed =
        RunRecording::Claim(flags.recording, fmt::format("eroica-{}", started));
    if (!claimed.ok()) return ExitWithError(claimed.status());
    recording = *std::move(claimed);
  }
  const std::string recorded_in = recording ? recording->path() : "";
  const NodeConfig config = ConfigOf(flags, recorded_in);
  if (recording) {
    if (absl::Status status = recording->Prepare(config); !status.ok())
      return ExitWithError(status);
  }
  // Two runs may start within a second, and over Kafka only the job's name tells them apart.
  const std::string program = fs::path(flags.command[0]).filename().string();
  JobCapture capture{
      .recording = recorded_in,
      .bootstrap = flags.kafka,
      .job = flags.job.empty() ? fmt::format("{}-{}-{}", program, started, ::getpid()) : flags.job,
      .exchange = (*exchange)->path(),
      .window_steps = flags.window_steps,
      .level = flags.level < 0 ? std::nullopt : std::optional<int>(flags.level)};
  absl::StatusOr<std::map<std::string, std::string>> kafka_properties = KafkaPropertiesOfRanks();
  if (!kafka_properties.ok()) return ExitWithError(kafka_properties.status());
  const absl::StatusOr<Watcher> watcher =
      StartWatcher({.config = config,
                    .kafka_properties = *std::move(kafka_properties),
                    .job = capture.job,
                    .run_node = flags.kafka.empty(),
                    .json = flags.json,
                    .page = flags.open});
  if (!watcher.ok()) return ExitWithError(watcher.status());
  absl::StatusOr<JobProcess> job =
      JobProcess::Start(flags.command, VariablesFor(capture, *files, FromEnvironment));
  if (!job.ok()) {
    const int code = FailToStart(job.status(), *watcher);
    if (recording) recording->Discard(config);
    return code;
  }
  const int status = job->Wait();
  FinishWatcher(*watcher, flags, recorded_in);
  exchange->reset();
  ExitAs(status);
}

}  // namespace

void AddRunCommand(CLI::App& app, std::vector<std::string> job, int* exit_code) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command = app.add_subcommand(
      "run", "Run a training job with Eroica inside its ranks, and show findings while it runs");
  command
      ->add_option("-o,--recording", flags->recording,
                   "New or empty folder for the recording (default: eroica-DATE-TIME here)")
      ->type_name("DIR");
  auto* kafka = command
                    ->add_option("--kafka", flags->kafka,
                                 "Send there instead, and show what the nodes there find")
                    ->type_name("HOST:PORT");
  command->get_option("--recording")->excludes(kafka);
  command->add_option("--job", flags->job, "Name of the job (default: the program and the time)")
      ->type_name("JOB");
  command
      ->add_option("--window-steps", flags->window_steps,
                   "Training steps that are compared at once")
      ->check(WholeNumber(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--ranks", flags->ranks, "Ranks on this host, at most")
      ->check(WholeNumber(1, 4'096))
      ->capture_default_str();
  command
      ->add_option(
          "--level", flags->level,
          "Capture level: 0 marks and collectives, 1 patterns, 2 events (default: 2, over Kafka 1)")
      ->check(WholeNumber(0, 2));
  command->add_flag("--json", flags->json, "Findings as JSON lines, on standard error");
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
      "Standard output is the job's own; what Eroica says goes to standard error. Exit "
      "codes: the job's own, or its signal; 126 and 127 the job could not be started, 2 Eroica "
      "could not.");
  command->callback([flags, exit_code, job = std::move(job)] {
    flags->command.insert(flags->command.end(), job.begin(), job.end());
    const bool given = !flags->command.empty() && !flags->command[0].empty();
    *exit_code =
        given ? Run(*flags)
              : ExitWithError(absl::InvalidArgumentError("which job? eroica run -- COMMAND..."));
  });
}

}  // namespace eroica
