#include "producers/import/operation_csv_importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "producers/import/chrome_event.h"
#include "producers/import/function_classifier.h"

namespace eroica {
namespace {

constexpr size_t kMaxLineBytes = size_t{64} << 10;
constexpr size_t kMaxColumns = 64;
constexpr int64_t kGapBetweenStepsNs = 1'000'000;
constexpr int64_t kLatestBaseNs = int64_t{1} << 60;
constexpr uint32_t kRanksOfFile = 1u << 20;

enum CsvLane : uint8_t { kComputeLane, kForwardLane, kBackwardLane, kCollectiveLane, kHostLane };

// The fields of a line; the format has no quotes.
size_t SplitLine(std::string_view line, std::array<std::string_view, kMaxColumns>* fields) {
  size_t count = 0;
  while (count < kMaxColumns) {
    const size_t comma = line.find(',');
    (*fields)[count++] = line.substr(0, comma);
    if (comma == std::string_view::npos) return count;
    line.remove_prefix(comma + 1);
  }
  return kMaxColumns + 1;
}

template <typename Number>
bool ParseNumber(std::string_view text, Number* number) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && rest == text.data() + text.size();
}

}  // namespace

template <typename Visit>
absl::Status OperationCsvImporter::ForEachLine(ByteSource& source, Visit&& visit) {
  std::string buffer;
  uint64_t content = 0;
  size_t begin = 0;
  bool more = true;
  while (more) {
    buffer.erase(0, begin);
    begin = 0;
    const size_t size = buffer.size();
    buffer.resize(size + (size_t{256} << 10));
    const size_t read = source.Read(buffer.data() + size, buffer.size() - size);
    buffer.resize(size + read);
    content += read;
    more = read > 0;
    for (size_t end = buffer.find('\n', begin); end != std::string::npos;
         end = buffer.find('\n', begin)) {
      std::string_view line(buffer.data() + begin, end - begin);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      begin = end + 1;
      if (!line.empty()) {
        if (absl::Status status = visit(line, true); !status.ok()) return status;
      }
    }
    if (buffer.size() - begin > kMaxLineBytes) {
      if (absl::Status status = visit(std::string_view(), true); !status.ok()) return status;
      begin = buffer.size();
    }
  }
  report_.counts.content_bytes = content;
  report_.counts.file_bytes = source.file_bytes_read();
  if (begin == buffer.size()) return absl::OkStatus();
  return visit(std::string_view(buffer.data() + begin, buffer.size() - begin),
               source.damage().empty());
}

