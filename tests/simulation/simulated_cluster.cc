#include "tests/simulation/simulated_cluster.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "stream_ops/runtime/changelog.h"
#include "stream_ops/runtime/testing/log_reading.h"

namespace eroica::testing {

using std::chrono::milliseconds;

SimulatedCluster::SimulatedCluster(MemoryLog& log, Topology topology, bool exactly_once,
                                   bool short_of_memory, uint64_t seed)
    : log_(log),
      topology_(std::move(topology)),
      exactly_once_(exactly_once),
      short_of_memory_(short_of_memory),
      random_(seed),
      static_members_(Choose(2) == 0),
      threads_per_stage_(1 + Choose(2)),
      ledgers_(topology_.stages().size()),
      probes_(topology_.stages().size()),
      nodes_(kNodes) {
  for (const Stage& stage : topology_.stages()) others_.emplace_back(stage.memory);
  for (size_t node = 0; node < kNodes; ++node) Start(node);
}

SimulatedCluster::~SimulatedCluster() {
  for (size_t node = 0; node < kNodes; ++node) StopNode(node, /*in_good_order=*/false);
}

void SimulatedCluster::Start(size_t node) {
  for (size_t stage = 0; stage < ledgers_.size(); ++stage) {
    for (uint64_t number = 0; number < threads_per_stage_; ++number) {
      Worker worker;
      worker.stage = stage;
      worker.log = std::make_unique<SimulatedLog>(log_, groups_, ledgers_[stage], random_());
      worker.thread = std::make_unique<StreamThread>(
          *worker.log, nodes_[node].store, topology_.stages()[stage], Options(node, stage, number));
      worker.log->on_pause = [this, node] { PauseInStep(node); };
      nodes_[node].workers.push_back(std::move(worker));
    }
  }
}

// A process without a name of its own has another one each time, as StageThreads gives it.
StreamThreadOptions SimulatedCluster::Options(size_t node, size_t stage, uint64_t number) {
  const std::string& name = topology_.stages()[stage].name;
  const std::string process =
      static_members_ ? fmt::format("node{}", node) : fmt::format("{:016x}", random_());
  StreamThreadOptions options;
  options.poll_records_max = 1 + Choose(8);
  options.poll_timeout = milliseconds(0);
  options.commit_interval = milliseconds(100 + 50 * static_cast<int64_t>(Choose(6)));
  options.commit_records_max = 1 + Choose(16);
  options.idle_timeout = std::nullopt;
  if (short_of_memory_) {
    options.idle_timeout = std::chrono::hours(1'000);  // nobody falls silent
    for (size_t later = stage + 1; later < topology_.stages().size(); ++later)
      options.later_pools.push_back(topology_.stages()[later].memory);
  }
  options.retry_backoff = milliseconds(10);
  options.retry_backoff_max = milliseconds(100);
  options.changelog = true;
  options.consumer.group_id = name;
  if (static_members_)
    options.consumer.group_instance_id = fmt::format("{}-{}-{}", process, name, number);
  if (exactly_once_) options.transactional_id = fmt::format("{}-{}-{}", process, name, number);
  return options;
}

void SimulatedCluster::Pass() {
  now_ += milliseconds(10);
  groups_.Advance(now_);
  for (size_t node = 0; node < kNodes; ++node) {
    if (nodes_[node].workers.empty() && now_ >= nodes_[node].away_until) Start(node);
  }
}

void SimulatedCluster::Step() {
  Pass();
  const size_t node = Choose(kNodes);
  if (now_ < nodes_[node].away_until || nodes_[node].in_step) return;
  if (short_of_memory_ && Choose(40) == 0) FillMemory(Choose(4) == 0 ? 0 : 0.9);
  if (Choose(12) == 0) FaultOfConnection(node);
  if (Choose(80) == 0) FaultOfNode(node);
  std::vector<Worker>& workers = nodes_[node].workers;
  if (!workers.empty() && now_ >= nodes_[node].away_until)
    Run(node, &workers[Choose(workers.size())]);
}

// The others go on meanwhile.
void SimulatedCluster::PauseInStep(size_t node) {
  if (settling_) return;
  Note(node, "is paused in a step");
  nodes_[node].in_step = true;
  const TimePoint until = now_ + (1 + Choose(2)) * GroupCoordinator::kSession;
  while (now_ < until) Step();
  nodes_[node].in_step = false;
}

// An error that ends a stage ends its process.
void SimulatedCluster::Run(size_t node, Worker* worker) {
  const absl::StatusOr<milliseconds> wait = worker->thread->RunOnce(now_);
  CheckBooks(*worker);
  if (wait.ok()) return;
  Note(node, fmt::format("{} ended: {}", topology_.stages()[worker->stage].name,
                         std::string(wait.status().message())));
  StopNode(node, /*in_good_order=*/false);
}

void SimulatedCluster::CheckBooks(const Worker& worker) {
  const StageProbe& probe = worker.thread->probe();
  const uint64_t known = probe.records_processed + probe.records_ignored + probe.records_pending;
  if (probe.records_received == known || !books_.empty()) return;
  books_ = fmt::format("{}: {} received, {} processed, {} ignored, {} pending",
                       topology_.stages()[worker.stage].name, probe.records_received,
                       probe.records_processed, probe.records_ignored, probe.records_pending);
}

void SimulatedCluster::StopNode(size_t node, bool in_good_order) {
  for (Worker& worker : nodes_[node].workers) {
    if (in_good_order) (void)worker.thread->Close(now_);
    worker.log->crashed = !in_good_order;
    CloseThread(&worker);
  }
  nodes_[node].workers.clear();
}

void SimulatedCluster::CloseThread(Worker* worker) {
  CheckBooks(*worker);
  probes_[worker->stage].Add(worker->thread->probe());
  worker->thread.reset();
}

void SimulatedCluster::FaultOfConnection(size_t node) {
  std::vector<Worker>& workers = nodes_[node].workers;
  if (workers.empty()) return;
  const Worker& worker = workers[Choose(workers.size())];
  SimulatedLog& log = *worker.log;
  const uint64_t kind = Choose(12);
  Note(node, fmt::format("{} fault {}", topology_.stages()[worker.stage].name, kind));
  switch (kind) {
    case 0: log.polls_unavailable = 1 + static_cast<int>(Choose(3)); break;
    case 1: log.appends_refused = 1; break;
    case 2: log.appends_lost = 1; break;
    case 3: log.flushes_timed_out = 1 + static_cast<int>(Choose(2)); break;
    case 4: log.flushes_lost = 1; break;
    case 5: log.commits_timed_out = 1 + static_cast<int>(Choose(2)); break;
    case 6: log.commits_unheard = 1; break;
    case 7: log.commits_void = 1; break;
    case 8: log.polls_delayed = 1 + static_cast<int>(Choose(6)); break;
    case 9: log.calls_to_pause = 1 + static_cast<int>(Choose(30)); break;
    case 10: log.seeks_unavailable = 1 + static_cast<int>(Choose(2)); break;
    default: nodes_[node].store.FailOnce(); break;
  }
}

void SimulatedCluster::FaultOfNode(size_t node) {
  const auto sessions = static_cast<int64_t>(Choose(3));
  nodes_[node].away_until =
      now_ + milliseconds(Choose(200)) + sessions * GroupCoordinator::kSession;
  switch (Choose(4)) {
    case 0: Note(node, "is paused"); break;
    case 1:
      Note(node, "stops");
      StopNode(node, /*in_good_order=*/true);
      break;
    default:
      Note(node, "crashes");
      StopNode(node, /*in_good_order=*/false);
      FaultOfDisk(node);
      break;
  }
}

void SimulatedCluster::FaultOfDisk(size_t node) {
  SimulatedStore& store = nodes_[node].store;
  switch (Choose(6)) {
    case 0:
      Note(node, "loses its disk");
      store.LoseDisk();
      break;
    case 1:
      Note(node, "is given a copy of its disk");
      store.PutCopyBack();
      break;
    case 2: {
      const size_t writes = Choose(store.unsynced() + 1);
      Note(node, fmt::format("loses power, with {} writes", writes));
      store.LosePower(writes);
      break;
    }
    default: store.KeepCopy(); break;
  }
}

bool SimulatedCluster::CaughtUp() {
  if (!groups_.Settled()) return false;
  for (Node& node : nodes_) {
    if (node.workers.empty()) return false;
    for (Worker& worker : node.workers) {
      const absl::StatusOr<bool> caught_up = worker.thread->CaughtUp();
      if (!caught_up.ok() || !*caught_up) return false;
    }
  }
  return std::ranges::all_of(topology_.stages(),
                             [this](const Stage& stage) { return AllCommitted(stage); });
}

// The stage's group says that it has committed all that its input holds.
bool SimulatedCluster::AllCommitted(const Stage& stage) {
  const std::string input = TopicName(kDefaultTopicPrefix, stage.input);
  std::map<int32_t, int64_t> ends;
  for (const ConsumerRecord& record : ReadTopic(log_, input))
    ends[record.partition] = record.offset + 1;
  const GroupOffsets offsets = *log_.admin().DescribeGroup(stage.name, input);
  return std::ranges::all_of(ends, [&](const auto& end) {
    const auto offset = offsets.find({input, end.first});
    return offset != offsets.end() && offset->second.processed >= end.second;
  });
}

bool SimulatedCluster::Settle() {
  constexpr int kRoundsMax = 5'000;
  constexpr int kQuiet = 3;  // nothing that one stage does gives another one more to do
  settling_ = true;
  FillMemory(0);
  for (Node& node : nodes_) node.away_until = now_;
  int quiet = 0;
  for (int round = 0; round < kRoundsMax && quiet < kQuiet; ++round) {
    Pass();
    for (size_t node = 0; node < kNodes; ++node) {
      for (size_t next = 0; next < nodes_[node].workers.size(); ++next)
        Run(node, &nodes_[node].workers[next]);
    }
    quiet = CaughtUp() ? quiet + 1 : 0;
  }
  return quiet >= kQuiet;
}

std::string SimulatedCluster::CloseBooks() {
  for (size_t node = 0; node < kNodes; ++node) StopNode(node, /*in_good_order=*/true);
  return books_.empty() ? CheckLedgers() : books_;
}

uint64_t SimulatedCluster::Unloads() const {
  uint64_t unloads = 0;
  for (const StageProbe& probe : probes_) unloads += probe.unloads;
  return unloads;
}

// What the threads say they emitted is what the log took from them, and that was written or lost.
std::string SimulatedCluster::CheckLedgers() const {
  for (size_t stage = 0; stage < ledgers_.size(); ++stage) {
    const std::string& name = topology_.stages()[stage].name;
    const std::string changelog = ChangelogTopic(kDefaultTopicPrefix, name);
    uint64_t emitted = 0;
    uint64_t to_changelog = 0;
    for (const auto& [topic, account] : ledgers_[stage].topics) {
      (topic == changelog ? to_changelog : emitted) += account.handed_over;
      if (account.handed_over != account.written + account.lost)
        return fmt::format("{} to {}: {} handed over, {} written, {} lost", name, topic,
                           account.handed_over, account.written, account.lost);
    }
    const StageProbe& probe = probes_[stage];
    if (emitted != probe.records_emitted || to_changelog != probe.changelog_records)
      return fmt::format("{} emitted {} and {} to its changelog, of which the log took {} and {}",
                         name, probe.records_emitted, probe.changelog_records, emitted,
                         to_changelog);
  }
  return CheckTopics();
}

// What is on a topic is what the stages wrote there.
std::string SimulatedCluster::CheckTopics() const {
  std::map<std::string, uint64_t> written;
  for (const Ledger& ledger : ledgers_) {
    for (const auto& [topic, account] : ledger.topics) written[topic] += account.written;
  }
  for (const auto& [topic, count] : written) {
    const size_t held = ReadTopic(log_, topic).size();
    if (held != count) return fmt::format("{} holds {} records of {}", topic, held, count);
  }
  return "";
}

void SimulatedCluster::FillMemory(double share) {
  for (size_t stage = 0; stage < others_.size(); ++stage) {
    const uint64_t all = topology_.stages()[stage].memory->bytes_max();
    others_[stage].Set(static_cast<uint64_t>(share * static_cast<double>(all)));
  }
}

void SimulatedCluster::Note(size_t node, std::string what) {
  events_.push_back(fmt::format("{} ms: node {} {}", now_.time_since_epoch() / milliseconds(1),
                                node, std::move(what)));
}

}  // namespace eroica::testing
