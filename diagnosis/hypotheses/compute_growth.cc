#include "diagnosis/hypotheses/compute_growth.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "diagnosis/deciding_numbers.h"
#include "diagnosis/hypotheses/devices_elsewhere.h"
#include "diagnosis/hypotheses/kernel_growths.h"
#include "diagnosis/measurements/exchange_line.h"
#include "diagnosis/measurements/symptom.h"
#include "diagnosis/measurements/typical_call.h"
#include "diagnosis/statistics/distributions.h"
#include "diagnosis/statistics/healthy_spread.h"
#include "diagnosis/statistics/robust_statistics.h"
#include "schemas/kernel_bound.h"

namespace eroica {
namespace {

constexpr size_t kMostPeers = 64;
constexpr size_t kFewPeers = 8;           // of more the spread is known well enough
constexpr double kMostKernels = 0.8;      // by time
constexpr double kCallResolution = 0.01;  // of a typical call: a 32nd over the root of twelve
constexpr double kDeviations = 3;

double StepsOf(const PatternBatch& batch) {
  return batch.steps.empty() ? 1.0 : static_cast<double>(batch.steps.size());
}

double GrowthOf(double own, double peers) { return peers > 0 ? own / peers - 1 : 0; }

double MedianOf(std::vector<double> values) { return Median(std::span(values)); }

// One kernel or exchange on the rank and on those peers that have a row of it.
struct Row {
  const FunctionPattern* own = nullptr;
  // by peer; nullptr: too small for a row there, or not run
  std::vector<const FunctionPattern*> peers;
  double own_ns = 0;       // a step
  double peers_ns = 0;     // median over the peers that have it
  double expected_ns = 0;  // of the rank, for what it exchanges
  bool routed = false;     // goes with the bytes of the exchange
  KernelBound bound = KernelBound::kUnknown;
  std::optional<double> typical_growth;  // of the typical call; nothing where calls are not known
};

class GrowthTable {
 public:
  GrowthTable(const CrossRankView& view, RankIndex rank, std::span<const RankIndex> peers,
              double least_growth)
      : view_(view),
        own_(*view.ranks()[rank].batch),
        role_(view.ranks()[rank].role),
        least_growth_(least_growth) {
    const size_t count = std::min(peers.size(), kMostPeers);
    for (size_t i = 0; i < count; ++i) peers_.push_back(peers[i * peers.size() / count]);
    for (const FunctionPattern& pattern : own_.patterns) AddRow(pattern);
  }

  ComputeGrowth Measure(const BusyTime& busy) {
    ComputeGrowth growth;
    FindRouted(growth);
    SumUp(growth);
    MeasureBounds(growth);
    MeasureCalls(growth);
    MeasureClock(growth);
    if (growth.clock_growth) growth.clock_between_waits = ClockBetweenWaits(*growth.clock_growth);
    if (!growth.parameter_growth) growth.link_growth = LinkGrowth();
    SetCause(growth, busy);
    return growth;
  }

 private:
  void AddRow(const FunctionPattern& pattern) {
    const bool exchange = pattern.function_class == FunctionClass::kCollective;
    const bool kernel = pattern.function_class ==
                        (own_.host_only ? FunctionClass::kCpuOp : FunctionClass::kGpuCompute);
    if (!exchange && (!kernel || pattern.wait == WaitKind::kPeer)) return;
    Row row{.own = &pattern, .bound = exchange ? KernelBound::kUnknown : BoundOf(pattern.name)};
    row.own_ns = static_cast<double>(pattern.critical_ns) / StepsOf(own_);
    const FunctionColumn* column = view_.FindFunction(pattern.function);
    std::vector<double> times;
    auto at = column->rank.begin();
    for (const RankIndex peer : peers_) {
      at = std::lower_bound(at, column->rank.end(), peer);
      const bool has = at != column->rank.end() && *at == peer;
      row.peers.push_back(has ? column->pattern[static_cast<size_t>(at - column->rank.begin())]
                              : nullptr);
      if (has) times.push_back(NsOn(row.peers.size() - 1, *row.peers.back()));
    }
    if (2 * times.size() < peers_.size() || times.empty()) return;
    row.peers_ns = MedianOf(std::move(times));
    row.expected_ns = row.peers_ns;
    if (!exchange) row.typical_growth = TypicalGrowth(row);
    (exchange ? exchanges_ : kernels_).push_back(std::move(row));
  }

  double NsOn(size_t peer, const FunctionPattern& pattern) const {
    return static_cast<double>(pattern.critical_ns) / StepsOf(*view_.ranks()[peers_[peer]].batch);
  }

