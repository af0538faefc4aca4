#include "producers/core/batch_maker.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "producers/core/event_time.h"
#include "schemas/codec.h"

namespace eroica {
namespace {

template <typename Row>
void SortByTime(std::vector<Row>& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& x, const Row& y) { return x.time_ns < y.time_ns; });
}

// Moves the rows up to the moment (or all) behind what the batch has of them.
template <typename Row>
void MoveRows(const std::vector<Row>& rows, size_t* next, int64_t until_ns, bool all,
              std::vector<Row>* out) {
  const size_t from = *next;
  while (*next < rows.size() && (all || rows[*next].time_ns < until_ns)) ++*next;
  out->insert(out->end(), rows.begin() + static_cast<std::ptrdiff_t>(from),
              rows.begin() + static_cast<std::ptrdiff_t>(*next));
}

}  // namespace

void BatchMaker::Add(const RingSlot& slot, const RingSlot* second) {
  bool taken = false;
  switch (slot.kind) {
    case SlotKind::kInterval:
    case SlotKind::kCollective: taken = AddInterval(slot, second); break;
    case SlotKind::kMark:
      taken = IsEventTime(slot.a) && slot.e < kMarkKindCount && slot.b >= -1 &&
              slot.b < CodecLimits::kMaxTimeNs;
      if (taken) marks_.push_back({slot.a, static_cast<MarkKind>(slot.e), slot.b});
      break;
    case SlotKind::kSample: {
      const auto value = std::bit_cast<float>(slot.c);
      taken = IsEventTime(slot.a) && slot.e < kResourceCount && value == value;
      if (taken)
        samples_.push_back({slot.a, static_cast<Resource>(slot.e), std::clamp(value, 0.0f, 1.0f)});
      break;
    }
    case SlotKind::kConnection:
      taken = second != nullptr && IsEventTime(slot.a) && slot.c < world_size_ &&
              slot.e < kResourceCount && second->a >= 0 && second->a < kLongestEventNs;
      if (taken) {
        connections_.push_back(
            {.time_ns = slot.a,
             .peer = slot.c,
             .resource = static_cast<Resource>(slot.e),
             .bytes = static_cast<uint64_t>(slot.b),
             .busy_ns = second->a,
             .retransmits = static_cast<uint64_t>(second->b),
             .channels = second->e,
             .communicator = slot.d == NameTables::kNoCommunicator ? 0u : slot.d + 1u});
      }
      break;
    case SlotKind::kSecondHalf: break;
  }
  if (!taken) ++malformed_;
}

bool BatchMaker::AddInterval(const RingSlot& slot, const RingSlot* second) {
  if (!IsEventTime(slot.a) || slot.b < slot.a || slot.b - slot.a > kLongestEventNs) return false;
  IntervalRow row{slot.a, slot.b - slot.a, slot.c, slot.lane(), false, {}};
  if (slot.kind == SlotKind::kCollective) {
    if (second == nullptr || second->e >= kCollectiveOperationCount) return false;
    row.is_collective = second->d != NameTables::kNoCommunicator;
    row.collective = {.communicator = second->d,
                      .operation = static_cast<CollectiveOperation>(second->e),
                      .peer = static_cast<int32_t>(second->c),
                      .sequence = static_cast<uint64_t>(second->a),
                      .bytes = static_cast<uint64_t>(second->b)};
    const int32_t peer = row.collective.peer;
    if (peer < -1 || (peer >= 0 && static_cast<uint32_t>(peer) >= world_size_)) return false;
  }
  intervals_.push_back(row);
  return true;
}

void BatchMaker::Learn() {
  names_->CopyNew(&functions_, &lanes_, &communicators_);
  local_function_.resize(functions_.size(), 0);
  local_lane_.resize(lanes_.size(), 0);
  local_communicator_.resize(communicators_.size(), 0);
}

void BatchMaker::TakeBatches(const std::function<void(EventBatch& batch, bool last)>& take) {
  Learn();
  const size_t before = intervals_.size();
  std::erase_if(intervals_, [this](const IntervalRow& row) {
    const bool known = row.function < functions_.size() && row.lane < lanes_.size() &&
                       (!row.is_collective || row.collective.communicator < communicators_.size());
    return !known;
  });
  malformed_ += before - intervals_.size();
  SortRows();
  size_t from = 0;
  do {
    const size_t to = EndOfBatch(from);
    const bool last = to == intervals_.size();
    ResetLocals();
    FillIntervals(from, to);
    FillTimed(last ? 0 : intervals_[to].start_ns, last);
    if (last) {
      SortByTime(reports_);
      if (reports_.size() > CodecLimits::kReports) reports_.resize(CodecLimits::kReports);
      for (ProgressReport& report : reports_) LocalizeReport(report);
      batch_.progress = std::move(reports_);
    }
    take(batch_, last);
    from = to;
  } while (from < intervals_.size());
  intervals_.clear();
  marks_.clear();
  samples_.clear();
  connections_.clear();
  reports_.clear();
  next_mark_ = next_sample_ = next_connection_ = 0;
}

void BatchMaker::SortRows() {
  std::stable_sort(
      intervals_.begin(), intervals_.end(),
      [](const IntervalRow& x, const IntervalRow& y) { return x.start_ns < y.start_ns; });
  SortByTime(marks_);
  SortByTime(samples_);
  SortByTime(connections_);
}

