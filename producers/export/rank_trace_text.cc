#include "producers/export/rank_trace_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "producers/export/collective_names.h"
#include "producers/export/json_text.h"
#include "schemas/check.h"

namespace eroica {
namespace {

// Of threads and streams, and of groups: beyond, the last place takes what comes, and groups are
// named beside their collectives alone.
constexpr size_t kPlacesMax = 1'000;
constexpr size_t kGroupsMax = 65'536;
// Of a rank's tracks, above its threads.
constexpr int64_t kNotesAtTheTop = -2;
constexpr int64_t kStepsBelowThem = -1;
constexpr uint32_t kFirstStream = 7;  // as PyTorch's compute stream is called, usually

bool IsRuntimeCall(std::string_view name) {
  return name.starts_with("cuda") || name.starts_with("cu") || name.starts_with("hip");
}

// The category by which importers tell the class again.
const char* CategoryOf(const FunctionDef& function, LaneKind lane) {
  const bool device = lane == LaneKind::kDeviceStream;
  switch (function.function_class) {
    case FunctionClass::kGpuCompute: return "kernel";
    case FunctionClass::kMemoryOp: return device ? "gpu_memcpy" : "cpu_op";
    case FunctionClass::kCollective: return device ? "kernel" : "user_annotation";
    case FunctionClass::kPython: return "python_function";
    case FunctionClass::kCpuOp: return IsRuntimeCall(function.name) ? "cuda_runtime" : "cpu_op";
  }
  return "cpu_op";
}

// As importers know a collective that runs on a thread of the host.
std::string HostCollectiveName(const FunctionDef& function, std::string name_json) {
  const bool is_known = function.name.starts_with("gloo:") || function.name.starts_with("mpi:");
  return is_known ? name_json : name_json.insert(1, "gloo:");
}

}  // namespace

void RankTraceText::Begin(const ProducerIdentity& identity, int64_t base_ns) {
  EROICA_CHECK(!has_begun());
  identity_ = identity;
  base_ns_ = base_ns;
  // The training thread's id is that of the process.
  const uint32_t process = processes_ == TraceProcesses::kRank ? identity.rank.value : identity.pid;
  places_.push_back({process, process, {}});
  NameProcesses();
  text_.erase(0, std::string_view(",\n").size());
}

void RankTraceText::NameProcesses() {
  const Place& process = places_.front();
  if (processes_ == TraceProcesses::kHostAndDevice) {
    WriteMetadata("process_labels", process, "labels", "CPU");
    WriteMetadata("process_labels", {Device(), 0, {}}, "labels", fmt::format("GPU {}", Device()));
    return;
  }
  WriteMetadata("process_name", process, "name", fmt::format("rank {}", identity_.rank.value));
  WriteMetadata("process_labels", process, "labels", identity_.host);
  WriteSortIndex("process_sort_index", process, identity_.rank.value);
}

void RankTraceText::Add(const EventBatch& batch) {
  EROICA_CHECK(has_begun());
  ReadTables(batch);
  AddIntervals(batch);
  for (const Mark& mark : batch.marks) AddMark(mark);
}

void RankTraceText::AddNote(std::string_view track, const Note& note) {
  if (!notes_) notes_ = NewTrack(track, kNotesAtTheTop);
  std::string name;
  AppendJsonString(note.name, &name);
  BeginEvent("finding", name, places_[*notes_], note.start_ns, note.duration_ns);
  text_ += ",\"args\":{";
  const char* separator = "";
  for (const auto& [key, value] : note.args) {
    text_ += separator;
    AppendJsonString(key, &text_);
    text_ += ':';
    AppendJsonString(value, &text_);
    separator = ",";
  }
  text_ += "}}";
}

void RankTraceText::CloseStep(int64_t end_ns) {
  if (step_) WriteStep(std::min(latest_ns_, end_ns));
}

void RankTraceText::ReadTables(const EventBatch& batch) {
  rows_.clear();
  for (const FunctionDef& function : batch.functions) {
    const bool root = function.parent == kNoParent;
    Row& row = rows_.emplace_back();
    row.id = HashFunction(function.function_class, function.name,
                          root ? FunctionId{0} : rows_[function.parent].id);
    row.depth = root ? 0 : rows_[function.parent].depth + 1;
    AppendJsonString(function.name, &row.name);
  }
  place_of_lane_.clear();
  for (const Lane& lane : batch.lanes) place_of_lane_.push_back(PlaceOf(lane));
  for (const Communicator& communicator : batch.communicators) {
    if (groups_.size() < kGroupsMax) groups_.try_emplace(communicator.id, communicator);
  }
}

uint32_t RankTraceText::PlaceOf(const Lane& lane) {
  const auto known = std::find_if(lanes_.begin(), lanes_.end(),
                                  [&](const auto& entry) { return entry.first == lane; });
  if (known != lanes_.end()) return known->second;
  if (places_.size() >= kPlacesMax) return static_cast<uint32_t>(places_.size() - 1);
  uint32_t number = 0;
  if (lane.kind != LaneKind::kTrainingThread) {
    number = static_cast<uint32_t>(places_.size());
    places_.push_back(NewPlace(lane.kind));
  }
  lanes_.emplace_back(lane, number);
  WriteMetadata("thread_name", places_[number], "name", lane.name);
  return number;
}

RankTraceText::Place RankTraceText::NewPlace(LaneKind kind) {
  const Place& training = places_.front();
  if (processes_ == TraceProcesses::kRank)
    return {training.process, training.thread + static_cast<uint32_t>(places_.size()), {}};
  if (kind == LaneKind::kDeviceStream) return {Device(), kFirstStream + streams_++, {}};
  return {identity_.pid, identity_.pid + ++threads_, {}};
}

uint32_t RankTraceText::NewTrack(std::string_view name, int64_t sort_index) {
  places_.push_back(NewPlace(LaneKind::kHostThread));
  WriteMetadata("thread_name", places_.back(), "name", name);
  WriteSortIndex("thread_sort_index", places_.back(), sort_index);
  return static_cast<uint32_t>(places_.size() - 1);
}

// By start time; of those that start together, callers before what they call.
void RankTraceText::AddIntervals(const EventBatch& batch) {
  const IntervalColumns& columns = batch.intervals;
  collective_of_.assign(columns.size(), nullptr);
  for (const Collective& collective : batch.collectives)
    collective_of_[collective.interval] = &collective;
  order_.resize(columns.size());
  for (uint32_t i = 0; i < order_.size(); ++i) order_[i] = i;
  const auto key = [&](uint32_t i) {
    return std::tuple(columns.start_ns[i], -columns.duration_ns[i],
                      rows_[columns.function[i]].depth);
  };
  std::stable_sort(order_.begin(), order_.end(),
                   [&](uint32_t x, uint32_t y) { return key(x) < key(y); });
  for (const uint32_t i : order_) {
    latest_ns_ = std::max(latest_ns_, columns.start_ns[i] + columns.duration_ns[i]);
    if (batch.functions[columns.function[i]].function_class == FunctionClass::kPython) {
      AddFrame(batch, i);
    } else {
      AddInterval(batch, i);
    }
  }
}

void RankTraceText::AddInterval(const EventBatch& batch, size_t index) {
  const IntervalColumns& columns = batch.intervals;
  const FunctionDef& function = batch.functions[columns.function[index]];
  const LaneKind lane = batch.lanes[columns.lane[index]].kind;
  const Place& place = places_[place_of_lane_[columns.lane[index]]];
  const Collective* collective = collective_of_[index];
  const std::string& name = rows_[columns.function[index]].name;
  const bool on_host = processes_ == TraceProcesses::kRank && lane != LaneKind::kDeviceStream &&
                       function.function_class == FunctionClass::kCollective;
  BeginEvent(CategoryOf(function, lane), on_host ? HostCollectiveName(function, name) : name, place,
             columns.start_ns[index], columns.duration_ns[index]);
  text_ += ",\"args\":{";
  if (lane == LaneKind::kDeviceStream) {
    fmt::format_to(std::back_inserter(text_), "\"device\":{},\"stream\":{}{}", Device(),
                   place.thread, collective == nullptr ? "" : ",");
  }
  if (collective != nullptr)
    AppendCollectiveArgs(batch.communicators[collective->communicator], *collective, identity_.rank,
                         &text_);
  text_ += "}}";
}

void RankTraceText::AddFrame(const EventBatch& batch, size_t index) {
  const IntervalColumns& columns = batch.intervals;
  Place& place = places_[place_of_lane_[columns.lane[index]]];
  const int64_t start_ns = columns.start_ns[index];
  const int64_t duration_ns = columns.duration_ns[index];
  place.frames.LeaveUntil(start_ns);
  // The callers up to the one that is open; those between have no interval of their own.
  uint32_t parent_id = 0;
  chain_.clear();
  for (uint32_t row = columns.function[index]; row != kNoParent;
       row = batch.functions[row].parent) {
    const OpenFrame* open = chain_.empty() ? nullptr : place.frames.Find(rows_[row].id);
    if (open != nullptr) {
      parent_id = open->id;
      break;
    }
    chain_.push_back(row);
  }
  for (auto row = chain_.rbegin(); row != chain_.rend(); ++row) {
    WriteFrame(rows_[*row], parent_id, place, start_ns, duration_ns);
    parent_id = frames_;
  }
}

void RankTraceText::WriteFrame(const Row& row, uint32_t parent_id, Place& place, int64_t start_ns,
                               int64_t duration_ns) {
  BeginEvent("python_function", row.name, place, start_ns, duration_ns);
  fmt::format_to(std::back_inserter(text_),
                 ",\"args\":{{\"Python id\":{},\"Python parent id\":", ++frames_);
  if (parent_id == 0) {
    text_ += "null}}";
  } else {
    fmt::format_to(std::back_inserter(text_), "{}}}}}", parent_id);
  }
  place.frames.Enter({row.id, start_ns + duration_ns, frames_});
}

void RankTraceText::AddMark(const Mark& mark) {
  latest_ns_ = std::max(latest_ns_, mark.time_ns);
  switch (mark.kind) {
    case MarkKind::kStepBegin:
      if (step_) WriteStep(mark.time_ns);
      step_ = OpenStep{mark.id, mark.time_ns};
      break;
    case MarkKind::kStepEnd:
      if (step_ && step_->id == mark.id) WriteStep(mark.time_ns);
      break;
    case MarkKind::kDataloaderNext:
      WriteAnnotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                      places_.front(), mark.time_ns, 0);
      break;
    case MarkKind::kOptimizerStep:
      WriteAnnotation("Optimizer.step#Adam.step", places_.front(), mark.time_ns, 0);
      break;
    default: break;  // a trace has no such marks
  }
}

