// What `eroica run` does beside starting the job: where the ranks record to, their variables, and
// the watcher. Whatever cannot be had is left out with a remark, for the job always starts.
// Owner: the command.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ops/cli/exchange_folder.h"
#include "ops/cli/job_environment.h"
#include "ops/cli/live_watch.h"
#include "ops/cli/run_recording.h"
#include "ops/config/node_config.h"

namespace eroica {

struct RunFlags {
  std::string recording;
  std::string kafka;
  std::string job;
  std::optional<uint32_t> window_steps;
  int32_t ranks = 64;
  int level = -1;
  bool json = false;
  bool open = false;
  std::vector<std::string> command;
};

struct RunPlan {
  std::map<std::string, std::string> variables;  // of the job, beside those of this process
  NodeConfig config;
  std::optional<RunRecording> recording;     // none: over Kafka, or nothing is captured
  std::unique_ptr<ExchangeFolder> exchange;  // null: the user gave one, or nothing is captured
  std::optional<LiveWatchOptions> watch;     // none: nothing is to be watched
  std::vector<std::string> remarks;          // one line each, for the user
};

// Never fails. environment: of this process.
RunPlan PlanRun(const RunFlags& flags, const GetVariable& environment);

// What was made for a job that has not come into being goes.
void DiscardPlan(RunPlan& plan);

// Of a job that runs without Eroica.
std::map<std::string, std::string> VariablesWithoutEroica();

}  // namespace eroica
