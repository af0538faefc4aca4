// The process groups of all flight-recorder dumps of a job, and their members. NCCL's recorder
// lists groups with their members. Gloo's lists a single group without a name, with the members of
// the group that was made last: there the members of a group are the ranks that have entries of it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "producers/import/rank_dumps.h"
#include "producers/import/rank_trace.h"

namespace eroica {

class DumpGroups {
 public:
  static constexpr uint32_t kNone = FlightRecorderDump::kNone;

  // Over gloo and over NCCL a group of one name is two: each numbers its operations by itself.
  struct Group {
    ProcessGroup process_group;  // members outside the world: unknown
    bool on_host = false;
  };

  DumpGroups(const RankDumps& dumps, const World& world);

  const std::vector<Group>& all() const { return groups_; }
  // Of an entry of the rank's dump; kNone where the entry names none.
  uint32_t Of(uint32_t rank, const FlightRecorderDump::Entry& entry) const;
  // The groups that the rank lists or has entries of, ascending; at most as many as a batch takes.
  const std::vector<uint32_t>& OfRank(uint32_t rank) const;

 private:
  using Key = std::tuple<std::string, std::string, std::vector<uint32_t>, bool>;
  struct Places {                                  // of a rank
    std::vector<std::array<uint32_t, 2>> of_name;  // by name and on_host
    std::vector<uint32_t> groups;
  };
  // A group that the rank does not list.
  struct Unlisted {
    std::string description;
    std::vector<uint32_t> ranks;  // that have entries, ascending
  };

  uint32_t Add(const ProcessGroup& group, bool on_host, const World& world);
  void AddUnlisted(const RankDumps& dumps, const World& world);
  MemberList MembersOf(const std::string& name, const Unlisted& unlisted, size_t unlisted_groups,
                       const RankDumps& dumps, const World& world) const;

  std::vector<Group> groups_;
  std::map<Key, uint32_t> numbers_;
  std::map<uint32_t, Places> places_;  // by rank
  size_t members_ = 0;                 // of all groups
};

}  // namespace eroica
