#include "tests/evaluation/simulate/sample_writer.h"

#include <algorithm>

namespace eroica::simulate {
namespace {

// Share of the memory's bandwidth that kernels use at full clock: matrix products work long on what
// they have loaded, element by element each byte is touched once.
int64_t MemoryLevelOf(KernelKind kind) {
  switch (kind) {
    case KernelKind::kMatrix: return ToFactor(0.35);
    case KernelKind::kExpertMatrix: return ToFactor(0.45);
    case KernelKind::kAttention: return ToFactor(0.2);
    case KernelKind::kElementwise: return ToFactor(0.85);
    case KernelKind::kEmbedding: return ToFactor(0.7);
    case KernelKind::kOptimizer: return ToFactor(0.9);
    case KernelKind::kCopy: break;  // as its bus
  }
  return 0;
}

// Of a link that moves slice_ns of each period_ns: the time that it moved until x.
int64_t MovedUntil(int64_t x, int64_t slice_ns, int64_t period_ns) {
  if (period_ns <= slice_ns || period_ns <= 0) return x;
  return x / period_ns * slice_ns + std::min(x % period_ns, slice_ns);
}

}  // namespace

SampleWriter::SampleWriter(const SimulatedJob& job, const StepRunner& runner, int64_t begin_ns)
    : runner_(runner), roofline_(job.hardware) {
  if (job.telemetry.level == CaptureLevel::kCollectives) return;
  period_ns_ = job.telemetry.sample_period_ns;
  const uint32_t world_size = job.layout.world_size();
  const auto has = [this](Resource resource, bool is_there) {
    has_[static_cast<size_t>(resource)] = is_there;
  };
  has(Resource::kGpuSm, true);
  has(Resource::kGpuDram, true);
  has(Resource::kPcieTx, true);
  has(Resource::kCpu, true);
  has(Resource::kNvlink, std::min(world_size, job.layout.ranks_per_host) > 1);
  has(Resource::kNic, job.layout.hosts() > 1);
  const auto takes = [&](Resource link, double speed) {
    memory_of_link_[static_cast<size_t>(link)] = ToFactor(std::min(1.0, speed / job.fabric.dram));
  };
  takes(Resource::kPcieTx, job.fabric.pcie);
  takes(Resource::kNvlink,
        2 * job.fabric.nvlink);  // of what a rank sends and of what it gets at once
  takes(Resource::kNic, 2 * job.fabric.nic);
  if (period_ns_ > 0) open_.resize(world_size, {.first = begin_ns / period_ns_, .sums = {}});
}

std::span<const ResourceSample> SampleWriter::Collect(const RankState& rank) {
  samples_.clear();
  if (period_ns_ <= 0) return samples_;
  OpenPeriods& open = open_[rank.rank];
  AddRows(rank, open);
  for (const RankStream& stream : rank.streams) AddTransfers(stream, open);
  Emit(rank, open);
  return samples_;
}

void SampleWriter::AddRows(const RankState& rank, OpenPeriods& open) const {
  for (const IntervalRow& row : rank.kernels) {
    if (row.start_ns >= kNeverNs) break;
    const bool copies = row.kernel == KernelKind::kCopy;
    // As many bytes in a longer time are a lower share of the bus.
    const int64_t level =
        copies ? (int64_t{row.level} << 16) / rank.kernel[static_cast<size_t>(KernelKind::kCopy)]
               : Scale(row.level, rank.effects.sm_clock);
    Add(copies ? Resource::kPcieTx : Resource::kGpuSm, row.start_ns, row.end_ns, level, open);
    const int64_t memory =
        copies
            ? OfMemory(Resource::kPcieTx, level)
            : Scale(MemoryLevelOf(row.kernel),
                    roofline_.MemoryLevel(row.kernel, rank.effects.sm_clock, rank.effects.memory));
    Add(Resource::kGpuDram, row.start_ns, row.end_ns, memory, open);
  }
  for (const IntervalRow& row : rank.waits)
    Add(Resource::kCpu, row.start_ns, row.end_ns, kUnit, open);
}

void SampleWriter::AddTransfers(const RankStream& stream, OpenPeriods& open) const {
  const Rendezvous& meeting = runner_.rendezvous(stream.rendezvous);
  for (const LaunchedCollective& row : stream.rows) {
    if (row.slot >= meeting.ended()) break;
    const Rendezvous::EndedSlot& slot = meeting.slot(row.slot);
    const auto& activities = meeting.transfers[slot.transfer].transfer.activities;
    if (stream.member >= activities.size()) continue;
    for (const LinkActivity& activity : activities[stream.member])
      AddActivity(activity, slot.begin_ns, slot.noise, open);
  }
}

void SampleWriter::Add(Resource resource, int64_t start_ns, int64_t end_ns, int64_t level,
                       OpenPeriods& open) const {
  start_ns = std::max(start_ns, open.first * period_ns_);
  if (start_ns >= end_ns || level == 0) return;
  const auto last = static_cast<size_t>((end_ns - 1) / period_ns_ - open.first);
  if (open.sums.size() <= last) open.sums.resize(last + 1);
  for (auto at = static_cast<size_t>(start_ns / period_ns_ - open.first); at <= last; ++at) {
    const int64_t begin_ns = (open.first + static_cast<int64_t>(at)) * period_ns_;
    const int64_t overlap_ns =
        std::min(end_ns, begin_ns + period_ns_) - std::max(start_ns, begin_ns);
    open.sums[at][static_cast<size_t>(resource)] += overlap_ns * level;
  }
}

void SampleWriter::AddActivity(const LinkActivity& activity, int64_t begin_ns, Factor noise,
                               OpenPeriods& open) const {
  const auto level = static_cast<int64_t>(static_cast<double>(activity.level) * kUnit);
  const int64_t duration_ns = Scale(activity.duration_ns, noise);
  const int64_t slice_ns = Scale(activity.slice_ns, noise);
  const int64_t cycle_ns = Scale(activity.period_ns, noise);
  const int64_t start_ns = std::max(begin_ns, open.first * period_ns_);
  const int64_t end_ns = begin_ns + duration_ns;
  if (start_ns >= end_ns || level <= 0) return;
  const auto last = static_cast<size_t>((end_ns - 1) / period_ns_ - open.first);
  if (open.sums.size() <= last) open.sums.resize(last + 1);
  int64_t moved_ns = MovedUntil(start_ns - begin_ns, slice_ns, cycle_ns);
  for (auto at = static_cast<size_t>(start_ns / period_ns_ - open.first); at <= last; ++at) {
    const int64_t until_ns =
        std::min(end_ns, (open.first + static_cast<int64_t>(at) + 1) * period_ns_);
    const int64_t moved_until_ns = MovedUntil(until_ns - begin_ns, slice_ns, cycle_ns);
    open.sums[at][static_cast<size_t>(activity.resource)] += (moved_until_ns - moved_ns) * level;
    open.sums[at][static_cast<size_t>(Resource::kGpuDram)] +=
        (moved_until_ns - moved_ns) * OfMemory(activity.resource, level);
    moved_ns = moved_until_ns;
  }
}

void SampleWriter::Emit(const RankState& rank, OpenPeriods& open) {
  const int64_t whole = period_ns_ * int64_t{kUnit};
  const int64_t over = rank.host_ns / period_ns_ - open.first;
  if (over <= 0) return;
  if (open.sums.size() < static_cast<size_t>(over)) open.sums.resize(static_cast<size_t>(over));
  for (int64_t i = 0; i < over; ++i) {
    Sums& sums = open.sums[static_cast<size_t>(i)];
    int64_t& processor = sums[static_cast<size_t>(Resource::kCpu)];
    processor = Scale(whole - std::min(processor, whole), rank.effects.cpu_level);
    for (size_t resource = 0; resource < has_.size(); ++resource) {
      if (!has_[resource]) continue;
      const double share =
          static_cast<double>(std::min(sums[resource], whole)) / static_cast<double>(whole);
      samples_.push_back({.time_ns = (open.first + i + 1) * period_ns_,
                          .resource = static_cast<Resource>(resource),
                          .value = static_cast<float>(share)});
    }
  }
  open.sums.erase(open.sums.begin(), open.sums.begin() + static_cast<ptrdiff_t>(over));
  open.first += over;
}

}  // namespace eroica::simulate
