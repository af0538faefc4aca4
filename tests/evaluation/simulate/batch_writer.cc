#include "tests/evaluation/simulate/batch_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace eroica::simulate {
namespace {

constexpr uint64_t kLossDomain = uint64_t{1} << 42;
// hosts have run so long when the job begins
constexpr int64_t kBootedNs = int64_t{3} * 86'400 * 1'000'000'000;

// All that happened; who sends, and the tables, stay.
void ClearContents(EventBatch& batch) {
  batch.intervals.clear();
  batch.collectives.clear();
  batch.samples.clear();
  batch.marks.clear();
  batch.progress.clear();
  batch.connections.clear();
}

}  // namespace

BatchWriter::BatchWriter(const SimulatedJob& job, const GroupTable& groups,
                         std::span<const StageProgram> stages, const FunctionCatalog& catalog,
                         StepRunner& runner, BatchSink& sink, uint32_t process)
    : job_(job),
      groups_(groups),
      stages_(stages),
      catalog_(catalog),
      runner_(runner),
      sink_(sink),
      first_pid_(4000 + 100 * process),
      next_sequence_(job.layout.world_size()) {
  for (uint32_t host = 0; host < job.layout.hosts(); ++host)
    clocks_.emplace_back(job.telemetry, job.seed, host);
  for (size_t i = 0; i < stages.size(); ++i) {
    EventBatch& batch = batches_.emplace_back();
    batch.identity.job = JobId(job.job);
    batch.identity.world_size = job.layout.world_size();
    if (job.telemetry.roles) batch.identity.role = fmt::format("stage{}", i);
    batch.identity.producer = "eroica-simulate";
    batch.identity.producer_version = "1";
    batch.identity.window_steps = job.telemetry.window_steps;
    batch.functions = stages[i].functions;
    batch.lanes = stages[i].lanes;
    batch.communicators.resize(stages[i].communicators.size());
    listed_.emplace_back(stages[i].communicators.size(), ~uint64_t{0});
  }
}

absl::Status BatchWriter::Write(RankState& rank, std::span<const ResourceSample> samples,
                                bool final) {
  const StageProgram& stage = stages_[rank.stage];
  const HostClock& clock = clocks_[job_.layout.HostOf(rank.rank)];
  OpenRuns(rank);
  samples_taken_ = 0;
  marks_taken_ = 0;
  absl::Status status;
  for (bool last = false; !last && status.ok();) {
    OpenBatch(rank);
    const size_t sample_end = samples_taken_ + kMaxSamples;
    int64_t cut_ns = sample_end < samples.size() ? samples[sample_end].time_ns : kNeverNs;
    cut_ns = std::min(cut_ns, Merge(stage, clock, cut_ns));
    last = cut_ns == kNeverNs;
    TakeSamplesAndMarks(rank, samples, cut_ns);
    if (last && job_.telemetry.connections) TakeConnections(rank);
    const bool empty = batch_->intervals.size() == 0 && batch_->samples.empty() &&
                       batch_->marks.empty() && batch_->connections.empty();
    if (!empty || final) status = Flush(rank, std::min(cut_ns, rank.host_ns), final && last);
  }
  ForgetWritten(rank);
  return status;
}

absl::Status BatchWriter::WriteProgress(const RankState& rank, ProgressReport report,
                                        std::vector<ConnectionSample> connections, bool final) {
  OpenBatch(rank);
  const HostClock& clock = clocks_[job_.layout.HostOf(rank.rank)];
  const int64_t true_ns = report.time_ns;
  report.time_ns = clock.Show(true_ns);
  for (InFlightCollective& collective : report.in_flight)
    collective.launched_ns = clock.Show(collective.launched_ns);
  batch_->progress.push_back(std::move(report));
  batch_->connections = std::move(connections);
  for (ConnectionSample& sample : batch_->connections) sample.time_ns = clock.Show(sample.time_ns);
  return Flush(rank, true_ns, final);
}

void BatchWriter::OpenBatch(const RankState& rank) {
  const StageProgram& stage = stages_[rank.stage];
  EventBatch& batch = batches_[rank.stage];
  batch_ = &batch;
  const uint32_t device = job_.layout.DeviceOf(rank.rank);
  batch.identity.rank = RankId(rank.rank);
  batch.identity.host = fmt::format("node{:04}", job_.layout.HostOf(rank.rank));
  batch.identity.pid = first_pid_ + device;
  batch.identity.device = static_cast<int32_t>(device);
  batch.sequence = next_sequence_[rank.rank];
  batch.functions.resize(stage.functions.size());
  std::vector<uint32_t> extra = rank.extra_functions;
  for (const uint32_t function : rank.extra_functions) {
    FunctionDef row = catalog_.functions()[function];
    if (row.parent != kNoParent) row.parent = stage.FindOrAdd(row.parent, catalog_, extra);
    batch.functions.push_back(std::move(row));
  }
  for (size_t i = 0; i < stage.communicators.size(); ++i) {
    const uint32_t group = groups_.Find(rank.rank, stage.communicators[i]);
    const Communicator& communicator = groups_.groups()[group].communicator;
    const bool lists = communicator.ranks.size() <= kLargeGroup || batch.sequence % kListEvery == 0;
    const uint64_t listed = 2 * uint64_t{group} + (lists ? 1 : 0);
    if (std::exchange(listed_[rank.stage][i], listed) == listed) continue;
    if (lists) {
      batch.communicators[i] = communicator;
    } else {
      batch.communicators[i] = {.id = communicator.id,
                                .name = communicator.name,
                                .description = communicator.description,
                                .size = communicator.size};
    }
  }
  ClearContents(batch);
  batch.losses.clear();
}

