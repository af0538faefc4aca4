#include "producers/import/chrome_trace_importer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "producers/import/json_members.h"

namespace eroica {
namespace {

constexpr size_t kMaxLanes = 256;  // the codec's limit; the last one takes what comes after
constexpr size_t kMaxNameCacheBytes = size_t{32} << 20;
constexpr uint64_t kProgressEvents = 4'096;

uint64_t ParseUnsigned(std::string_view text) {
  text = Unquoted(text);
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Phases of the Trace Event Format that say how long something took and that no thread spends:
// asynchronous events, old (S, T, p, F) and new (b, n, e).
bool IsDurationPhase(char phase) {
  return std::string_view("STpFbne").find(phase) != std::string_view::npos;
}

// The frame that every Python thread but the main one starts with.
bool IsThreadStart(std::string_view name) { return name.ends_with(": _bootstrap"); }

}  // namespace

ChromeTraceImporter::ChromeTraceImporter(TraceFunctions& functions, RankTrace& trace,
                                         FileReport& report, bool python_stacks)
    : functions_(functions), trace_(trace), report_(report), python_stacks_(python_stacks) {}

absl::Status ChromeTraceImporter::Import(ByteSource& source,
                                         const std::function<void(uint64_t)>& progress) {
  JsonEventSplitter splitter(source);
  ImportCounts& counts = report_.counts;
  JsonEventSplitter::Item item = splitter.Next();
  for (; item != JsonEventSplitter::Item::kEnd; item = splitter.Next()) {
    if (item == JsonEventSplitter::Item::kMetadata) {
      ReadMetadata(splitter.key(), splitter.value());
      continue;
    }
    ++counts.events;
    if (absl::Status status = ImportEvent(splitter.value()); !status.ok()) return status;
    if (counts.events % kProgressEvents == 0) progress(source.file_bytes_read());
  }
  if (absl::Status status = EndOpenIntervals(); !status.ok()) return status;
  counts.file_bytes = source.file_bytes_read();
  counts.content_bytes = splitter.bytes();
  if (splitter.ended_inside_event()) {
    ++counts.events;
    Skip(DropReason::kTruncatedInput);
  }
  if (splitter.outcome() == JsonEventSplitter::Outcome::kNoTrace ||
      (counts.events == 0 && !splitter.has_events())) {
    report_.refused = true;
    report_.warnings.push_back(fmt::format(
        "not a trace: {}; give Chrome traces (.json, .json.gz) as torch.profiler writes them",
        splitter.complaint()));
  } else if (splitter.outcome() == JsonEventSplitter::Outcome::kTruncated) {
    report_.warnings.push_back(fmt::format(
        "the file is incomplete: {}; the {} events before that were read, what followed is lost",
        splitter.complaint(), counts.events - (splitter.ended_inside_event() ? 1 : 0)));
  }
  CloseAnnotations();
  RefuseSeveralRanks();
  RefuseWhatIsOfNoUse();
  ChooseTrainingThread();
  pauses_.AppendTo(&trace_);
  trace_.events = counts.imported;
  progress(source.file_bytes_read());
  return absl::OkStatus();
}

void ChromeTraceImporter::ReadMetadata(std::string_view key, std::string_view value) {
  if (key == "baseTimeNanoseconds") {
    trace_.base_time_ns =
        static_cast<int64_t>(std::min<uint64_t>(ParseUnsigned(value), kTraceTimeMaxNs));
  } else if (key == "host_name") {
    trace_.host = DecodeJsonString(Unquoted(value));
  } else if (key == "distributedInfo") {
    ReadDistributedInfo(value);
  }
}

void ChromeTraceImporter::ReadDistributedInfo(std::string_view value) {
  simdjson::dom::parser parser;
  simdjson::dom::element info;
  if (parser.parse(value.data(), value.size(), true).get(info) != simdjson::SUCCESS) {
    report_.warnings.push_back(
        "distributedInfo is not valid JSON: rank and world size are not taken from it");
    return;
  }
  int64_t number = 0;
  if (info["rank"].get(number) == simdjson::SUCCESS) trace_.rank = number;
  if (info["world_size"].get(number) == simdjson::SUCCESS) trace_.world_size = number;
  simdjson::dom::array groups;
  if (info["pg_config"].get(groups) != simdjson::SUCCESS) return;
  for (const simdjson::dom::element element : groups) {
    ProcessGroup group;
    std::string_view text;
    if (element["pg_name"].get(text) == simdjson::SUCCESS) group.name = text;
    if (element["pg_desc"].get(text) == simdjson::SUCCESS) group.description = text;
    if (element["pg_size"].get(number) == simdjson::SUCCESS) group.size = SizeOrUnknown(number);
    simdjson::dom::array ranks;
    if (element["ranks"].get(ranks) == simdjson::SUCCESS) {
      std::vector<int64_t> stated;
      for (const simdjson::dom::element rank : ranks)
        stated.push_back(rank.get(number) == simdjson::SUCCESS ? number : -1);
      TakeMembers(MemberList::Of(stated), &group);
    }
    trace_.GroupIndex(group);
  }
}

absl::Status ChromeTraceImporter::ImportEvent(std::string_view text) {
  ChromeEvent event;
  if (!ParseChromeEvent(text, &event) || event.phase == 0) {
    Skip(DropReason::kMalformedEvent);
    return absl::OkStatus();
  }
  weight_ = 1;
  switch (event.phase) {
    case 'X': return ImportInterval(event);
    case 'B':
      if (!pairs_.Begin(event)) Skip(DropReason::kUnpairedDuration);
      return absl::OkStatus();
    case 'E': return EndInterval(event);
    case 'M':
      ReadThreadName(event);
      processes_.Read(event);
      Skip(DropReason::kUnknownPhase);
      return absl::OkStatus();
    default:
      Skip(IsDurationPhase(event.phase) ? DropReason::kUnpairedDuration
                                        : DropReason::kUnknownPhase);
      return absl::OkStatus();
  }
}

absl::Status ChromeTraceImporter::EndInterval(const ChromeEvent& event) {
  absl::Status status;
  weight_ = 2;
  const bool paired =
      pairs_.End(event, [&](const ChromeEvent& interval) { status = ImportInterval(interval); });
  weight_ = 1;
  if (!paired) Skip(DropReason::kUnpairedDuration);
  return status;
}

// What the file does not end lasts to its end, as viewers of traces show it.
absl::Status ChromeTraceImporter::EndOpenIntervals() {
  absl::Status status;
  uint64_t open = 0;
  pairs_.EndAll(trace_.end_ns, [&](const ChromeEvent& interval) {
    ++open;
    if (status.ok()) status = ImportInterval(interval);
  });
  if (open > 0) {
    report_.warnings.push_back(
        fmt::format("{} events begin in it (phase B) and do not end: they count as lasting to its "
                    "last event",
                    open));
  }
  return status;
}

absl::Status ChromeTraceImporter::ImportInterval(const ChromeEvent& event) {
  const bool timed = event.has_start && event.has_duration && !event.bad_time &&
                     event.start_ns >= 0 && event.duration_ns >= 0 &&
                     event.duration_ns <= kTraceTimeMaxNs - event.start_ns;
  if (timed) trace_.end_ns = std::max(trace_.end_ns, event.start_ns + event.duration_ns);
  const TraceCategory category = CategoryOf(event);
  if (category == TraceCategory::kUnwanted ||
      (category == TraceCategory::kPython && !python_stacks_)) {
    Skip(DropReason::kUnwantedCategory);
  } else if (!event.has_start || !event.has_duration || event.name.empty()) {
    Skip(DropReason::kMalformedEvent);
  } else if (event.bad_time || event.start_ns < 0) {
    Skip(DropReason::kTimeOutOfRange);
  } else if (event.duration_ns < 0) {
    Skip(DropReason::kNegativeDuration);
  } else if (event.duration_ns > kTraceTimeMaxNs - event.start_ns) {
    Skip(DropReason::kTimeOutOfRange);
  } else {
    const bool device = category == TraceCategory::kKernel || category == TraceCategory::kGpuMemory;
    const uint8_t lane = LaneOf(event, device);
    return AddInterval(event, Lookup(category, event.name), lane);
  }
  return absl::OkStatus();
}

absl::Status ChromeTraceImporter::Store(const ChromeEvent& event, IntervalRecord record) {
  record.start_ns = event.start_ns;
  record.duration_ns = event.duration_ns;
  if (event.start_ns % 1000 != 0 || event.duration_ns % 1000 != 0)
    trace_.whole_microseconds = false;
  CountImported();
  return trace_.intervals.Add(record);
}

absl::Status ChromeTraceImporter::AddInterval(const ChromeEvent& event, const NamedEvent& named,
                                              uint8_t lane) {
  using Use = NamedEvent::Use;
  const CollectiveCalls::Span span{event.start_ns, event.start_ns + event.duration_ns, lane};
  IntervalRecord record{.function = named.function, .lane = lane};
  lanes_[lane].enqueues |= named.use == Use::kEnqueue || named.use == Use::kLaunch;
  switch (named.use) {
    case Use::kFunction: break;
    case Use::kEnqueue:
      calls_.AddEnqueue(span, named.operation, ParseCollectiveArgs(event.args));
      break;
    case Use::kRecord: calls_.AddRecord(span, ParseCollectiveArgs(event.args)); break;
    case Use::kLaunch:
      VisitJsonMembers(event.args, [&](std::string_view key, std::string_view value) {
        if (key == "correlation") calls_.AddLaunch(span, ParseUnsigned(value));
      });
      break;
    case Use::kKernel:
      trace_.has_device_events = true;
      if (trace_.device < 0) ReadDevice(event.args);
      break;
    case Use::kCollectiveKernel:
      trace_.has_device_events = true;
      lanes_[lane].hccl |= event.name.starts_with("hcom_");
      record.kind = IntervalKind::kCollective;
      record.a =
          calls_.AddKernel(span, named.operation, named.library, ParseCollectiveArgs(event.args));
      break;
    case Use::kPython: return AddFrame(event, named, lane);
    default: return AddAnnotation(event, named, lane);
  }
  return Store(event, record);
}

absl::Status ChromeTraceImporter::AddFrame(const ChromeEvent& event, const NamedEvent& named,
                                           uint8_t lane) {
  IntervalRecord record{.function = named.function, .kind = IntervalKind::kPython, .lane = lane};
  VisitJsonMembers(event.args, [&](std::string_view key, std::string_view value) {
    if (key == "Python id") record.a = static_cast<uint32_t>(ParseUnsigned(value));
    if (key == "Python parent id") record.b = static_cast<uint32_t>(ParseUnsigned(value));
  });
  trace_.has_python_frames = true;
  if (named.pause != Pause::kNone)
    pauses_.Add(event.start_ns, event.start_ns + event.duration_ns, lane, named.pause);
  LaneState& state = lanes_[lane];
  if (state.frames++ == 0) state.background = IsThreadStart(functions_.name(named.function));
  return Store(event, record);
}

absl::Status ChromeTraceImporter::AddAnnotation(const ChromeEvent& event, const NamedEvent& named,
                                                uint8_t lane) {
  using Use = NamedEvent::Use;
  const CollectiveCalls::Span span{event.start_ns, event.start_ns + event.duration_ns, lane};
  switch (named.use) {
    case Use::kStep:
      ++lanes_[lane].steps;
      // Older versions mark a step in two categories.
      if (!steps_.insert(named.step).second) {
        Skip(DropReason::kUnwantedCategory);
        return absl::OkStatus();
      }
      trace_.marks.push_back({span.start_ns, MarkKind::kStepBegin, named.step});
      trace_.marks.push_back({span.end_ns, MarkKind::kStepEnd, named.step});
      if (span.start_ns % 1000 != 0 || span.end_ns % 1000 != 0) trace_.whole_microseconds = false;
      CountImported();
      return absl::OkStatus();
    case Use::kExecution: {
      IntervalRecord record{
          .function = named.function, .kind = IntervalKind::kCollective, .lane = lane};
      record.a = calls_.AddExecution(span, named.operation, named.library,
                                     ParseCollectiveArgs(event.args));
      return Store(event, record);
    }
    case Use::kEnqueueAnnotation:
      calls_.AddAnnotation(span, named.operation, named.peer, ParseCollectiveArgs(event.args));
      Skip(DropReason::kUnwantedCategory);
      return absl::OkStatus();
    default: break;
  }
  if (named.optimizer) trace_.marks.push_back({span.start_ns, MarkKind::kOptimizerStep, 0});
  if (named.dataloader) trace_.marks.push_back({span.start_ns, MarkKind::kDataloaderNext, 0});
  if (!named.optimizer && !named.dataloader) annotations_ += weight_;
  return Store(event,
               {.function = named.function, .kind = IntervalKind::kAnnotation, .lane = lane});
}

void ChromeTraceImporter::ReadThreadName(const ChromeEvent& event) {
  if (event.name != "thread_name") return;
  VisitJsonMembers(event.args, [&](std::string_view key, std::string_view value) {
    if (key != "name") return;
    std::string name = DecodeJsonString(Unquoted(value));
    while (!name.empty() && name.back() == ' ') name.pop_back();
    if (thread_names_.size() < 65'536)
      thread_names_.insert_or_assign(fmt::format("{}/{}", event.pid, event.tid), std::move(name));
  });
}

void ChromeTraceImporter::ReadDevice(std::string_view args) {
  VisitJsonMembers(args, [this](std::string_view key, std::string_view value) {
    if (key == "device")
      trace_.device = static_cast<int32_t>(std::min<uint64_t>(ParseUnsigned(value), 1 << 20));
  });
}

TraceCategory ChromeTraceImporter::CategoryOf(const ChromeEvent& event) {
  if (event.category != last_category_) {
    last_category_.assign(event.category);
    last_category_value_ = ParseCategory(event.category);
  }
  if (last_category_value_ == TraceCategory::kUnknown) return processes_.CategoryOf(event);
  return last_category_value_;
}

const NamedEvent& ChromeTraceImporter::Lookup(TraceCategory category, std::string_view raw_name) {
  lookup_key_.assign(1, static_cast<char>('0' + static_cast<int>(category)));
  lookup_key_.append(raw_name);
  const auto found = names_.find(lookup_key_);
  if (found != names_.end()) return found->second;
  // Addresses inside names make them countless: the cache starts anew now and then, the table
  // behind it does not grow by them.
  if (name_bytes_ > kMaxNameCacheBytes) {
    names_.clear();
    name_bytes_ = 0;
  }
  name_bytes_ += lookup_key_.size() + 96;
  return names_
      .emplace(lookup_key_, NamedEvent::Of(category, DecodeJsonString(raw_name), functions_))
      .first->second;
}

uint8_t ChromeTraceImporter::LaneOf(const ChromeEvent& event, bool device) {
  lane_key_.assign(event.pid);
  lane_key_.push_back('/');
  lane_key_.append(event.tid);
  if (lane_key_ != last_lane_key_ || lanes_.empty()) {
    const auto found = lane_index_.find(lane_key_);
    last_lane_ = found != lane_index_.end() ? found->second : AddLane(event, device);
    last_lane_key_ = lane_key_;
  }
  ++lanes_[last_lane_].events;
  return last_lane_;
}

// CANN's calls lie in a process of their own, with the thread numbers of the host's process: such a
// call belongs to the lane of the thread that has its number.
uint8_t ChromeTraceImporter::AddLane(const ChromeEvent& event, bool device) {
  const bool of_cann = IsCannCall(event.name);
  const auto known = device ? thread_lanes_.end() : thread_lanes_.find(std::string(event.tid));
  if (known != thread_lanes_.end() && (of_cann || lanes_[known->second].pid.empty())) {
    LaneState& lane = lanes_[known->second];
    if (!of_cann) {
      lane.name = lane_key_;
      lane.pid = std::string(event.pid);
      lane.is_process = event.pid == event.tid;
    }
    lane_index_.emplace(lane_key_, known->second);
    return known->second;
  }
  if (lanes_.size() + 1 >= kMaxLanes) {
    if (lanes_.size() < kMaxLanes) lanes_.push_back({.name = "other"});
    return kMaxLanes - 1;
  }
  const auto lane = static_cast<uint8_t>(lanes_.size());
  lane_index_.emplace(lane_key_, lane);
  if (!device) thread_lanes_.try_emplace(std::string(event.tid), lane);
  lanes_.push_back({.name = lane_key_,
                    .device = device,
                    .is_process = !of_cann && event.pid == event.tid,
                    .pid = of_cann ? std::string() : std::string(event.pid)});
  if (!device && !of_cann && trace_.pid == 0)
    trace_.pid = static_cast<uint32_t>(ParseUnsigned(event.pid));
  return lane;
}

// The thread that ran the steps; without steps the one whose Python code did not start as a thread;
// without Python the process's first, or busiest.
void ChromeTraceImporter::ChooseTrainingThread() {
  const LaneState* best = nullptr;
  const auto rank_of = [](const LaneState& lane) {
    const bool ran_steps = lane.steps > 0 && lane.events > lane.steps;
    return std::tuple(ran_steps, lane.frames > 0 && !lane.background, lane.is_process, lane.frames,
                      lane.events);
  };
  for (const LaneState& lane : lanes_) {
    if (!lane.device && (best == nullptr || rank_of(lane) > rank_of(*best))) best = &lane;
  }
  trace_.several_unnamed_groups = std::ranges::count(lanes_, true, &LaneState::hccl) > 1;
  trace_.lanes.clear();
  for (const LaneState& lane : lanes_) {
    const auto name = thread_names_.find(lane.name);
    const LaneKind kind = lane.device     ? LaneKind::kDeviceStream
                          : &lane == best ? LaneKind::kTrainingThread
                                          : LaneKind::kHostThread;
    trace_.lanes.push_back({name != thread_names_.end() ? name->second : lane.name, kind});
  }
}

// A rank is one process. Merged into one file, the kernels of several no longer say which process
// launched them: correlation ids and numbers of devices are those of each process.
void ChromeTraceImporter::RefuseSeveralRanks() {
  std::set<std::string> processes;
  for (const LaneState& lane : lanes_) {
    const bool runs_steps = lane.steps > 0 && lane.events > lane.steps;
    if (!lane.device && !lane.pid.empty() && (runs_steps || lane.enqueues))
      processes.insert(lane.pid);
  }
  if (processes.size() < 2) return;
  constexpr ptrdiff_t kNamed = 8;
  const std::vector<std::string> named(
      processes.begin(), std::next(processes.begin(), std::min(kNamed, std::ssize(processes))));
  report_.refused = true;
  report_.counts.skipped.Add(DropReason::kConflictingRank,
                             std::exchange(report_.counts.imported, 0));
  report_.warnings.push_back(fmt::format(
      "it holds {} processes that train (process ids {}{}): the traces of several ranks, merged "
      "into one file that no longer says which kernel is of which rank; give the files from before "
      "the merge, one a rank (rank0.json, rank1.json)",
      processes.size(), fmt::join(named, ", "), processes.size() > kNamed ? ", ..." : ""));
}

// Refuses a file that holds nothing which is used, and says what to record instead.
void ChromeTraceImporter::RefuseWhatIsOfNoUse() {
  if (report_.refused) return;
  if (processes_.of_xla()) {
    report_.refused = true;
    report_.counts.skipped.Add(DropReason::kUnwantedCategory,
                               std::exchange(report_.counts.imported, 0));
    report_.warnings.push_back(
        "it is a trace of XLA's profiler (JAX, TensorFlow), which is not read yet: run the job "
        "under `eroica run` and call eroica.step() after each training step and "
        "eroica.collective() around the calls that wait for other processes, or give the traces "
        "of torch.profiler");
    return;
  }
  if (report_.counts.imported > 0) return;
  report_.refused = true;
  report_.is_trace = true;
  report_.warnings.push_back(fmt::format(
      "none of its {} events is an interval of a host's thread or of a device (phases X, or B and "
      "E): record with torch.profiler's ProfilerActivity.CPU and ProfilerActivity.CUDA and write "
      "it with export_chrome_trace()",
      report_.counts.events));
}

// Only now is it known whether Python frames tell the same as the annotations.
void ChromeTraceImporter::CloseAnnotations() {
  if (!trace_.has_python_frames) return;
  report_.counts.imported -= annotations_;
  report_.counts.skipped.Add(DropReason::kUnwantedCategory, annotations_);
}

void ChromeTraceImporter::Finish(FlightRecorderDump dump) {
  calls_.Finish(std::move(dump), &trace_);
}

}  // namespace eroica