  // Bytes a step, of the peers and last of the rank; empty where a peer has none.
  std::vector<double> BytesOf(const Row& row) const {
    std::vector<double> bytes;
    for (size_t i = 0; i < peers_.size(); ++i) {
      if (row.peers[i] == nullptr || row.peers[i]->bytes == 0) return {};
      bytes.push_back(static_cast<double>(row.peers[i]->bytes) /
                      StepsOf(*view_.ranks()[peers_[i]].batch));
    }
    bytes.push_back(static_cast<double>(row.own->bytes) / StepsOf(own_));
    return bytes;
  }

  // The exchange whose bytes differ most over the ranks, and the kernels that take longer where it
  // moves more.
  void FindRouted(ComputeGrowth& growth) {
    double range = kUnevenBytes;
    for (const Row& row : exchanges_) {
      std::vector<double> bytes = BytesOf(row);
      if (bytes.empty() || RelativeRange(bytes) < range) continue;
      range = RelativeRange(bytes);
      growth.exchange = row.own;
      bytes_ = std::move(bytes);
    }
    if (bytes_.empty()) return;
    growth.bytes_growth = GrowthOf(bytes_.back(), MedianOf(bytes_));
    for (Row& row : kernels_) {
      const std::optional<double> explained = ExplainedBy(row, bytes_.back(), row.own_ns);
      if (!explained) continue;
      row.routed = true;
      row.expected_ns = *explained;
      growth.routed_ns += *explained - row.peers_ns;
      growth.routed_own_ns += row.own_ns;
      growth.routed_peers_ns += row.peers_ns;
      // Kernels of the same layer take the same time, or nearly so: the first by identity, so that
      // the choice is the same in all windows.
      if (growth.routed == nullptr) growth.routed = row.own;
    }
  }

  std::optional<double> ExplainedBy(const Row& row, double own_bytes, double own_ns) const {
    std::vector<double> bytes;
    std::vector<double> times;
    for (size_t i = 0; i < peers_.size(); ++i) {
      if (row.peers[i] == nullptr) continue;
      bytes.push_back(bytes_[i]);
      times.push_back(NsOn(i, *row.peers[i]));
    }
    return TimeExplainedByBytes(bytes, times, own_bytes, own_ns);
  }

  static bool OnData(const Row& row) { return row.bound != KernelBound::kParameters; }

  void SumUp(ComputeGrowth& growth) const {
    double own = 0;
    double parameters_own = 0;
    double parameters_peers = 0;
    double routed_ns = 0;
    for (const Row& row : kernels_) {
      (OnData(row) ? own : parameters_own) += row.own_ns;
      (OnData(row) ? growth.expected_ns : parameters_peers) += row.expected_ns;
      if (OnData(row) && row.routed) routed_ns += row.expected_ns;
    }
    growth.growth = GrowthOf(own, growth.expected_ns);
    growth.noise = std::max(kGrowthNoise, SpreadOfPeers(OnData));
    growth.routed_share = growth.expected_ns > 0 ? routed_ns / growth.expected_ns : 0;
    if (parameters_peers > 0) {
      growth.parameter_growth = GrowthOf(parameters_own, parameters_peers);
      growth.parameter_noise =
          std::max(kGrowthNoise, SpreadOfPeers([](const Row& row) { return !OnData(row); }));
    }
    Compare(growth);
    if (peers_.size() < kFewPeers) growth.elsewhere = DevicesElsewhere(view_, role_);
  }

  // Whether all kernels on data, and all calls of them, grew by a similar share.
  void Compare(ComputeGrowth& growth) const {
    double grown_ns = 0;
    double excess_ns = 0;
    double typical_ns = 0;
    for (const Row& row : kernels_) {
      if (!OnData(row)) continue;
      ++growth.data_kernels;
      const double of_kernel = GrowthOf(row.own_ns, row.expected_ns);
      if (of_kernel >= kHalf * growth.growth) grown_ns += row.expected_ns;
      if (of_kernel <= 0) continue;
      excess_ns += row.own_ns - row.expected_ns;
      const double whole = GrowthOf(row.own_ns, row.peers_ns);  // medians know nothing of bytes
      if (row.typical_growth.value_or(whole) >= kHalf * whole)
        typical_ns += row.own_ns - row.expected_ns;
    }
    for (const Row& row : kernels_) growth.longest_calls += CallsBeyondPeers(row);
    growth.peers = static_cast<uint32_t>(peers_.size());
    growth.uniform = growth.expected_ns > 0 ? grown_ns / growth.expected_ns : 0;
    growth.typical = excess_ns > 0 ? typical_ns / excess_ns : 1;
  }

