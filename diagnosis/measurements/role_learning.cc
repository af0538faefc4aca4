#include "diagnosis/measurements/role_learning.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "diagnosis/measurements/function_profile.h"
#include "diagnosis/measurements/pipeline_depth.h"

namespace eroica {
namespace {

constexpr int kMinDifferentNames = 3;  // fewer may be one rank's fault
// of each side, for sets that share less than half of their names
constexpr int kMinExclusiveNames = 2;
constexpr size_t kMaxClusters = 64;
// of the bytes of collective groups smaller than the world, e.g. tied embeddings of first and last
// stage
constexpr double kMaxCrossingShare = 0.1;

using Labels = std::vector<int32_t>;

struct Evidence {
  std::span<const RankView> ranks;
  std::span<const CollectiveSummary> summaries;
  size_t world_size = 0;
};

// Positions in `ranks` of the members of a collective group that is smaller than the world; empty
// for any other communicator.
std::vector<size_t> GroupMembers(const Evidence& evidence, const CollectiveSummary& summary) {
  std::vector<size_t> members;
  if (!summary.pairs.empty() || summary.operations == 0) return members;
  if (summary.members.size() + summary.missing.size() >= evidence.world_size) return members;
  for (const MemberSummary& member : summary.members) {
    const auto it =
        std::lower_bound(evidence.ranks.begin(), evidence.ranks.end(), member.rank,
                         [](const RankView& view, RankId rank) { return view.rank < rank; });
    if (it != evidence.ranks.end() && it->rank == member.rank)
      members.push_back(static_cast<size_t>(it - evidence.ranks.begin()));
  }
  return members;
}

// A rank off the paths takes the depth of its groups' other members where these agree.
void SpreadDepths(const Evidence& evidence, Labels* depths) {
  constexpr int32_t kConflict = -2;
  Labels votes(depths->size(), kUnknownDepth);
  for (const CollectiveSummary& summary : evidence.summaries) {
    const std::vector<size_t> members = GroupMembers(evidence, summary);
    int32_t agreed = kUnknownDepth;
    for (const size_t member : members) {
      const int32_t depth = (*depths)[member];
      if (depth == kUnknownDepth) continue;
      agreed = agreed == kUnknownDepth || agreed == depth ? depth : kConflict;
    }
    if (agreed < 0) continue;
    for (const size_t member : members) {
      int32_t& vote = votes[member];
      vote = vote == kUnknownDepth || vote == agreed ? agreed : kConflict;
    }
  }
  for (size_t i = 0; i < votes.size(); ++i) {
    if ((*depths)[i] == kUnknownDepth && votes[i] >= 0) (*depths)[i] = votes[i];
  }
}

// By pipeline depth; empty where point-to-point traffic does not place most of the ranks. Where it
// may be pieces of a pipeline that it shows, and groups do not place the ranks off the longest,
// nobody is anybody's peer.
Labels LabelsByDepth(const Evidence& evidence) {
  std::vector<RankId> numbers;
  numbers.reserve(evidence.ranks.size());
  for (const RankView& rank : evidence.ranks) numbers.push_back(rank.rank);
  PipelineDepths pipeline = ReadPipelineDepths(numbers, evidence.summaries);
  Labels& depths = pipeline.of_ranks;
  const bool tells =
      std::ranges::any_of(depths, [](int32_t depth) { return depth != kUnknownDepth; });
  if (tells) SpreadDepths(evidence, &depths);
  const auto unknown = static_cast<size_t>(std::ranges::count(depths, kUnknownDepth));
  if (pipeline.may_be_pieces && unknown > 0) {
    std::iota(depths.begin(), depths.end(), 0);
    return depths;
  }
  return tells && 2 * unknown < depths.size() ? depths : Labels{};
}

struct Cluster {
  NameSet names;  // of the most frequent profile in it
  size_t ranks = 0;
};

int Distance(const NameSet& a, const NameSet& b) { return NamesWithout(a, b) + NamesWithout(b, a); }

bool ShareLessThanHalf(const NameSet& a, const NameSet& b) {
  const int only_a = NamesWithout(a, b);
  const int only_b = NamesWithout(b, a);
  return only_a >= kMinExclusiveNames && only_b >= kMinExclusiveNames &&
         CommonNames(a, b) < only_a + only_b;
}

// Profiles that differ in fewer than kMinDifferentNames names come together, the most frequent
// first; what stays alone founds no cluster.
std::vector<Cluster> ClustersOf(std::span<const NameSet> profiles) {
  std::map<NameSet, size_t> counts;
  auto last = counts.end();  // ranks mostly run what the rank before them runs
  for (const NameSet& profile : profiles) {
    if (profile.empty()) continue;
    if (last == counts.end() || last->first != profile) last = counts.try_emplace(profile, 0).first;
    ++last->second;
  }
  std::vector<Cluster> distinct;
  for (const auto& [names, count] : counts) distinct.push_back({names, count});
  std::stable_sort(distinct.begin(), distinct.end(),
                   [](const Cluster& a, const Cluster& b) { return a.ranks > b.ranks; });
  std::vector<Cluster> clusters;
  for (const Cluster& candidate : distinct) {
    const auto near = std::find_if(clusters.begin(), clusters.end(), [&](const Cluster& c) {
      return Distance(c.names, candidate.names) < kMinDifferentNames;
    });
    if (near != clusters.end()) {
      near->ranks += candidate.ranks;
    } else if (clusters.size() < kMaxClusters) {
      clusters.push_back(candidate);
    }
  }
  std::erase_if(clusters, [](const Cluster& c) { return c.ranks < 2; });
  return clusters;
}

Labels NearestCluster(std::span<const NameSet> profiles, std::span<const Cluster> clusters) {
  Labels labels(profiles.size(), 0);
  for (size_t i = 0; i < profiles.size(); ++i) {
    const auto nearest =
        std::min_element(clusters.begin(), clusters.end(), [&](const Cluster& a, const Cluster& b) {
          return Distance(a.names, profiles[i]) < Distance(b.names, profiles[i]);
        });
    labels[i] = static_cast<int32_t>(nearest - clusters.begin());
  }
  return labels;
}

// Do the communicators bear the partition: groups inside one role, but for a small part of the
// traffic?
bool GroupsStayInside(const Evidence& evidence, const Labels& labels) {
  double inside = 0;
  double crossing = 0;
  for (const CollectiveSummary& summary : evidence.summaries) {
    const std::vector<size_t> members = GroupMembers(evidence, summary);
    if (members.size() < 2) continue;
    const bool crosses = std::any_of(members.begin(), members.end(), [&](size_t m) {
      return labels[m] != labels[members.front()];
    });
    const double weight =
        static_cast<double>(summary.bytes > 0 ? summary.bytes : summary.operations);
    (crosses ? crossing : inside) += weight;
  }
  return inside > 0 && crossing <= kMaxCrossingShare * (inside + crossing);
}

bool SizesAreMultiplesOfTheSmallest(const Labels& labels) {
  std::map<int32_t, size_t> sizes;
  for (const int32_t label : labels) ++sizes[label];
  size_t smallest = labels.size();
  for (const auto& [label, size] : sizes) smallest = std::min(smallest, size);
  return std::all_of(sizes.begin(), sizes.end(),
                     [&](const auto& entry) { return entry.second % smallest == 0; });
}

// Clusters of similar profiles (not ShareLessThanHalf) become one, transitively.
Labels MergeSimilar(Labels labels, std::span<const Cluster> clusters) {
  Labels root(clusters.size());
  for (size_t i = 0; i < root.size(); ++i) root[i] = static_cast<int32_t>(i);
  for (size_t i = 0; i < clusters.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (ShareLessThanHalf(clusters[i].names, clusters[j].names)) continue;
      std::replace(root.begin(), root.end(), int32_t{root[i]}, int32_t{root[j]});
    }
  }
  for (int32_t& label : labels) label = root[static_cast<size_t>(label)];
  return labels;
}

Labels LabelsByFunctions(const Evidence& evidence, std::span<const FunctionColumn> functions) {
  const std::vector<NameSet> profiles = FunctionProfiles(evidence.ranks, functions);
  const std::vector<Cluster> clusters = ClustersOf(profiles);
  if (clusters.size() < 2) return Labels(profiles.size(), 0);
  Labels labels = NearestCluster(profiles, clusters);
  if (SizesAreMultiplesOfTheSmallest(labels) && GroupsStayInside(evidence, labels)) return labels;
  return MergeSimilar(std::move(labels), clusters);
}

Labels Learn(std::span<const RankView> ranks, std::span<const FunctionColumn> functions,
             std::span<const CollectiveSummary> summaries) {
  if (ranks.size() <= 2) return Labels(ranks.size(), 0);
  Evidence evidence{.ranks = ranks, .summaries = summaries};
  for (const RankView& rank : ranks)
    evidence.world_size = std::max<size_t>(evidence.world_size, rank.batch->world_size);
  Labels labels = LabelsByDepth(evidence);
  return labels.empty() ? LabelsByFunctions(evidence, functions) : labels;
}

constexpr size_t kMostRoleBytes = 4'096;
constexpr size_t kMostTied = 4;  // of more ways to see the roles nothing can be said
constexpr uint32_t kDigits = 8;  // of a fingerprint

struct Stretch {
  uint32_t first = 0;
  uint32_t count = 0;
  uint32_t role = 0;
};

// The number at the beginning of the text, and the character after it, which are taken away.
std::optional<uint32_t> TakeNumber(std::string_view& text, char end) {
  uint32_t number = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<size_t>(at - text.data()));
  if (error != std::errc{} || text.empty() || text.front() != end) return std::nullopt;
  text.remove_prefix(1);
  return number;
}

