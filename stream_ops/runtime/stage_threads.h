// The threads of a node: one StreamThread after the other for every stage that the node runs, each
// on a thread of its own. The only place of the runtime that starts threads and reads the clock.
//
// Owner: ops. Start, Wait and Stop are for the owner's thread; Probes is thread-safe. An error that
// ends one stage stops them all: half a node would look alive and fall behind.
#pragma once

#include <absl/status/status.h>

#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "schemas/boundary_thread.h"
#include "schemas/mutex.h"
#include "stream_ops/runtime/stream_thread.h"

namespace eroica {

struct StageThreadsOptions {
  StreamThreadOptions
      thread;  // of every stage; the group id is set here, idle_timeout is that of the first stage
  std::string group_prefix = "eroica";  // group of a stage: PREFIX-STAGE
  std::string group_instance_prefix;    // static membership: PREFIX-STAGE-NUMBER; empty: dynamic
  int threads_per_stage = 1;
  // By transactions, of which each thread has an id of its own: a lasting one where membership is
  // static, else one that nobody has had before. Needs thread.changelog.
  bool exactly_once = false;
};

class StageThreads {
 public:
  // roles: names of the stages to run; empty: all. log and store must outlive this.
  StageThreads(Log& log, StateStore& store, Topology topology, std::vector<std::string> roles,
               StageThreadsOptions options);
  // Stops, if that was not done.
  ~StageThreads();

  // kInvalidArgument for a role that the topology does not know. Once.
  absl::Status Start();
  // Until Stop was called from another thread or a stage ended by itself: its error.
  absl::Status Wait();
  // Every stage finishes its step, commits and lets go of its partitions. Answers with the first
  // error, of then or before.
  absl::Status Stop();
  // Thread-safe and at once: Wait returns, the stages begin to stop. Safe in a signal-handling
  // thread, not in a signal handler.
  void RequestStop();

  // By stage, all threads added up; as of their last step.
  std::map<std::string, StageProbe> Probes() const;

 private:
  StreamThreadOptions ThreadOptions(const Stage& stage, int number, int depth) const;
  void Run(const Stage& stage, size_t index, StreamThreadOptions options,
           const std::stop_token& stop);
  void Publish(size_t index, const std::string& stage, const StageProbe& probe);
  void Finish(const absl::Status& status);
  // The stage ends with what a library threw, and the node with it.
  void FinishThrown(const std::string& stage, const Thrown& thrown);

  Log& log_;
  StateStore& store_;
  const Topology topology_;
  const std::vector<std::string> roles_;
  const StageThreadsOptions options_;
  std::map<std::string, std::shared_ptr<StageProgress>> progress_;  // of the stages that run here

  mutable Mutex mutex_;
  std::vector<std::pair<std::string, StageProbe>> probes_
      EROICA_GUARDED_BY(mutex_);  // one a thread
  absl::Status status_ EROICA_GUARDED_BY(mutex_);
  std::stop_source stop_;
  std::vector<BoundaryThread> threads_;
};

}  // namespace eroica