  // By time: so few others are left that they say nothing.
  bool AreMostlyRouted() const {
    double routed_ns = 0;
    double all_ns = 0;
    for (const Row& row : kernels_) {
      if (!OnData(row)) continue;
      all_ns += row.expected_ns;
      routed_ns += row.routed ? row.expected_ns : 0;
    }
    return routed_ns >= kMostKernels * all_ns;
  }

  void MeasureBounds(ComputeGrowth& growth) const {
    KernelGrowths growths;
    const bool by_all = AreMostlyRouted();
    for (const Row& row : kernels_) {
      if (by_all || !row.routed)
        growths.Add(row.bound, GrowthOf(row.own_ns, row.expected_ns), row.expected_ns);
    }
    // Ranks differ by their inputs, too, which is one of the causes that are asked for: how healthy
    // devices differ is what is left.
    growth.compute = growths.compute(kDeviceSpread);
    growth.memory = growths.memory(kDeviceSpread);
    growth.parameters =
        growths.parameters(ModeratedSpread(growth.parameter_noise, peers_.size(), kDeviceSpread));
  }

  // Means over the kernels on data by the time that they are expected to take.
  void MeasureCalls(ComputeGrowth& growth) const {
    double calls = 0;
    double calls_ns = 0;
    double typical = 0;
    double typical_ns = 0;
    for (const Row& row : kernels_) {
      if (!OnData(row) || row.routed) continue;
      if (const std::optional<double> more = CallsGrowth(row)) {
        calls += *more * row.expected_ns;
        calls_ns += row.expected_ns;
      }
      if (row.typical_growth) {
        typical += *row.typical_growth * row.expected_ns;
        typical_ns += row.expected_ns;
      }
    }
    growth.calls_growth = calls_ns > 0 ? calls / calls_ns : 0;
    if (typical_ns > 0) growth.typical_growth = typical / typical_ns;
  }

  std::optional<double> CallsGrowth(const Row& row) const {
    std::vector<double> calls;
    for (size_t i = 0; i < peers_.size(); ++i) {
      if (row.peers[i] != nullptr)
        calls.push_back(static_cast<double>(row.peers[i]->count) /
                        StepsOf(*view_.ranks()[peers_[i]].batch));
    }
    const double usual = MedianOf(std::move(calls));
    if (usual <= 0) return std::nullopt;
    return GrowthOf(static_cast<double>(row.own->count) / StepsOf(own_), usual);
  }

  template <typename Counts>
  double SpreadOfPeers(Counts counts) const {
    std::vector<double> growths;
    for (size_t i = 0; i < peers_.size(); ++i) {
      double sum = 0;
      double expected = 0;
      for (const Row& row : kernels_) {
        if (!counts(row) || row.peers[i] == nullptr) continue;
        const double ns = NsOn(i, *row.peers[i]);
        sum += ns;
        expected +=
            row.routed ? ExplainedBy(row, bytes_[i], ns).value_or(row.peers_ns) : row.peers_ns;
      }
      growths.push_back(GrowthOf(sum, expected));
    }
    return kSigmaPerMad * TakeMedianAndMad(std::span(growths)).mad;
  }

  // None where a peer's calls are not known.
  static uint64_t CallsBeyondPeers(const Row& row) {
    uint16_t longest = 0;
    for (const FunctionPattern* peer : row.peers) {
      if (peer == nullptr || peer->histogram.empty()) return 0;
      longest = std::max(longest, peer->histogram.buckets().back().first);
    }
    uint64_t calls = 0;
    for (const auto& [bucket, count] : row.own->histogram.buckets())
      calls += bucket > longest ? count : 0;
    return calls;
  }

  // Of the typical duration of one call.
  static std::optional<double> TypicalGrowth(const Row& row) {
    if (row.own->histogram.empty()) return std::nullopt;
    DurationHistogram of_peers;
    for (const FunctionPattern* peer : row.peers) {
      if (peer != nullptr) of_peers.Merge(peer->histogram);
    }
    if (of_peers.empty()) return std::nullopt;
    return TypicalCallGrowth(row.own->histogram, of_peers);
  }