// Ascending by rank; empty where the text is none of EncodeRoles'.
std::vector<Stretch> DecodeRoles(std::string_view text) {
  std::vector<Stretch> stretches;
  while (!text.empty()) {
    const std::optional<uint32_t> first = TakeNumber(text, '+');
    const std::optional<uint32_t> count = first ? TakeNumber(text, '=') : std::nullopt;
    const std::optional<uint32_t> role = count ? TakeNumber(text, ' ') : std::nullopt;
    if (!role) return {};
    stretches.push_back({.first = *first, .count = *count, .role = *role});
  }
  return stretches;
}

// What most windows of these processes show, `now` among them: one text, or several where nothing
// is more frequent than anything else.
std::vector<std::string> MostFrequent(std::span<const RankTimes> past, const std::string& now,
                                      uint32_t processes) {
  std::map<std::string_view, size_t> votes;
  ++votes[now];
  for (const RankTimes& window : past) {
    if (AreSameProcesses(window.processes, processes)) ++votes[window.roles];
  }
  size_t most = 0;
  for (const auto& [text, windows] : votes) most = std::max(most, windows);
  std::vector<std::string> texts;
  for (const auto& [text, windows] : votes) {
    if (windows == most) texts.emplace_back(text);
  }
  return texts;
}

// The roles of the ranks in what the text says; empty where it does not say it of one of them. It
// may have listed silent ranks, too.
std::vector<uint32_t> RolesIn(std::string_view text, std::span<const RankView> ranks) {
  const std::vector<Stretch> stretches = DecodeRoles(text);
  std::vector<uint32_t> roles;
  for (const RankView& rank : ranks) {
    const auto after = std::upper_bound(
        stretches.begin(), stretches.end(), rank.rank.value,
        [](uint32_t number, const Stretch& stretch) { return number < stretch.first; });
    if (after == stretches.begin() ||
        rank.rank.value - std::prev(after)->first >= std::prev(after)->count)
      return {};
    roles.push_back(std::prev(after)->role);
  }
  return roles;
}

}  // namespace