size_t BatchMaker::EndOfBatch(size_t from) const {
  return std::min(from + kMaxRows, intervals_.size());
}

void BatchMaker::FillIntervals(size_t from, size_t to) {
  for (size_t i = from; i < to; ++i) {
    const IntervalRow& row = intervals_[i];
    batch_.intervals.push_back(row.start_ns, row.duration_ns, LocalFunction(row.function),
                               LocalLane(row.lane));
    if (!row.is_collective) continue;
    Collective collective = row.collective;
    collective.interval = static_cast<uint32_t>(i - from);
    collective.communicator =
        static_cast<uint16_t>(LocalCommunicator(row.collective.communicator) - 1);
    batch_.collectives.push_back(collective);
  }
}

void BatchMaker::FillTimed(int64_t until_ns, bool last) {
  MoveRows(marks_, &next_mark_, until_ns, last, &batch_.marks);
  MoveRows(samples_, &next_sample_, until_ns, last, &batch_.samples);
  MoveRows(connections_, &next_connection_, until_ns, last, &batch_.connections);
  for (ConnectionSample& sample : batch_.connections) {
    if (sample.communicator > communicators_.size()) sample.communicator = 0;
    if (sample.communicator > 0)
      sample.communicator = LocalCommunicator(static_cast<uint16_t>(sample.communicator - 1));
  }
}

uint32_t BatchMaker::LocalFunction(uint32_t function) {
  // Callers first: a row's parent stands before it.
  chain_.clear();
  for (uint32_t row = function; row != kNoParent && local_function_[row] == 0;
       row = functions_[row].parent)
    chain_.push_back(row);
  for (auto row = chain_.rbegin(); row != chain_.rend(); ++row) {
    FunctionDef local = functions_[*row];
    if (local.parent != kNoParent) local.parent = local_function_[local.parent] - 1;
    batch_.functions.push_back(std::move(local));
    local_function_[*row] = static_cast<uint32_t>(batch_.functions.size());
  }
  return local_function_[function] - 1;
}

uint8_t BatchMaker::LocalLane(uint8_t lane) {
  uint32_t& local = local_lane_[lane];
  if (local == 0) {
    batch_.lanes.push_back(lanes_[lane]);
    local = static_cast<uint32_t>(batch_.lanes.size());
  }
  return static_cast<uint8_t>(local - 1);
}

uint32_t BatchMaker::LocalCommunicator(uint16_t communicator) {
  uint32_t& local = local_communicator_[communicator];
  if (local == 0) {
    batch_.communicators.push_back(communicators_[communicator]);
    auto& ranks = batch_.communicators.back().ranks;
    if (std::any_of(ranks.begin(), ranks.end(), [&](uint32_t rank) { return rank >= world_size_; }))
      ranks.clear();
    local = static_cast<uint32_t>(batch_.communicators.size());
  }
  return local;
}

// Rows stay sorted: they are by communicator, whose local numbers are given in the same order where
// the batch has none yet, so they are sorted anew.
void BatchMaker::LocalizeReport(ProgressReport& report) {
  report.function =
      report.function < functions_.size() ? LocalFunction(report.function) : kNoParent;
  const auto localize = [&](auto& rows) {
    std::erase_if(rows, [&](const auto& row) {
      const bool no_peer =
          row.peer < -1 || (row.peer >= 0 && static_cast<uint32_t>(row.peer) >= world_size_);
      return no_peer || row.communicator >= communicators_.size();
    });
    for (auto& row : rows)
      row.communicator = static_cast<uint16_t>(LocalCommunicator(row.communicator) - 1);
  };
  localize(report.in_flight);
  localize(report.operations);
  std::sort(report.in_flight.begin(), report.in_flight.end(), [](const auto& x, const auto& y) {
    return std::tie(x.communicator, x.operation, x.peer, x.sequence) <
           std::tie(y.communicator, y.operation, y.peer, y.sequence);
  });
  std::sort(report.operations.begin(), report.operations.end(), [](const auto& x, const auto& y) {
    return std::tie(x.communicator, x.operation, x.peer) <
           std::tie(y.communicator, y.operation, y.peer);
  });
}

void BatchMaker::ResetLocals() {
  std::fill(local_function_.begin(), local_function_.end(), 0);
  std::fill(local_lane_.begin(), local_lane_.end(), 0);
  std::fill(local_communicator_.begin(), local_communicator_.end(), 0);
  batch_.functions.clear();
  batch_.lanes.clear();
  batch_.communicators.clear();
  batch_.intervals.clear();
  batch_.collectives.clear();
  batch_.samples.clear();
  batch_.marks.clear();
  batch_.progress.clear();
  batch_.connections.clear();
  batch_.losses.clear();
  batch_.final = false;
}

size_t BatchMaker::memory_bytes() const {
  return intervals_.capacity() * sizeof(IntervalRow) + marks_.capacity() * sizeof(Mark) +
         samples_.capacity() * sizeof(ResourceSample) +
         connections_.capacity() * sizeof(ConnectionSample) +
         functions_.size() * sizeof(FunctionDef) + batch_.intervals.start_ns.capacity() * 21;
}

}  // namespace eroica