  // NCCL's channels of one kind of link are equally fast, whatever they carry. What ends at the
  // rank is as slow as the rank.
  std::optional<double> LinkGrowth() const {
    constexpr size_t kFewestLinks = 4;
    constexpr uint64_t kLeastBytes = 1 << 20;  // less is latency
    std::map<std::pair<Resource, uint8_t>, std::vector<double>> usual;
    for (const RankIndex peer : peers_) {
      for (const ConnectionPattern& row : view_.ranks()[peer].batch->connections) {
        if (row.peer == own_.rank.value || row.bytes < kLeastBytes || row.busy_ns <= 0 ||
            row.channels == 0)
          continue;
        usual[{row.resource, row.channels}].push_back(static_cast<double>(row.busy_ns) /
                                                      static_cast<double>(row.bytes));
      }
    }
    double own_ns = 0;
    double usual_ns = 0;
    for (const ConnectionPattern& row : own_.connections) {
      const auto like = usual.find({row.resource, row.channels});
      if (row.bytes < kLeastBytes || like == usual.end() || like->second.size() < kFewestLinks)
        continue;
      own_ns += static_cast<double>(row.busy_ns);
      usual_ns += static_cast<double>(row.bytes) * MedianOf(like->second);
    }
    if (usual_ns <= 0) return std::nullopt;
    return GrowthOf(own_ns, usual_ns);
  }

  // Weighted by time, so that short kernels, which samples smear, count little.
  void MeasureClock(ComputeGrowth& growth) const {
    double own = 0;
    double usual = 0;
    std::vector<double> of_peers(peers_.size(), 0);
    for (const Row& row : kernels_) {
      std::vector<double> mu;
      for (const FunctionPattern* peer : row.peers) {
        if (peer != nullptr && peer->resource == Resource::kGpuSm && peer->resource_samples > 0)
          mu.push_back(peer->mu);
      }
      const bool sampled = row.own->resource == Resource::kGpuSm && row.own->resource_samples > 0;
      if (!sampled || 2 * mu.size() < peers_.size() || mu.empty()) continue;
      const double median = MedianOf(std::move(mu));
      own += row.peers_ns * row.own->mu;
      usual += row.peers_ns * median;
      for (size_t i = 0; i < peers_.size(); ++i) {
        const FunctionPattern* peer = row.peers[i];
        of_peers[i] +=
            row.peers_ns * (peer != nullptr && peer->resource_samples > 0 ? peer->mu : median);
      }
    }
    if (usual <= 0) return;
    growth.clock_growth = GrowthOf(own, usual);
    for (double& sum : of_peers) sum = GrowthOf(sum, usual);
    growth.clock_noise =
        std::max(kGrowthNoise, kSigmaPerMad * TakeMedianAndMad(std::span(of_peers)).mad);
  }

  // Samples that are longer than a kernel hold the waits between kernels, too. Where ranks wait for
  // each other every few kernels, who waits less is seen as busier by so much, which hides a lower
  // clock: as if all that the peers wait more in such groups lay within the samples.
  double ClockBetweenWaits(double clock_growth) const {
    // between two waits; groups that meet less often are waited for in a stretch of its own
    constexpr double kFewKernels = 16;
    constexpr double kLongCalls = 3;  // samples a call: most of them lie inside
    double calls = 0;
    double samples = 0;
    double own_ns = 0;
    for (const Row& row : kernels_) {
      calls += static_cast<double>(row.own->count);
      samples += static_cast<double>(row.own->resource_samples);
      own_ns += row.own_ns;
    }
    if (samples >= kLongCalls * calls || own_ns <= 0) return clock_growth;
    double waits_ns = 0;
    for (const Row& row : exchanges_) {
      if (kFewKernels * static_cast<double>(row.own->count) >= calls)
        waits_ns += std::max(0.0, row.peers_ns - row.own_ns);
    }
    return (1 + clock_growth) * std::max(0.0, 1 - waits_ns / own_ns) - 1;
  }

  // The clock lies between what samples show and what they show without the waits that they hold.
  static Change ClockChange(const ComputeGrowth& growth) {
    const double clock = *growth.clock_growth;
    return ClockChangeBetween(std::min(clock, growth.clock_between_waits.value_or(clock)), clock,
                              growth.clock_noise);
  }

  KernelChanges ChangesOf(const ComputeGrowth& growth, const BusyTime& busy) const {
    KernelChanges changes;
    const auto a_call = [&growth](Change change) {
      constexpr double kFewestCalls = 0.01;  // of the usual ones
      change.value = (1 + change.value) / std::max(kFewestCalls, 1 + growth.calls_growth) - 1;
      return change;
    };
    if (growth.compute) changes[KernelMeasurement::kCompute] = a_call(*growth.compute);
    if (growth.memory) changes[KernelMeasurement::kMemory] = a_call(*growth.memory);
    changes[KernelMeasurement::kCalls] = {.value = growth.calls_growth, .error = kDeviceSpread};
    if (growth.typical_growth)
      changes[KernelMeasurement::kTypical] = {.value = *growth.typical_growth,
                                              .error = std::hypot(kDeviceSpread, kCallResolution)};
    changes[KernelMeasurement::kParameters] = growth.parameters;
    if (growth.clock_growth) changes[KernelMeasurement::kClock] = ClockChange(growth);
    if (growth.link_growth)
      changes[KernelMeasurement::kLinks] = {.value = *growth.link_growth, .error = kLinkSpread};
    changes.slow_share = busy.steps > 0 ? static_cast<double>(busy.slow_steps) / busy.steps : 1;
    return changes;
  }

