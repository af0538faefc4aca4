#include "producers/export/rank_trace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <tuple>

#include "producers/export/collective_names.h"
#include "producers/export/json_text.h"
#include "schemas/check.h"

namespace eroica {
namespace {

constexpr size_t kWorthAWrite = size_t{16} << 10;
// Times are relative to a moment this much before the first batch: batches may be a little out of
// order, and a trace has no time before its base.
constexpr int64_t kBeforeFirstNs = int64_t{60} * 1'000'000'000;
constexpr uint32_t kFirstStream = 7;  // as PyTorch's compute stream is called, usually

// Nothing where the batch tells of no moment.
std::optional<int64_t> FirstTimeNs(const EventBatch& batch) {
  std::optional<int64_t> first;
  if (batch.intervals.size() > 0) first = batch.intervals.start_ns.front();
  if (!batch.marks.empty())
    first = std::min(first.value_or(batch.marks.front().time_ns), batch.marks.front().time_ns);
  return first;
}

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

}  // namespace

absl::Status RankTraceFile::Add(const EventBatch& batch) {
  EROICA_CHECK(!finished_);
  const std::optional<int64_t> first_ns = FirstTimeNs(batch);
  if (places_.empty()) Begin(batch.identity, first_ns.value_or(0));
  if (first_ns && *first_ns < base_ns_) {
    return absl::InvalidArgumentError(
        fmt::format("batch {} of rank {} lies more than a minute before the first one",
                    batch.sequence, identity_.rank.value));
  }
  ReadTables(batch);
  AddIntervals(batch);
  for (const Mark& mark : batch.marks) AddMark(mark);
  return text_.size() < kWorthAWrite ? absl::OkStatus() : Flush();
}

absl::Status RankTraceFile::Finish() {
  EROICA_CHECK(!finished_);
  finished_ = true;
  if (step_) WriteStep(latest_ns_);
  text_ += "\n],\n";
  WriteDistributedInfo();
  text_ += "\n}\n";
  return Flush();
}

void RankTraceFile::Begin(const ProducerIdentity& identity, int64_t first_ns) {
  identity_ = identity;
  base_ns_ = std::max<int64_t>(0, first_ns - kBeforeFirstNs);
  text_ += "{\"schemaVersion\":1,\"host_name\":";
  AppendJsonString(identity.host, &text_);
  fmt::format_to(std::back_inserter(text_),
                 ",\"baseTimeNanoseconds\":{},\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n",
                 base_ns_);
  // The training thread's id is that of the process.
  places_.push_back({identity.pid, identity.pid, {}});
  WriteMetadata("process_labels", places_.front(), "labels", "CPU", true);
  WriteMetadata("process_labels", {Device(), 0, {}}, "labels", fmt::format("GPU {}", Device()),
                false);
}

void RankTraceFile::ReadTables(const EventBatch& batch) {
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
  for (const Communicator& communicator : batch.communicators)
    groups_.try_emplace(communicator.id, communicator);
}

uint32_t RankTraceFile::PlaceOf(const Lane& lane) {
  const auto known = std::find_if(lanes_.begin(), lanes_.end(),
                                  [&](const auto& entry) { return entry.first == lane; });
  if (known != lanes_.end()) return known->second;
  uint32_t number = 0;
  if (lane.kind != LaneKind::kTrainingThread) {
    number = static_cast<uint32_t>(places_.size());
    const bool device = lane.kind == LaneKind::kDeviceStream;
    places_.push_back(device ? Place{Device(), kFirstStream + streams_++, {}}
                             : Place{identity_.pid, identity_.pid + ++threads_, {}});
  }
  lanes_.emplace_back(lane, number);
  WriteMetadata("thread_name", places_[number], "name", lane.name, false);
  return number;
}

// By start time; of those that start together, callers before what they call.
void RankTraceFile::AddIntervals(const EventBatch& batch) {
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

void RankTraceFile::AddInterval(const EventBatch& batch, size_t index) {
  const IntervalColumns& columns = batch.intervals;
  const FunctionDef& function = batch.functions[columns.function[index]];
  const LaneKind lane = batch.lanes[columns.lane[index]].kind;
  const Place& place = places_[place_of_lane_[columns.lane[index]]];
  const Collective* collective = collective_of_[index];
  BeginEvent(CategoryOf(function, lane), rows_[columns.function[index]].name, place,
             columns.start_ns[index], columns.duration_ns[index]);
  text_ += ",\"args\":{";
  if (lane == LaneKind::kDeviceStream) {
    fmt::format_to(std::back_inserter(text_), "\"device\":{},\"stream\":{}{}", place.process,
                   place.thread, collective == nullptr ? "" : ",");
  }
  if (collective != nullptr)
    AppendCollectiveArgs(batch.communicators[collective->communicator], *collective, identity_.rank,
                         &text_);
  text_ += "}}";
}

void RankTraceFile::AddFrame(const EventBatch& batch, size_t index) {
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

void RankTraceFile::WriteFrame(const Row& row, uint32_t parent_id, Place& place, int64_t start_ns,
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

void RankTraceFile::AddMark(const Mark& mark) {
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
      WriteAnnotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", mark.time_ns,
                      0);
      break;
    case MarkKind::kOptimizerStep:
      WriteAnnotation("Optimizer.step#Adam.step", mark.time_ns, 0);
      break;
    default: break;  // a trace has no such marks
  }
}

void RankTraceFile::WriteStep(int64_t end_ns) {
  WriteAnnotation(fmt::format("ProfilerStep#{}", step_->id), step_->begin_ns,
                  std::max<int64_t>(0, end_ns - step_->begin_ns));
  step_.reset();
}

void RankTraceFile::WriteAnnotation(std::string_view name, int64_t start_ns, int64_t duration_ns) {
  BeginEvent("user_annotation", fmt::format("\"{}\"", name), places_.front(), start_ns,
             duration_ns);
  text_ += "}";
}

// All but the args and the closing brace.
void RankTraceFile::BeginEvent(const char* category, std::string_view name_json, const Place& place,
                               int64_t start_ns, int64_t duration_ns) {
  fmt::format_to(std::back_inserter(text_),
                 ",\n{{\"ph\":\"X\",\"cat\":\"{}\",\"name\":{},\"pid\":{},\"tid\":{},\"ts\":",
                 category, name_json, place.process, place.thread);
  AppendMicroseconds(start_ns - base_ns_, &text_);
  text_ += ",\"dur\":";
  AppendMicroseconds(duration_ns, &text_);
}

void RankTraceFile::WriteMetadata(const char* name, const Place& place, const char* key,
                                  std::string_view value, bool first) {
  fmt::format_to(
      std::back_inserter(text_),
      "{}{{\"ph\":\"M\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":0,\"args\":{{\"{}\":",
      first ? "" : ",\n", name, place.process, place.thread, key);
  AppendJsonString(value, &text_);
  text_ += "}}";
}

void RankTraceFile::WriteDistributedInfo() {
  fmt::format_to(std::back_inserter(text_),
                 "\"distributedInfo\":{{\"backend\":\"nccl\",\"rank\":{},\"world_size\":{},\"pg_"
                 "count\":{},\"pg_config\":[",
                 identity_.rank.value, identity_.world_size, groups_.size());
  const char* separator = "";
  for (const auto& [id, group] : groups_) {
    text_ += separator;
    AppendProcessGroup(group, &text_);
    separator = ",";
  }
  text_ += "]}";
}

absl::Status RankTraceFile::Flush() {
  const auto close = [](std::FILE* file) { std::fclose(file); };
  std::unique_ptr<std::FILE, decltype(close)> file(
      std::fopen(path_.c_str(), created_ ? "ab" : "wb"), close);
  const bool written =
      file != nullptr && std::fwrite(text_.data(), 1, text_.size(), file.get()) == text_.size();
  if (!written || std::fclose(file.release()) != 0) {
    return absl::UnavailableError(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
  }
  created_ = true;
  text_.clear();
  return absl::OkStatus();
}

}  // namespace eroica