void BatchWriter::OpenRuns(RankState& rank) {
  runs_.clear();
  while (!rank.kernels.empty() && rank.kernels.back().start_ns >= kNeverNs) rank.kernels.pop_back();
  std::span<const IntervalRow> thread = rank.thread;
  if (!rank.open_frames.empty()) {
    closed_rows_.clear();
    for (const IntervalRow& row : rank.thread) {
      if (row.end_ns < kNeverNs) closed_rows_.push_back(row);
    }
    thread = closed_rows_;
  }
  if (!thread.empty()) runs_.push_back({.rows = thread, .lane = StageProgram::kThreadLane});
  if (!rank.kernels.empty())
    runs_.push_back({.rows = rank.kernels, .lane = StageProgram::kComputeLane});
  if (stream_rows_.size() < rank.streams.size()) stream_rows_.resize(rank.streams.size());
  for (size_t i = 0; i < rank.streams.size(); ++i) AddStreamRun(rank, i);
}

void BatchWriter::AddStreamRun(const RankState& rank, size_t index) {
  const RankStream& stream = rank.streams[index];
  const Rendezvous& meeting = runner_.rendezvous(stream.rendezvous);
  std::vector<IntervalRow>& rows = stream_rows_[index];
  rows.clear();
  for (const LaunchedCollective& row : stream.rows) {
    if (row.slot >= meeting.ended()) break;
    rows.push_back({.start_ns = std::max(row.ready_ns, meeting.EndBefore(row.slot)),
                    .end_ns = meeting.EndOf(row.slot),
                    .function = row.function});
  }
  if (!rows.empty())
    runs_.push_back(
        {.rows = rows, .lane = stages_[rank.stage].streams[index].lane, .stream = &stream});
}

int64_t BatchWriter::Merge(const StageProgram& stage, const HostClock& clock, int64_t cut_ns) {
  IntervalColumns& columns = batch_->intervals;
  size_t left = 0;
  heads_.clear();
  for (const Run& run : runs_) {
    left += run.rows.size() - run.next;
    heads_.push_back(run.head_ns());
  }
  const size_t room = std::min(left, kMaxIntervals);
  columns.start_ns.resize(room);
  columns.duration_ns.resize(room);
  columns.function.resize(room);
  columns.lane.resize(room);
  size_t count = 0;
  int64_t start_ns = kNeverNs;
  for (;;) {
    // The earliest run goes on until the next one's first row.
    size_t earliest = 0;
    start_ns = kNeverNs;
    int64_t until_ns = cut_ns;
    for (size_t i = 0; i < heads_.size(); ++i) {
      const bool earlier = heads_[i] < start_ns;
      until_ns = std::min(until_ns, earlier ? start_ns : heads_[i]);
      earliest = earlier ? i : earliest;
      start_ns = earlier ? heads_[i] : start_ns;
    }
    if (start_ns >= cut_ns || count == room) break;
    Run& run = runs_[earliest];
    const size_t first = run.next;
    const size_t end = std::min(run.rows.size(), first + room - count);
    size_t at = first;
    do {
      const IntervalRow& row = run.rows[at];
      const int64_t shown_ns = clock.Show(row.start_ns);
      columns.start_ns[count] = shown_ns;
      columns.duration_ns[count] = clock.Show(row.end_ns) - shown_ns;
      columns.function[count] = row.function;
      columns.lane[count] = run.lane;
      ++count;
      ++at;
    } while (at < end && run.rows[at].start_ns < until_ns);
    run.next = at;
    heads_[earliest] = run.head_ns();
    if (run.stream != nullptr)
      TakeCollectives(stage, *run.stream, first, at - first, count - (at - first));
  }
  columns.start_ns.resize(count);
  columns.duration_ns.resize(count);
  columns.function.resize(count);
  columns.lane.resize(count);
  return start_ns;
}

void BatchWriter::TakeCollectives(const StageProgram& stage, const RankStream& stream, size_t row,
                                  size_t count, size_t interval) {
  for (size_t i = 0; i < count; ++i) {
    const LaunchedCollective& collective = stream.rows[row + i];
    const OperationSeries& series = stage.series[collective.series];
    batch_->collectives.push_back({.interval = static_cast<uint32_t>(interval + i),
                                   .communicator = stage.streams[series.stream].communicator,
                                   .operation = series.operation,
                                   .peer = stream.peer,
                                   .sequence = collective.sequence,
                                   .bytes = collective.bytes});
  }
}

