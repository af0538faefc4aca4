#include "tests/simulation/simulated_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "schemas/check.h"

namespace eroica::testing {

using std::chrono::milliseconds;

absl::Status SimulatedCluster::Store::Write(const StateChanges& changes) {
  if (std::exchange(fails, false)) return absl::UnavailableError("the disk is busy");
  return InMemoryStore::Write(changes);
}

SimulatedCluster::SimulatedCluster(MemoryLog& log, Topology topology, bool exactly_once,
                                   uint64_t seed)
    : log_(log), topology_(std::move(topology)), exactly_once_(exactly_once), random_(seed) {
  stages_.resize(topology_.stages().size());
  stores_.resize(stages_.size());
  for (size_t stage = 0; stage < stages_.size(); ++stage) {
    for (size_t node = 0; node < kNodes; ++node)
      stores_[stage].push_back(std::make_unique<Store>());
    Begin(stage, 0);
  }
}

void SimulatedCluster::Begin(size_t stage, size_t node) {
  OwnedStage& owned = stages_[stage];
  const Stage& definition = topology_.stages()[stage];
  StreamThreadOptions options;
  options.poll_records_max = 1 + Choose(8);
  options.poll_timeout = milliseconds(0);
  options.commit_interval = milliseconds(100 + 50 * static_cast<int64_t>(Choose(6)));
  options.commit_records_max = 1 + Choose(16);
  options.idle_timeout = std::nullopt;
  options.retry_backoff = milliseconds(10);
  options.retry_backoff_max = milliseconds(100);
  options.changelog = true;
  options.consumer.group_id = definition.name;
  if (exactly_once_) options.transactional_id = definition.name;
  owned.owner.node = node;
  owned.owner.thread.reset();  // before the log that it reads
  owned.owner.log = std::make_unique<FaultyLog>(log_);
  owned.owner.thread = std::make_unique<StreamThread>(*owned.owner.log, *stores_[stage][node],
                                                      definition, std::move(options));
}

void SimulatedCluster::Step() {
  const size_t stage = Choose(stages_.size());
  if (Choose(12) == 0) Fault(stage);
  if (Choose(60) == 0) Move(stage);
  if (Choose(20) == 0) WakeZombie(stage);
  Run(stage);
}

// An error that ends the stage ends its process: the next owner is another node.
void SimulatedCluster::Run(size_t stage) {
  now_ += milliseconds(20);
  OwnedStage& owned = stages_[stage];
  const absl::StatusOr<milliseconds> wait = owned.owner.thread->RunOnce(now_);
  if (wait.ok()) return;
  events_.push_back(fmt::format("{} ended: {}", topology_.stages()[stage].name,
                                std::string(wait.status().message())));
  Begin(stage, (owned.owner.node + 1) % kNodes);
}

void SimulatedCluster::Fault(size_t stage) {
  FaultyLog& log = *stages_[stage].owner.log;
  const uint64_t kind = Choose(7);
  events_.push_back(fmt::format("{} fault {}", topology_.stages()[stage].name, kind));
  switch (kind) {
    case 0: log.polls_unavailable = 1 + static_cast<int>(Choose(3)); break;
    case 1: log.appends_refused = 1; break;
    case 2: log.appends_lost = 1; break;
    case 3: log.flushes_timed_out = 1 + static_cast<int>(Choose(2)); break;
    case 4: log.flushes_lost = 1; break;
    case 5: log.memberships_in_doubt = 1 + static_cast<int>(Choose(3)); break;
    default: stores_[stage][stages_[stage].owner.node]->fails = true; break;
  }
}

void SimulatedCluster::Move(size_t stage) {
  OwnedStage& owned = stages_[stage];
  const uint64_t how = Choose(3);
  const size_t next = Choose(kNodes);
  events_.push_back(fmt::format("{} to node {} by {}", topology_.stages()[stage].name, next,
                                how == 0   ? "a good-bye"
                                : how == 1 ? "a crash"
                                           : "a pause"));
  if (how == 0) (void)owned.owner.thread->Close(now_);
  const bool moves = next != owned.owner.node;
  if (how == 2 && moves) {
    owned.zombies.push_back(std::move(owned.owner));
  } else {
    owned.owner.thread.reset();
  }
  // A node that starts again is paused no longer; its disk is gone, now and then.
  std::erase_if(owned.zombies, [next](const Member& zombie) { return zombie.node == next; });
  if (Choose(3) == 0 && moves) stores_[stage][next] = std::make_unique<Store>();
  Begin(stage, next);
}

// It goes on where it stood, for a step; at its next poll it hears that all of it is lost.
void SimulatedCluster::WakeZombie(size_t stage) {
  std::vector<Member>& zombies = stages_[stage].zombies;
  if (zombies.empty()) return;
  events_.push_back(fmt::format("{} zombie wakes up", topology_.stages()[stage].name));
  Member zombie = std::move(zombies.back());
  zombies.pop_back();
  zombie.log->memberships_in_doubt = 1'000;
  const std::string input = TopicName(kDefaultTopicPrefix, topology_.stages()[stage].input);
  const int32_t partitions = log_.admin().DescribeTopic(input)->partitions;
  zombie.log->at_next_poll.push_back(
      [input, partitions](RebalanceListener& listener, std::vector<ConsumerRecord>*) {
        for (int32_t partition = 0; partition < partitions; ++partition)
          listener.OnPartitionRevoked({input, partition}, /*lost=*/true);
      });
  for (int step = 0; step < 3; ++step) {
    now_ += milliseconds(20);
    if (!zombie.thread->RunOnce(now_).ok()) return;
  }
}

bool SimulatedCluster::Settle() {
  constexpr int kStepsMax = 20'000;
  int quiet = 0;
  for (int step = 0; step < kStepsMax && quiet < 40; ++step) {
    bool caught_up = true;
    for (size_t stage = 0; stage < stages_.size(); ++stage) {
      Run(stage);
      const absl::StatusOr<bool> all = stages_[stage].owner.thread->CaughtUp();
      caught_up = caught_up && all.ok() && *all;
    }
    quiet = caught_up ? quiet + 1 : 0;  // long enough for a commit after the last record
  }
  return quiet >= 40;
}

bool SimulatedCluster::BooksClosed() const {
  return std::ranges::all_of(stages_, [](const OwnedStage& owned) {
    const StageProbe& probe = owned.owner.thread->probe();
    return probe.records_received == probe.records_processed + probe.records_ignored;
  });
}

}  // namespace eroica::testing