std::vector<uint32_t> LearnRoles(std::span<const RankView> ranks,
                                 std::span<const FunctionColumn> functions,
                                 std::span<const CollectiveSummary> summaries) {
  const bool all_given = std::all_of(ranks.begin(), ranks.end(), [](const RankView& r) {
    return !r.batch->role.empty() || r.batch->silent;
  });
  const Labels learnt = all_given ? Labels(ranks.size(), 0) : Learn(ranks, functions, summaries);
  std::map<std::pair<std::string_view, int32_t>, uint32_t> role_of;
  std::vector<uint32_t> roles;
  roles.reserve(ranks.size());
  for (size_t i = 0; i < ranks.size(); ++i) {
    const std::string_view given = ranks[i].batch->role;
    const auto key = std::make_pair(given, given.empty() ? learnt[i] : 0);
    roles.push_back(role_of.try_emplace(key, static_cast<uint32_t>(role_of.size())).first->second);
  }
  return roles;
}

std::string EncodeRoles(std::span<const RankView> ranks, std::span<const uint32_t> roles) {
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && roles[end] == roles[i] &&
           ranks[end].rank.value == ranks[end - 1].rank.value + 1)
      ++end;
    text += fmt::format("{}+{}={} ", ranks[i].rank.value, end - i, roles[i]);
    i = end;
  }
  return text.size() <= kMostRoleBytes ? text : std::string();
}

