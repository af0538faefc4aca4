// The group protocol of a broker, as far as its members can tell: they join, are heard of by their
// polls, leave, or are given up after a session of silence; each change takes all partitions back
// and gives them out anew once every member has come again (eager). A static member that comes
// back within its session keeps its partitions; who had its name before is fenced off.
//
// Owner: one simulation, one thread. Time is what Advance says.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace eroica::testing {

class GroupCoordinator {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kSession{600};

  enum class MemberState : uint8_t {
    kOwns,       // the partitions of Partitions()
    kComeAgain,  // partitions are to be given out anew: give back what you have, then Rejoin
    kWaits,      // for the others to come again
    kGivenUp,    // silent for a session: what it had is somebody else's
    kFenced,     // another member has its name
  };

  void Advance(TimePoint now);
  // instance: of a static member, else empty. Answers the member's number.
  uint64_t Join(const std::string& group, const std::string& instance, int32_t partitions);
  void Leave(const std::string& group, uint64_t member);
  // The member polls.
  MemberState Hear(const std::string& group, uint64_t member);
  void Rejoin(const std::string& group, uint64_t member);
  uint64_t generation(const std::string& group) { return groups_[group].generation; }
  std::vector<int32_t> Partitions(const std::string& group, uint64_t member);
  // Whether what a member of this generation commits counts.
  bool MayCommit(const std::string& group, uint64_t member, uint64_t generation);
  // Not heard of for a session.
  bool Silent(const std::string& group, uint64_t member);
  // Every group has given all of its partitions to members that are heard of.
  bool Settled() const;

 private:
  struct Member {
    std::string instance;
    TimePoint heard_at;
    bool came_again = true;
    std::vector<int32_t> partitions;
  };
  struct Group {
    int32_t partitions = 0;
    uint64_t generation = 0;
    bool moving = false;  // partitions are to be given out anew
    std::map<uint64_t, Member> members;
    std::set<uint64_t> fenced;
  };

  static void TakeBack(Group* group);
  static void GiveOut(Group* group);

  TimePoint now_;
  uint64_t last_member_ = 0;
  std::map<std::string, Group> groups_;
};

}  // namespace eroica::testing
