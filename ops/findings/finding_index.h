// The findings of all jobs, each in its newest version, as this node has read them from the
// findings topic: what REST, the dashboard and the alert sinks ask. In memory and bounded: beyond,
// the resolved findings that changed longest ago leave first, then the open ones.
//
// Thread-safe. Entries are immutable: what somebody holds stays as it was.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/findings/annotation.h"
#include "schemas/finding.h"
#include "schemas/mutex.h"

namespace eroica {

// One version of a finding, and where and when the topic has it.
struct PublishedFinding {
  Finding finding;
  int32_t partition = 0;
  int64_t offset = 0;
  int64_t timestamp_ms = 0;  // event time of the newest record that it rests on
};

// A large job's finding has as many victims as ranks.
inline constexpr size_t kBriefVictims = 10;

struct FindingEntry {
  // All but its evidence and text, which stand in json.
  std::string id;
  std::string job;
  std::string title;
  std::string replay_id;
  FindingKind kind = FindingKind::kSlowRank;
  FindingState state = FindingState::kOpened;
  Severity severity = Severity::kInfo;
  std::vector<int32_t> ranks;  // of the culprits
  double lost_gpu_seconds_per_hour = 0;
  int64_t first_step = -1;
  int64_t last_step = -1;
  // Event time, as the finding has it; of one without, of the first and the newest version
  // that were read.
  int64_t first_seen_ms = 0;
  int64_t last_seen_ms = 0;
  bool json_has_times = false;  // these
  Annotation annotation;
  std::string json;  // schemas/finding_json.h
  // The same with the kBriefVictims that lost the most; empty: there are no more.
  std::string brief_json;
  size_t victims = 0;     // all
  int32_t partition = 0;  // of the topic, and
  int64_t offset = 0;     // where the newest version is
  uint64_t sequence = 0;  // of the index's changes, the newest that is of this finding
};

using FindingPtr = std::shared_ptr<const FindingEntry>;

enum class StateFilter : uint8_t { kAny, kOpen, kOpened, kUpdated, kResolved };

// What is wanted of the findings; what is not given is not asked.
struct FindingQuery {
  std::string job;
  StateFilter state = StateFilter::kAny;
  std::optional<FindingKind> kind;
  Severity severity_min = Severity::kInfo;
  std::optional<int32_t> rank;
  std::optional<int64_t> since_ms;  // of last_seen_ms, inclusive
  std::optional<int64_t> until_ms;  // exclusive
  std::string replay_id;            // empty: of live jobs only
  bool muted = true;                // false: without those that are muted
  int64_t now_ms = 0;               // for muted
};

bool Matches(const FindingEntry& entry, const FindingQuery& query);

// Where a subscriber is: of each partition the offset behind what it has seen. As text "0:17,1:4".
using FindingPosition = std::map<int32_t, int64_t>;
std::string PositionText(const FindingPosition& position);
// Nothing where it is no such text.
std::optional<FindingPosition> ParsePosition(std::string_view text);

struct FindingCounts {
  std::map<std::pair<FindingKind, Severity>, uint64_t> open;  // now, without those of replays
  // versions that were read
  std::map<std::tuple<FindingKind, Severity, FindingState>, uint64_t> versions;
};

class FindingIndex {
 public:
  static constexpr size_t kEarlyAnnotationsMax = 10'000;

  // bytes_max: of the JSON of all entries, about.
  explicit FindingIndex(uint64_t bytes_max) : bytes_max_(bytes_max) {}

  void Add(const PublishedFinding& published);
  // What people did, as of now; also of findings that have not been read yet, of
  // kEarlyAnnotationsMax at most.
  void Annotate(const std::string& id, const Annotation& annotation);
  // The topic has been read to its end, as it was when the node began to look.
  void SetCaughtUp();
  // Called after every change, on the thread that made it; it must not change the index. In place
  // of the one before, which is not called any more when this returns.
  void SetListener(std::function<void()> on_change) const;

  FindingPtr Find(const std::string& id) const;
  // Open before resolved, then the most severe, the most costly, the newest; then by id.
  std::vector<FindingPtr> Select(const FindingQuery& query) const;
  // What has changed after this sequence number, in order of change.
  std::vector<FindingPtr> ChangedSince(uint64_t sequence) const;
  // What a subscriber that is there has not seen, in order of change.
  std::vector<FindingPtr> ChangedSince(const FindingPosition& position) const;

  bool caught_up() const;
  uint64_t version() const;          // goes up with every change
  FindingPosition position() const;  // behind all that was read
  int64_t newest_ms() const;         // event time of the newest finding; 0: none
  size_t size() const;
  uint64_t evicted() const;
  // Open are counted the findings of these jobs alone, without those that are muted at now_ms.
  FindingCounts CountOf(const std::set<std::string>& jobs, int64_t now_ms) const;

 private:
  void Place(std::shared_ptr<FindingEntry> entry) EROICA_REQUIRES(mutex_);
  void KeepWithinBytes() EROICA_REQUIRES(mutex_);
  void SayChanged();

  const uint64_t bytes_max_;
  mutable Mutex listener_mutex_;  // held while on_change_ is called
  mutable std::function<void()> on_change_ EROICA_GUARDED_BY(listener_mutex_);
  mutable Mutex mutex_;
  std::unordered_map<std::string, FindingPtr> by_id_ EROICA_GUARDED_BY(mutex_);
  std::map<uint64_t, FindingPtr> by_sequence_ EROICA_GUARDED_BY(mutex_);
  std::map<std::string, Annotation> early_annotations_
      EROICA_GUARDED_BY(mutex_);  // by id, of findings that were not read
  FindingPosition position_ EROICA_GUARDED_BY(mutex_);
  uint64_t version_ EROICA_GUARDED_BY(mutex_) = 0;
  uint64_t bytes_ EROICA_GUARDED_BY(mutex_) = 0;
  uint64_t evicted_ EROICA_GUARDED_BY(mutex_) = 0;
  FindingCounts counts_ EROICA_GUARDED_BY(mutex_);  // versions alone
  int64_t newest_ms_ EROICA_GUARDED_BY(mutex_) = 0;
  bool caught_up_ EROICA_GUARDED_BY(mutex_) = false;
};

}  // namespace eroica