// A step begins within a frame that ends before it, and Perfetto leaves out what overlaps so.
void RankTraceText::WriteStep(int64_t end_ns) {
  const bool has_track = processes_ == TraceProcesses::kRank;
  if (has_track && !steps_) steps_ = NewTrack("steps", kStepsBelowThem);
  WriteAnnotation(fmt::format("ProfilerStep#{}", step_->id),
                  has_track ? places_[*steps_] : places_.front(), step_->begin_ns,
                  std::max<int64_t>(0, end_ns - step_->begin_ns));
  step_.reset();
}

void RankTraceText::WriteAnnotation(std::string_view name, const Place& place, int64_t start_ns,
                                    int64_t duration_ns) {
  BeginEvent("user_annotation", fmt::format("\"{}\"", name), place, start_ns, duration_ns);
  text_ += "}";
}

// All but the args and the closing brace.
void RankTraceText::BeginEvent(const char* category, std::string_view name_json, const Place& place,
                               int64_t start_ns, int64_t duration_ns) {
  fmt::format_to(std::back_inserter(text_),
                 ",\n{{\"ph\":\"X\",\"cat\":\"{}\",\"name\":{},\"pid\":{},\"tid\":{},\"ts\":",
                 category, name_json, place.process, place.thread);
  AppendMicroseconds(start_ns - base_ns_, &text_);
  text_ += ",\"dur\":";
  AppendMicroseconds(duration_ns, &text_);
}

void RankTraceText::WriteMetadata(const char* name, const Place& place, const char* key,
                                  std::string_view value) {
  fmt::format_to(std::back_inserter(text_),
                 ",\n{{\"ph\":\"M\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":0,"
                 "\"args\":{{\"{}\":",
                 name, place.process, place.thread, key);
  AppendJsonString(value, &text_);
  text_ += "}}";
}

void RankTraceText::WriteSortIndex(const char* name, const Place& place, int64_t index) {
  fmt::format_to(std::back_inserter(text_),
                 ",\n{{\"ph\":\"M\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":0,"
                 "\"args\":{{\"sort_index\":{}}}}}",
                 name, place.process, place.thread, index);
}

void RankTraceText::AppendDistributedInfo(std::string* json) const {
  fmt::format_to(std::back_inserter(*json),
                 "\"distributedInfo\":{{\"backend\":\"nccl\",\"rank\":{},\"world_size\":{},\"pg_"
                 "count\":{},\"pg_config\":[",
                 identity_.rank.value, identity_.world_size, groups_.size());
  const char* separator = "";
  for (const auto& [id, group] : groups_) {
    *json += separator;
    AppendProcessGroup(group, json);
    separator = ",";
  }
  *json += "]}";
}

}  // namespace eroica
