// Jobs that stand still, made of a few lines, for the tests of the hang operator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <string>
#include <vector>

#include "diagnosis/hang/hang_view.h"

namespace eroica {

class StandingJob {
 public:
  static constexpr int64_t kSecond = 1'000'000'000;

  // Every rank reports, 20 s after its last progress, with nothing in flight.
  explicit StandingJob(uint32_t world_size) {
    for (uint32_t rank = 0; rank < world_size; ++rank) {
      RankStanding standing;
      standing.job = JobId{"job"};
      standing.rank = RankId{rank};
      standing.world_size = world_size;
      standing.host = "node-" + std::to_string(rank / 8);
      standing.device = static_cast<int32_t>(rank % 8);
      standing.time_ns = 1000 * kSecond + rank;
      standing.last_progress_ns = 980 * kSecond + rank;
      standing.step = 42;
      standing.last_step = 41;
      standing.step_mean_ns = kSecond;
      standing.window_kind = WindowKind::kSteps;
      standing.window_index = 4;
      standings_.push_back(standing);
    }
  }

  // A communicator of the ranks; ids ascend. Before anything is in flight on it.
  uint16_t Group(const std::string& name, const std::vector<uint32_t>& ranks) {
    for (RankStanding& standing : standings_) {
      const bool member = std::find(ranks.begin(), ranks.end(), standing.rank.value) != ranks.end();
      if (member)
        standing.communicators.push_back(
            {CommId{100 + groups_}, name, "", static_cast<uint32_t>(ranks.size()), ranks});
    }
    return static_cast<uint16_t>(groups_++);
  }

  // The ranks have launched the collective; those that started it stand in it.
  StandingJob& InFlight(uint16_t group, CollectiveOperation operation, uint64_t sequence,
                        std::initializer_list<uint32_t> ranks, bool started = true,
                        uint64_t bytes = 64) {
    for (const uint32_t rank : ranks) Launch(rank, group, operation, sequence, -1, started, bytes);
    return *this;
  }
  StandingJob& Send(uint16_t group, uint32_t from, uint32_t to, bool started = true) {
    Launch(from, group, CollectiveOperation::kSend, 0, static_cast<int32_t>(to), started, 64);
    return *this;
  }
  StandingJob& Receive(uint16_t group, uint32_t at, uint32_t from, bool started = true) {
    Launch(at, group, CollectiveOperation::kRecv, 0, static_cast<int32_t>(from), started, 64);
    return *this;
  }
  // The ranks have the sequence numbers below behind them.
  StandingJob& Completed(uint16_t group, CollectiveOperation operation, uint64_t below,
                         std::initializer_list<uint32_t> ranks) {
    for (const uint32_t rank : ranks) {
      standings_[rank].operations.push_back({Place(rank, group), operation, -1, below, below});
    }
    return *this;
  }
  // The library of all groups that were made.
  StandingJob& MovedBy(CollectiveLibrary library) {
    for (RankStanding& standing : standings_) {
      for (Communicator& communicator : standing.communicators) communicator.library = library;
    }
    return *this;
  }
  // So the rank's connection did in the last second.
  StandingJob& Connection(uint32_t rank, uint32_t peer, int64_t busy_ns, uint64_t bytes = 0) {
    RankStanding& standing = standings_[rank];
    standing.connections.push_back({.time_ns = standing.time_ns,
                                    .peer = peer,
                                    .resource = Resource::kNic,
                                    .bytes = bytes,
                                    .busy_ns = busy_ns});
    return *this;
  }
  StandingJob& In(uint32_t rank, const std::string& function) {
    standings_[rank].function = function;
    standings_[rank].stack = "train.py: main";
    return *this;
  }
  StandingJob& Silence(uint32_t rank) {
    silent_.push_back(RankId{rank});
    return *this;
  }
  RankStanding& operator[](uint32_t rank) { return standings_[rank]; }
  const std::vector<RankStanding>& standings() const { return standings_; }

  HangView View() const {
    HangView view{.job = JobId{"job"},
                  .world_size = static_cast<uint32_t>(standings_.size()),
                  .standings = {},
                  .silent = silent_};
    for (const RankStanding& standing : standings_) {
      if (std::find(silent_.begin(), silent_.end(), standing.rank) == silent_.end())
        view.standings.push_back(&standing);
    }
    return view;
  }

 private:
  uint16_t Place(uint32_t rank, uint16_t group) const {
    const auto& own = standings_[rank].communicators;
    const auto found = std::find_if(own.begin(), own.end(), [&](const Communicator& c) {
      return c.id.value == uint64_t{100} + group;
    });
    return static_cast<uint16_t>(found - own.begin());
  }
  void Launch(uint32_t rank, uint16_t group, CollectiveOperation operation, uint64_t sequence,
              int32_t peer, bool started, uint64_t bytes) {
    standings_[rank].in_flight.push_back(
        {.communicator = Place(rank, group),
         .operation = operation,
         .started = started,
         .peer = peer,
         .sequence = sequence,
         .bytes = bytes,
         .launched_ns = 980 * kSecond + static_cast<int64_t>(launches_++)});
    standings_[rank].operations.push_back(
        {Place(rank, group), operation, peer, sequence + 1, sequence});
  }

  std::vector<RankStanding> standings_;
  std::vector<RankId> silent_;
  uint64_t groups_ = 0;
  uint64_t launches_ = 0;
};

}  // namespace eroica
