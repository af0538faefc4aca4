// The Chrome trace of one rank while it is written. Owner: ChromeTraceWriter. Text is kept until it
// is worth a write, and the file is open only meanwhile: a job has more ranks than a process has
// files.
#pragma once

#include <absl/status/status.h>

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

class RankTraceFile {
 public:
  explicit RankTraceFile(std::string path) : path_(std::move(path)) {}

  absl::Status Add(const EventBatch& batch);
  // Closes the step that is open and the JSON. No Add after it.
  absl::Status Finish();

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

  void Begin(const ProducerIdentity& identity, int64_t first_ns);
  void ReadTables(const EventBatch& batch);
  uint32_t PlaceOf(const Lane& lane);
  void AddIntervals(const EventBatch& batch);
  void AddInterval(const EventBatch& batch, size_t index);
  void AddFrame(const EventBatch& batch, size_t index);
  void AddMark(const Mark& mark);
  void WriteFrame(const Row& row, uint32_t parent_id, Place& place, int64_t start_ns,
                  int64_t duration_ns);
  void WriteStep(int64_t end_ns);
  void WriteAnnotation(std::string_view name, int64_t start_ns, int64_t duration_ns);
  void BeginEvent(const char* category, std::string_view name_json, const Place& place,
                  int64_t start_ns, int64_t duration_ns);
  void WriteMetadata(const char* name, const Place& place, const char* key, std::string_view value,
                     bool first);
  void WriteDistributedInfo();
  absl::Status Flush();
  uint32_t Device() const {
    return identity_.device < 0 ? 0 : static_cast<uint32_t>(identity_.device);
  }

  const std::string path_;
  std::string text_;  // not yet in the file
  bool created_ = false;
  bool finished_ = false;
  ProducerIdentity identity_;
  int64_t base_ns_ = 0;  // all times count from here
  int64_t latest_ns_ = 0;
  uint32_t streams_ = 0;
  uint32_t threads_ = 0;
  uint32_t frames_ = 0;                           // ids given
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
