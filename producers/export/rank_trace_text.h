// The events of one rank as those of a Chrome trace, batch by batch. Owner: a file of one rank
// (rank_trace_file.h), or of a job (job_trace_file.h). One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "producers/export/open_frames.h"
#include "schemas/event_batch.h"

namespace eroica {

// Which processes a trace viewer shows.
enum class TraceProcesses : uint8_t {
  kHostAndDevice,  // the rank's own and its device's, as PyTorch's profiler has them
  kRank,           // one a rank, called after it: several ranks go into one trace
};

class RankTraceText {
 public:
  explicit RankTraceText(TraceProcesses processes) : processes_(processes) {}

  // First, once. base_ns: all times count from here, and none lies before it. Ends what is in
  // text() up to now with the name of the process, so that further events begin with a comma.
  void Begin(const ProducerIdentity& identity, int64_t base_ns);
  bool has_begun() const { return !places_.empty(); }
  void Add(const EventBatch& batch);
  // An interval on a track of its own, which all such share. args: names and texts.
  struct Note {
    std::string name;
    int64_t start_ns = 0;
    int64_t duration_ns = 0;
    std::vector<std::pair<std::string, std::string>> args;
  };
  void AddNote(std::string_view track, const Note& note);
  // Closes the step that is open, at the latest at this time.
  void CloseStep(int64_t end_ns);
  // "distributedInfo" and what it says of the rank and its process groups.
  void AppendDistributedInfo(std::string* json) const;

  // What has been written and not yet taken.
  std::string& text() { return text_; }
  const ProducerIdentity& identity() const { return identity_; }
  int64_t base_ns() const { return base_ns_; }
  // The end of the latest event.
  int64_t latest_ns() const { return latest_ns_; }

 private:
  // A thread of the host or a stream of the device, as trace viewers and importers tell them apart.
  struct Place {
    uint32_t process = 0;
    uint32_t thread = 0;
    OpenFrames frames;
  };
  struct OpenStep {
    int64_t id = 0;
    int64_t begin_ns = 0;
  };
  // A row of the batch's function table.
  struct Row {
    FunctionId id;
    uint32_t depth = 0;
    std::string name;  // as JSON
  };

  void ReadTables(const EventBatch& batch);
  uint32_t PlaceOf(const Lane& lane);
  Place NewPlace(LaneKind kind);
  // Its number among the places.
  uint32_t NewTrack(std::string_view name, int64_t sort_index);
  void NameProcesses();
  void AddIntervals(const EventBatch& batch);
  void AddInterval(const EventBatch& batch, size_t index);
  void AddFrame(const EventBatch& batch, size_t index);
  void AddMark(const Mark& mark);
  void WriteFrame(const Row& row, uint32_t parent_id, Place& place, int64_t start_ns,
                  int64_t duration_ns);
  void WriteStep(int64_t end_ns);
  void WriteAnnotation(std::string_view name, const Place& place, int64_t start_ns,
                       int64_t duration_ns);
  void BeginEvent(const char* category, std::string_view name_json, const Place& place,
                  int64_t start_ns, int64_t duration_ns);
  void WriteMetadata(const char* name, const Place& place, const char* key, std::string_view value);
  void WriteSortIndex(const char* name, const Place& place, int64_t index);
  uint32_t Device() const {
    return identity_.device < 0 ? 0 : static_cast<uint32_t>(identity_.device);
  }

  const TraceProcesses processes_;
  std::string text_;
  ProducerIdentity identity_;
  int64_t base_ns_ = 0;
  int64_t latest_ns_ = 0;
  uint32_t streams_ = 0;
  uint32_t threads_ = 0;
  uint32_t frames_ = 0;                           // ids given
  std::optional<uint32_t> notes_;                 // their place
  std::optional<uint32_t> steps_;                 // their place, where they have one of their own
  std::vector<std::pair<Lane, uint32_t>> lanes_;  // and their places
  std::vector<Place> places_;                     // the first is the training thread's
  std::map<CommId, Communicator> groups_;
  std::optional<OpenStep> step_;
  // Of the batch at hand.
  std::vector<Row> rows_;
  std::vector<uint32_t> place_of_lane_;
  std::vector<const Collective*> collective_of_;
  std::vector<uint32_t> order_;
  std::vector<uint32_t> chain_;
};

}  // namespace eroica