absl::Status OperationCsvImporter::Import(const Opener& open,
                                          const std::function<void(uint64_t)>& progress,
                                          std::vector<std::unique_ptr<RankTrace>>* traces) {
  absl::StatusOr<std::unique_ptr<ByteSource>> source = open();
  if (!source.ok()) return source.status();
  bool header = true;
  absl::Status status = ForEachLine(**source, [&](std::string_view line, bool whole) {
    if (header) {
      header = false;
      report_.refused = !ReadHeader(line);
    } else if (Row row; whole && !report_.refused && ReadRow(line, &row) == DropReason::kNone) {
      Measure(row);
    }
    return absl::OkStatus();
  });
  if (header || report_.refused || places_.empty()) {
    report_.refused = true;
    report_.warnings.push_back(
        "not an operation CSV: it needs the columns dp_rank, stage, rank, step, optype, start_ts, "
        "duration and at least one row");
    return absl::OkStatus();
  }
  LayOutSteps();
  MakeTraces();
  source = open();
  if (!source.ok()) return source.status();
  header = true;
  status = ForEachLine(**source, [&](std::string_view line, bool whole) {
    if (std::exchange(header, false)) return absl::OkStatus();
    ++report_.counts.events;
    Row row;
    const DropReason reason = whole ? ReadRow(line, &row) : DropReason::kTruncatedInput;
    if (reason == DropReason::kNone) return Add(row);
    report_.counts.skipped.Add(reason);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  if (!(*source)->damage().empty()) {
    report_.warnings.push_back(fmt::format(
        "the file is incomplete: {}; the {} rows before that were read, what followed is lost",
        (*source)->damage(), report_.counts.events));
  }
  progress((*source)->file_bytes_read());
  report_.rank = traces_.begin()->first;
  for (auto& [rank, trace] : traces_) traces->push_back(std::move(trace));
  return absl::OkStatus();
}

bool OperationCsvImporter::ReadHeader(std::string_view line) {
  std::array<std::string_view, kMaxColumns> names;
  columns_.count = SplitLine(line, &names);
  if (columns_.count > kMaxColumns) return false;
  const auto find = [&](std::string_view name, size_t* column) {
    const auto found =
        std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(columns_.count), name);
    *column = static_cast<size_t>(found - names.begin());
    return *column < columns_.count;
  };
  return find("dp_rank", &columns_.replica) && find("stage", &columns_.stage) &&
         find("rank", &columns_.rank) && find("step", &columns_.step) &&
         find("optype", &columns_.operation) && find("start_ts", &columns_.start) &&
         find("duration", &columns_.duration);
}

DropReason OperationCsvImporter::ReadRow(std::string_view line, Row* row) const {
  std::array<std::string_view, kMaxColumns> fields;
  if (SplitLine(line, &fields) != columns_.count) return DropReason::kMalformedEvent;
  row->operation = fields[columns_.operation];
  const bool numbers = ParseNumber(fields[columns_.replica], &row->replica) &&
                       ParseNumber(fields[columns_.stage], &row->stage) &&
                       ParseNumber(fields[columns_.rank], &row->rank) &&
                       ParseNumber(fields[columns_.step], &row->step);
  if (!numbers || row->operation.empty() || !StepNumber(row->step) || row->rank >= kRanksOfFile ||
      row->stage >= kRanksOfFile || row->replica >= kRanksOfFile) {
    return DropReason::kMalformedEvent;
  }
  if (!ParseSeconds(fields[columns_.start], &row->start_ns) ||
      !ParseSeconds(fields[columns_.duration], &row->duration_ns)) {
    return DropReason::kTimeOutOfRange;
  }
  if (row->duration_ns < 0) return DropReason::kNegativeDuration;
  // A step of more than a day is no step; so the sum over all steps stays in range.
  constexpr int64_t kMaxStepNs = int64_t{86'400} * 1'000'000'000;
  if (row->start_ns < 0 || row->start_ns > kMaxStepNs || row->duration_ns > kMaxStepNs)
    return DropReason::kTimeOutOfRange;
  return DropReason::kNone;
}

void OperationCsvImporter::Measure(const Row& row) {
  const int64_t end = row.start_ns + row.duration_ns;
  int64_t& length = step_length_ns_[row.step];
  length = std::max(length, end);
  int64_t& own = rank_step_end_ns_[{row.rank, row.step}];
  own = std::max(own, end);
  places_.try_emplace(row.rank, Place{row.replica, row.stage});
  rank_at_.try_emplace({row.replica, row.stage}, row.rank);
  stages_ = std::max(stages_, row.stage + 1);
}

void OperationCsvImporter::LayOutSteps() {
  int64_t base = 0;
  for (const auto& [step, length] : step_length_ns_) {
    step_base_ns_[step] = base;
    base = std::min(base + length + kGapBetweenStepsNs, kLatestBaseNs);
  }
}

void OperationCsvImporter::MakeTraces() {
  for (const auto& [rank, place] : places_) {
    auto trace = std::make_unique<RankTrace>(budget_);
    trace->rank = rank;
    trace->world_size = places_.rbegin()->first + 1;
    trace->role = fmt::format("stage {}", place.stage);
    trace->has_device_events = true;
    trace->whole_microseconds = false;
    trace->lanes = {{"compute", LaneKind::kDeviceStream},
                    {"forward send and recv", LaneKind::kDeviceStream},
                    {"backward send and recv", LaneKind::kDeviceStream},
                    {"collectives", LaneKind::kDeviceStream},
                    {"host", LaneKind::kTrainingThread}};
    traces_.emplace(rank, std::move(trace));
  }
  for (const auto& [key, end] : rank_step_end_ns_) {
    const auto& [rank, step] = key;
    const int64_t base = step_base_ns_[step];
    traces_[rank]->marks.push_back({base, MarkKind::kStepBegin, step});
    traces_[rank]->marks.push_back({base + end, MarkKind::kStepEnd, step});
  }
}

uint32_t OperationCsvImporter::RankAt(uint32_t replica, uint32_t stage) const {
  const auto found = rank_at_.find({replica, stage});
  return found != rank_at_.end() ? found->second : kRanksOfFile;
}

// Index of the group among those of the row's rank; its members are those of whose place `member`
// is true, by rank.
template <typename IsMember>
int32_t OperationCsvImporter::GroupOf(const Row& row, const char* name, std::string description,
                                      IsMember&& member) {
  const auto [known, added] = groups_.try_emplace({row.rank, description}, -1);
  if (added) {
    ProcessGroup group{.name = name, .description = std::move(description)};
    std::vector<int64_t> members;
    for (const auto& [rank, place] : places_) {
      if (member(place)) members.push_back(rank);
    }
    TakeMembers(MemberList::Of(members), &group);
    group.size = static_cast<uint32_t>(group.ranks.size());
    known->second = traces_[row.rank]->GroupIndex(group);
  }
  return known->second;
}

int32_t OperationCsvImporter::GroupOfCollective(const Row& row) {
  // The file shows a stage of a replica as one rank, however many tensor-parallel ranks it has.
  if (row.operation.starts_with("layernorm")) {
    return GroupOf(row, "tp",
                   fmt::format("tensor parallel, stage {} of replica {}", row.stage, row.replica),
                   [&](const Place& place) {
                     return place.replica == row.replica && place.stage == row.stage;
                   });
  }
  if (row.operation.starts_with("optimizer"))
    return GroupOf(row, "world", "all ranks", [](const Place&) { return true; });
  if (row.operation.starts_with("embedding")) {
    return GroupOf(row, "embedding", fmt::format("first and last stage of replica {}", row.replica),
                   [&](const Place& place) {
                     return place.replica == row.replica &&
                            (place.stage == 0 || place.stage + 1 == stages_);
                   });
  }
  return GroupOf(row, "dp", fmt::format("replicas of stage {}", row.stage),
                 [&](const Place& place) { return place.stage == row.stage; });
}

// Whether the operation is a collective or point to point.
bool OperationCsvImporter::Describe(const Row& row, CollectiveCall* call, uint8_t* lane,
                                    FunctionClass* function_class) {
  const bool send = row.operation.ends_with("-send");
  const bool forward = row.operation.starts_with("forward");
  *function_class = FunctionClass::kCollective;
  if (send || row.operation.ends_with("-recv")) {
    *lane = forward ? kForwardLane : kBackwardLane;
    call->operation = send ? CollectiveOperation::kSend : CollectiveOperation::kRecv;
    const uint32_t stage = (row.stage + (send == forward ? 1 : stages_ - 1)) % stages_;
    const uint32_t peer = RankAt(row.replica, stage);
    call->peer = peer != kRanksOfFile ? static_cast<int32_t>(peer) : -1;
    call->group = GroupOf(row, "pp", fmt::format("stages of replica {}", row.replica),
                          [&](const Place& place) { return place.replica == row.replica; });
    return true;
  }
  const bool gradient_norm = row.operation == "optimizer-clip-main-grad";
  for (const auto& [word, operation] : {std::pair<std::string_view, CollectiveOperation>{
                                            "all-reduce", CollectiveOperation::kAllReduce},
                                        {"all-gather", CollectiveOperation::kAllGather},
                                        {"reduce-scatter", CollectiveOperation::kReduceScatter}}) {
    if (row.operation.ends_with(word)) call->operation = operation;
  }
  if (gradient_norm) call->operation = CollectiveOperation::kAllReduce;
  if (call->operation != CollectiveOperation::kUnknown) {
    *lane = kCollectiveLane;
    call->group = GroupOfCollective(row);
    return true;
  }
  const bool compute =
      row.operation.ends_with("-compute") || row.operation.starts_with("optimizer");
  *function_class = compute ? FunctionClass::kGpuCompute : FunctionClass::kCpuOp;
  *lane = compute ? kComputeLane : kHostLane;
  return false;
}

absl::Status OperationCsvImporter::Add(const Row& row) {
  RankTrace& trace = *traces_[row.rank];
  CollectiveCall call;
  FunctionClass function_class = FunctionClass::kGpuCompute;
  IntervalRecord record;
  record.start_ns = step_base_ns_[row.step] + row.start_ns;
  record.duration_ns = row.duration_ns;
  if (Describe(row, &call, &record.lane, &function_class)) {
    record.kind = IntervalKind::kCollective;
    record.a = static_cast<uint32_t>(trace.collectives.size());
    call.start_ns = call.order_ns = record.start_ns;
    trace.collectives.push_back(call);
  }
  // Not from the file's encoding of names: a CSV in another one gets its bytes replaced as JSON
  // does.
  record.function = functions_.Intern(TraceFunctions::kNone,
                                      functions_.InternName(DecodeJsonString(row.operation)),
                                      function_class, WaitKind::kNone);
  ++report_.counts.imported;
  ++trace.events;
  return trace.intervals.Add(record);
}

}  // namespace eroica