void BatchWriter::TakeSamplesAndMarks(const RankState& rank,
                                      std::span<const ResourceSample> samples, int64_t cut_ns) {
  const HostClock& clock = clocks_[job_.layout.HostOf(rank.rank)];
  for (; samples_taken_ < samples.size() && samples[samples_taken_].time_ns < cut_ns;
       ++samples_taken_) {
    batch_->samples.push_back(samples[samples_taken_]);
    batch_->samples.back().time_ns = clock.Show(batch_->samples.back().time_ns);
  }
  for (; marks_taken_ < rank.marks.size() && rank.marks[marks_taken_].time_ns < cut_ns;
       ++marks_taken_) {
    batch_->marks.push_back(rank.marks[marks_taken_]);
    batch_->marks.back().time_ns = clock.Show(batch_->marks.back().time_ns);
  }
}

void BatchWriter::TakeConnections(const RankState& rank) {
  std::map<std::tuple<uint32_t, Resource, uint32_t>, ConnectionSample> sums;
  for (size_t s = 0; s < rank.streams.size(); ++s) {
    const RankStream& stream = rank.streams[s];
    const uint32_t communicator = 1 + uint32_t{stages_[rank.stage].streams[s].communicator};
    const Rendezvous& meeting = runner_.rendezvous(stream.rendezvous);
    times_moved_.assign(meeting.transfers.size(), 0);  // most of a step's collectives move the same
    for (const LaunchedCollective& row : stream.rows) {
      if (row.slot >= meeting.ended()) break;
      ++times_moved_[meeting.slot(row.slot).transfer];
    }
    for (size_t i = 0; i < times_moved_.size(); ++i) {
      if (times_moved_[i] == 0) continue;
      for (const LinkFlow& flow : meeting.transfers[i].transfer.flows[stream.member]) {
        ConnectionSample& sum =
            sums[{meeting.members()[flow.destination], flow.resource, communicator}];
        sum.bytes += times_moved_[i] * flow.bytes;
        sum.busy_ns += times_moved_[i] * flow.busy_ns;
        sum.channels = std::max(sum.channels, flow.channels);
      }
    }
  }
  const int64_t time_ns = clocks_[job_.layout.HostOf(rank.rank)].Show(rank.host_ns - 1);
  for (auto& [link, sum] : sums) {
    sum.time_ns = time_ns;
    std::tie(sum.peer, sum.resource, sum.communicator) = link;
    batch_->connections.push_back(sum);
  }
}

void BatchWriter::ForgetWritten(RankState& rank) {
  size_t open = 0;
  for (uint32_t& frame : rank.open_frames) {
    rank.thread[open] = rank.thread[frame];
    frame = static_cast<uint32_t>(open++);
  }
  rank.thread.resize(open);
  rank.kernels.clear();
  rank.marks.clear();
  rank.waits.clear();
  for (RankStream& stream : rank.streams) {
    const uint32_t ended = runner_.rendezvous(stream.rendezvous).ended();
    const auto first_open =
        std::find_if(stream.rows.begin(), stream.rows.end(),
                     [&](const LaunchedCollective& row) { return row.slot >= ended; });
    stream.rows.erase(stream.rows.begin(), first_open);
  }
}

absl::Status BatchWriter::Flush(const RankState& rank, int64_t true_ns, bool final) {
  const HostClock& clock = clocks_[job_.layout.HostOf(rank.rank)];
  EventBatch& batch = *batch_;
  batch.final = final;
  batch.clock = {.realtime_ns = clock.Show(true_ns),
                 .monotonic_ns = kBootedNs + true_ns,
                 .device_ns = clock.Show(true_ns)};
  ++next_sequence_[rank.rank];
  if (IsLost(rank, batch.sequence)) LoseContents();
  events_ += batch.intervals.size() + batch.samples.size() + batch.marks.size();
  return sink_.Write(batch);
}

bool BatchWriter::IsLost(const RankState& rank, uint64_t sequence) const {
  const double share =
      job_.telemetry.loss + static_cast<double>(rank.effects.telemetry_loss) / kUnit;
  return share > 0 && UniformOf(NoiseKey(job_.seed, rank.rank, kLossDomain, sequence)) < share;
}

void BatchWriter::LoseContents() {
  EventBatch& batch = *batch_;
  const auto lose = [&](EventKind kind, size_t count) {
    if (count > 0)
      batch.losses.push_back({.kind = kind, .reason = DropReason::kQueueFull, .count = count});
  };
  lose(EventKind::kInterval, batch.intervals.size());
  lose(EventKind::kCollective, batch.collectives.size());
  lose(EventKind::kSample, batch.samples.size());
  lose(EventKind::kMark, batch.marks.size());
  lost_ += batch.intervals.size() + batch.samples.size() + batch.marks.size();
  ClearContents(batch);
}

}  // namespace eroica::simulate
