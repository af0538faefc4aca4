#include "stream_ops/summarize/standing_emitter.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "schemas/time_unit.h"

namespace eroica {
namespace {

uint64_t Following(uint64_t sequence) {
  return sequence == std::numeric_limits<uint64_t>::max() ? sequence : sequence + 1;
}

// Not of the job before it was started anew with fewer ranks.
bool IsWithin(const Communicator& communicator, uint32_t world_size) {
  return std::ranges::all_of(communicator.ranks,
                             [world_size](uint32_t rank) { return rank < world_size; });
}

bool IsPeer(int64_t peer, uint32_t world_size) { return peer < int64_t{world_size}; }

// Whether this member is one of those that say who the members are.
bool Lists(const Communicator& communicator, RankId rank) {
  if (communicator.ranks.size() <= StandingEmitter::kListedBy) return true;
  const auto own = std::find(communicator.ranks.begin(), communicator.ranks.end(), rank.value);
  return (own - communicator.ranks.begin()) %
             static_cast<std::ptrdiff_t>(StandingEmitter::kListedBy) ==
         0;
}

int64_t LatestLaunch(const ProgressReport& report) {
  int64_t latest_ns = 0;
  for (const InFlightCollective& row : report.in_flight)
    latest_ns = std::max(latest_ns, row.launched_ns);
  return latest_ns;
}

// In which window the rank is: of the step that it says, else of the steps and windows that it has
// behind it.
int64_t WindowAt(const ProgressReport& report, const RankProgress& progress, int64_t window_ns) {
  if (progress.kind == WindowKind::kTime) return report.time_ns / window_ns;
  if (report.step >= 0) return StepWindowsOf(progress.identity).IndexOf(report.step);
  return std::clamp<int64_t>(progress.last_index + 1, 0, CodecLimits::kMaxTimeNs);
}

}  // namespace

void StandingEmitter::Emit(const FunctionTable& functions, const CommunicatorTable& communicators,
                           uint32_t world_size, const HeldReport& held, const RankWindows& rank,
                           ProcessorContext& context) {
  const ProgressReport& report = held.report;
  const RankProgress& progress = rank.progress();
  const RankAdvance advance = rank.AdvanceOfOpenWindows(report.time_ns);
  const ProducerIdentity& identity = rank.ProcessAt(report.time_ns);
  standing_ = {};
  standing_.job = identity.job;
  standing_.rank = identity.rank;
  standing_.world_size = WorldSizeOf(identity, world_size);
  standing_.host = identity.host;
  standing_.device = identity.device;
  standing_.pid = identity.pid;
  standing_.time_ns = report.time_ns;
  const int64_t last_ns = std::max(advance.last_progress_ns, LatestLaunch(report));
  standing_.last_progress_ns = last_ns > 0 ? std::min(last_ns, report.time_ns) : report.time_ns;
  standing_.timed_out = report.timed_out;
  standing_.collectives_suspended = report.collectives_suspended;
  standing_.starts_unknown = report.starts_unknown;
  standing_.moment_unknown = report.moment_unknown;
  standing_.pause = advance.pause;
  standing_.window_kind = progress.kind;
  standing_.window_index = WindowAt(report, progress, shared_->options.window_ns);
  standing_.step = report.step;
  standing_.last_step = advance.last_step;
  standing_.step_mean_ns = advance.step_mean_ns();
  if (held.function != kNoParent) {
    standing_.function = functions.name(held.function);
    standing_.stack = functions.Stack(held.function);
    standing_.function_class = functions.traits()[held.function].function_class;
  }
  AddCommunicators(communicators, progress);
  AddOperations(communicators, held, advance);
  standing_.connections = held.connections;
  std::erase_if(standing_.connections, [this](const ConnectionSample& sample) {
    return !IsPeer(sample.peer, standing_.world_size);
  });
  const auto payload = EncodeOutput(standing_, encoder_, context);
  if (!payload) {
    ++shared_->probe.outputs_dropped;
    return;
  }
  context.Forward(Topic::kPatterns, JobKey(standing_.job), PayloadType::kRankStanding, *payload,
                  report.time_ns / kNsPerMs, standing_.job);
  shared_->sent_bytes += payload->size();
  ++shared_->probe.standings_sent;
}

void StandingEmitter::AddCommunicators(const CommunicatorTable& communicators,
                                       const RankProgress& progress) {
  size_t listed = 0;
  for (const auto& [id, since_ns] : progress.communicators) {  // by id, no more than have room
    const std::optional<uint32_t> number = communicators.Find(id);
    if (number && IsWithin(communicators[*number], standing_.world_size))
      AddCommunicator(communicators[*number], &listed);
  }
}

void StandingEmitter::AddCommunicator(const Communicator& communicator, size_t* listed) {
  const bool lists = Lists(communicator, standing_.rank);
  const bool has_room = communicator.ranks.size() <= kMostListed - *listed;
  standing_.communicators.push_back({.id = communicator.id,
                                     .name = communicator.name,
                                     .description = communicator.description,
                                     .size = communicator.size,
                                     .ranks = {},
                                     .library = communicator.library});
  if (lists && has_room) {
    standing_.communicators.back().ranks = communicator.ranks;
    *listed += communicator.ranks.size();
  } else if (lists) {
    ++shared_->probe.lists_left_out;
  }
}

// What is in flight under the numbers of the standing, and the counts: what is in flight, what the
// producer itself counted, and what was seen to end. Where they are too many, in this order.
void StandingEmitter::AddOperations(const CommunicatorTable& communicators, const HeldReport& held,
                                    const RankAdvance& advance) {
  std::map<CommId, uint16_t> places;
  for (const Communicator& communicator : standing_.communicators)
    places.try_emplace(communicator.id, static_cast<uint16_t>(places.size()));
  using Key = std::tuple<uint16_t, CollectiveOperation, int32_t>;
  std::map<Key, OperationCount> counts;
  const auto count = [&](uint16_t place, CollectiveOperation operation, int32_t peer,
                         uint64_t launched, uint64_t completed) {
    const Key key{place, operation, peer};
    auto known = counts.find(key);
    if (known == counts.end()) {
      if (counts.size() == CodecLimits::kIntervals) {
        ++shared_->probe.operations_left_out;
        return;
      }
      known = counts.emplace(key, OperationCount{place, operation, peer, 0, 0}).first;
    }
    OperationCount& row = known->second;
    row.completed = std::max(row.completed, completed);
    row.launched = std::max({row.launched, launched, row.completed});
  };
  const auto place_of = [&](uint16_t communicator) {
    return places.find(communicators[held.communicators[communicator]].id);
  };
  for (InFlightCollective row : held.report.in_flight) {
    const auto place = place_of(row.communicator);
    if (place == places.end() || !IsPeer(row.peer, standing_.world_size)) continue;
    row.communicator = place->second;
    standing_.in_flight.push_back(row);
    count(place->second, row.operation, row.peer, Following(row.sequence), 0);
  }
  for (const OperationCount& row : held.report.operations) {
    if (const auto place = place_of(row.communicator);
        place != places.end() && IsPeer(row.peer, standing_.world_size)) {
      count(place->second, row.operation, row.peer, row.launched, row.completed);
    }
  }
  for (const auto& [key, below] : advance.completed) {
    if (const auto place = places.find(key.communicator);
        place != places.end() && IsPeer(key.peer, standing_.world_size))
      count(place->second, key.operation, key.peer, below, below);
  }
  const auto key = [](const InFlightCollective& row) {
    return std::tuple(row.communicator, row.operation, row.peer, row.sequence);
  };
  std::sort(standing_.in_flight.begin(), standing_.in_flight.end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });
  for (const auto& [unused, row] : counts) standing_.operations.push_back(row);
}

}  // namespace eroica