  void SetCause(ComputeGrowth& growth, const BusyTime& busy) const {
    const bool grew = growth.growth >= least_growth_;
    // What bytes leave of it may be no more than all ranks differ by.
    const bool by_bytes = !grew || growth.growth <= kDeviations * growth.noise;
    const bool bytes_explain = growth.routed_ns > 0 && growth.routed_ns >= kHalf * busy.excess_ns;
    const GrowthCause routed =
        growth.routed_share >= kMostKernels ? GrowthCause::kData : GrowthCause::kRouting;
    if (by_bytes && bytes_explain) {
      growth.cause = routed;
      return;
    }
    // CPU operators share their cores with whatever else runs on a host.
    if (!grew || own_.host_only || growth.data_kernels < kFewestKernels) return;
    const DeviceCauses causes(ChangesOf(growth, busy));
    // Of two that come together it is the one that costs more.
    if (causes.is_more_work())
      growth.cause =
          bytes_explain && growth.routed_ns > growth.excess_ns() ? routed : GrowthCause::kData;
    if (!causes.is_device()) return;
    growth.cause = CauseOfDevice(causes.decided(), growth.clock_growth.has_value());
    if (growth.cause == GrowthCause::kDevice) growth.undecided = causes.of_device_undecided();
  }

  // Samples of the clock tell a shared device from a throttled one.
  static GrowthCause CauseOfDevice(std::optional<DeviceCause> decided, bool has_clock) {
    if (!decided) return GrowthCause::kDevice;
    switch (*decided) {
      case DeviceCause::kLowClock: return GrowthCause::kClock;
      case DeviceCause::kSlowMemory: return GrowthCause::kMemory;
      case DeviceCause::kShared: return has_clock ? GrowthCause::kShared : GrowthCause::kDevice;
      case DeviceCause::kPauses: return GrowthCause::kPauses;
      default: return GrowthCause::kDevice;
    }
  }

  const CrossRankView& view_;
  const PatternBatch& own_;
  const uint32_t role_;
  const double least_growth_;
  std::vector<RankIndex> peers_;
  std::vector<Row> kernels_;
  std::vector<Row> exchanges_;
  // of the exchange that differs most, a step: of the peers, last of the rank; empty: all exchange
  // the same
  std::vector<double> bytes_;
};

}  // namespace

bool IsBeyondHealthyDevices(double growth, const HealthySpread& spread, size_t ranks) {
  return static_cast<double>(ranks) * StudentTail(growth / spread.value, spread.freedom) <=
         kFalseAlarmsOfHealthyDevices;
}

bool StandsOut(const ComputeGrowth& growth, double separation_least, size_t ranks) {
  const auto stands_out = [&](double longer, double noise) {
    return longer >= separation_least * noise &&
           IsBeyondHealthyDevices(
               longer, ModeratedByOthers(noise, growth.peers, growth.elsewhere, kDeviceSpread),
               ranks);
  };
  if (stands_out(growth.growth, growth.noise)) return true;
  if (growth.cause == GrowthCause::kMemory && growth.memory &&
      stands_out(growth.memory->value, growth.memory->error))
    return true;
  return growth.parameter_noise > 0 &&
         stands_out(growth.parameter_growth.value_or(0), growth.parameter_noise);
}

ComputeGrowth MeasureComputeGrowth(const CrossRankView& view, const BusyTime& busy,
                                   double least_growth) {
  std::vector<RankIndex> peers;
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    const RankView& other = view.ranks()[i];
    if (i != busy.rank && other.role == view.ranks()[busy.rank].role && other.has_steps())
      peers.push_back(i);
  }
  return GrowthTable(view, busy.rank, peers, least_growth).Measure(busy);
}

ComputeGrowth MeasureComputeGrowth(const CrossRankView& view, const BusyTime& busy,
                                   std::span<const RankIndex> peers) {
  return GrowthTable(view, busy.rank, peers, kLeastGrowth).Measure(busy);
}

}  // namespace eroica