uint32_t FingerprintOfProcesses(std::span<const RankView> ranks) {
  std::array<uint64_t, kDigits> hashes{};
  for (const RankView& rank : ranks) {
    if (rank.silent) continue;
    uint64_t& hash = hashes[rank.rank.value % kDigits];
    if (hash == 0) hash = 0xcbf29ce484222325;  // FNV-1a
    for (const uint32_t value : {rank.rank.value, rank.batch->pid})
      hash = (hash ^ value) * 0x100000001b3;
  }
  uint32_t fingerprint = 0;
  for (const uint64_t hash : hashes)
    fingerprint = fingerprint << 4 | (hash == 0 ? 0 : static_cast<uint32_t>(hash % 15) + 1);
  return fingerprint;
}

bool AreSameProcesses(uint32_t a, uint32_t b) {
  uint32_t digits = 0;
  uint32_t same = 0;
  for (uint32_t shift = 0; shift < 4 * kDigits; shift += 4) {
    const uint32_t of_a = a >> shift & 0xf;
    const uint32_t of_b = b >> shift & 0xf;
    digits += of_a != 0 || of_b != 0 ? 1 : 0;
    same += of_a != 0 && of_a == of_b ? 1 : 0;
  }
  return 2 * same > digits;
}

std::vector<uint32_t> RolesOfJob(std::span<const RankView> ranks, std::span<const RankTimes> past,
                                 std::vector<uint32_t> learned) {
  const std::string now = EncodeRoles(ranks, learned);
  const std::vector<std::string> most = MostFrequent(past, now, FingerprintOfProcesses(ranks));
  if (most.size() == 1 && most.front() == now) return learned;
  if (most.size() > kMostTied) return learned;
  // Ranks are peers where all of them say so: a wrong split hides a culprit for a window, a wrong
  // merge blames a healthy rank.
  std::vector<std::vector<uint32_t>> said;
  for (const std::string& text : most) {
    said.push_back(RolesIn(text, ranks));
    if (said.back().empty()) return learned;
  }
  std::map<std::vector<uint32_t>, uint32_t> dense;
  std::vector<uint32_t> roles;
  std::vector<uint32_t> of_rank(said.size());
  for (size_t i = 0; i < ranks.size(); ++i) {
    for (size_t k = 0; k < said.size(); ++k) of_rank[k] = said[k][i];
    roles.push_back(dense.try_emplace(of_rank, static_cast<uint32_t>(dense.size())).first->second);
  }
  return roles;
}

}  // namespace eroica
