#include "diagnosis/compute_growth.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "diagnosis/robust_statistics.h"
#include "diagnosis/symptom.h"

namespace eroica {
namespace {

constexpr size_t kMostPeers = 64;
constexpr size_t kFewestPoints = 4;     // of a line through the ranks
constexpr double kNoiseFloor = 0.002;   // nobody measures growth better
constexpr double kLeastGrowth = 0.03;   // below it causes look alike: devices of one kind differ by so much
constexpr double kHalf = 0.5;           // "grew as the others": more than half of their growth ...
constexpr double kQuarter = 0.25;       // ... "did not": less than a quarter; between them nobody can tell
constexpr double kMostKernels = 0.8;    // by time
constexpr uint32_t kFewestKernels = 3;  // that grew alike: of one or two nobody can say that it is all of them
constexpr double kMostSteps = 0.75;
constexpr double kClockDeviations = 6;
constexpr double kUnevenBytes = 0.02;  // exchanges of equal size differ by nothing; padding and headers by less
constexpr double kLeastCorrelation = 0.9;
// Of growth in time to growth in bytes. Bytes may count what is sent and what is received, of which one side alone grows with the work: then time grows twice as much.
constexpr double kLeastSlope = 0.4;
constexpr double kMostSlope = 2.5;

double StepsOf(const PatternBatch& batch) { return batch.steps.empty() ? 1.0 : static_cast<double>(batch.steps.size()); }

double GrowthOf(double own, double peers) { return peers > 0 ? own / peers - 1 : 0; }

double MedianOf(std::vector<double> values) { return Median(std::span(values)); }

// One kernel or exchange on the rank and on those peers that have a row of it. Positions of own: the last.
struct Row {
  const FunctionPattern* own = nullptr;
  std::vector<const FunctionPattern*> peers;  // by peer; nullptr: too small for a row there, or not run
  double own_ns = 0;                          // a step
  double peers_ns = 0;                        // median over the peers that have it
  bool routed = false;
};

class GrowthTable {
 public:
  GrowthTable(const CrossRankView& view, RankIndex rank) : view_(view), own_(*view.ranks()[rank].batch) {
    std::vector<RankIndex> all;
    for (RankIndex i = 0; i < view.ranks().size(); ++i) {
      const RankView& other = view.ranks()[i];
      if (i != rank && other.role == view.ranks()[rank].role && !other.batch->silent && !other.batch->steps.empty()) all.push_back(i);
    }
    const size_t count = std::min(all.size(), kMostPeers);
    for (size_t i = 0; i < count; ++i) peers_.push_back(all[i * all.size() / count]);
    for (const FunctionPattern& pattern : own_.patterns) AddRow(pattern);
  }

  ComputeGrowth Measure(const BusyTime& busy) {
    ComputeGrowth growth;
    FindRouted(growth);
    SumUp(growth);
    MeasureClock(growth);
    growth.cause = CauseOf(growth, busy);
    return growth;
  }

 private:
  void AddRow(const FunctionPattern& pattern) {
    const bool exchange = pattern.function_class == FunctionClass::kCollective;
    const bool kernel = pattern.function_class == (own_.host_only ? FunctionClass::kCpuOp : FunctionClass::kGpuCompute);
    if (!exchange && (!kernel || pattern.wait == WaitKind::kPeer)) return;
    Row row{.own = &pattern};
    row.own_ns = static_cast<double>(pattern.critical_ns) / StepsOf(own_);
    const FunctionColumn* column = view_.FindFunction(pattern.function);
    std::vector<double> times;
    auto at = column->rank.begin();
    for (const RankIndex peer : peers_) {
      at = std::lower_bound(at, column->rank.end(), peer);
      const bool has = at != column->rank.end() && *at == peer;
      row.peers.push_back(has ? column->pattern[static_cast<size_t>(at - column->rank.begin())] : nullptr);
      if (has) times.push_back(NsOn(row.peers.size() - 1, *row.peers.back()));
    }
    if (2 * times.size() < peers_.size() || times.empty()) return;
    row.peers_ns = MedianOf(std::move(times));
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
      bytes.push_back(static_cast<double>(row.peers[i]->bytes) / StepsOf(*view_.ranks()[peers_[i]].batch));
    }
    bytes.push_back(static_cast<double>(row.own->bytes) / StepsOf(own_));
    return bytes;
  }

  static bool Varies(const std::vector<double>& values) {
    if (values.size() < kFewestPoints) return false;
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    return *most - *least > kUnevenBytes * MedianOf(values);
  }

  // The exchange whose bytes differ most between the rank and its peers, and the kernels that take longer where it moves more.
  void FindRouted(ComputeGrowth& growth) {
    std::vector<double> bytes;
    for (const Row& row : exchanges_) {
      std::vector<double> of_row = BytesOf(row);
      if (!Varies(of_row)) continue;
      const double own = GrowthOf(of_row.back(), MedianOf(of_row));
      if (growth.bytes_growth && std::abs(own) <= std::abs(*growth.bytes_growth)) continue;
      growth.bytes_growth = own;
      growth.exchange = row.own;
      bytes = std::move(of_row);
    }
    if (bytes.empty()) return;
    for (Row& row : kernels_) {
      row.routed = FollowsBytes(row, bytes);
      if (!row.routed) continue;
      growth.routed_ns += row.own_ns - row.peers_ns;
      growth.routed_own_ns += row.own_ns;
      growth.routed_peers_ns += row.peers_ns;
      // Kernels of the same layer take the same time, or nearly so: the first by identity, so that the choice is the same in all windows.
      if (growth.routed == nullptr) growth.routed = row.own;
    }
  }

  bool FollowsBytes(const Row& row, const std::vector<double>& bytes) const {
    std::vector<double> x;
    std::vector<double> y;
    for (size_t i = 0; i < peers_.size(); ++i) {
      if (row.peers[i] == nullptr) continue;
      x.push_back(bytes[i]);
      y.push_back(NsOn(i, *row.peers[i]));
    }
    x.push_back(bytes.back());
    y.push_back(row.own_ns);
    if (x.size() < kFewestPoints) return false;
    const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
    const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / static_cast<double>(y.size());
    double xx = 0;
    double xy = 0;
    double yy = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      xx += (x[i] - mean_x) * (x[i] - mean_x);
      xy += (x[i] - mean_x) * (y[i] - mean_y);
      yy += (y[i] - mean_y) * (y[i] - mean_y);
    }
    if (xx <= 0 || yy <= 0 || mean_y <= 0) return false;
    const double slope = xy / xx * mean_x / mean_y;
    return xy / std::sqrt(xx * yy) >= kLeastCorrelation && slope >= kLeastSlope && slope <= kMostSlope;
  }

  bool OnData(const Row& row) const { return !row.routed && !WorksOnParameters(row.own->name); }

  void SumUp(ComputeGrowth& growth) const {
    double own = 0;
    double parameters_own = 0;
    double parameters_peers = 0;
    for (const Row& row : kernels_) {
      if (OnData(row)) {
        own += row.own_ns;
        growth.peers_ns += row.peers_ns;
      } else if (!row.routed) {
        parameters_own += row.own_ns;
        parameters_peers += row.peers_ns;
      }
    }
    growth.growth = GrowthOf(own, growth.peers_ns);
    growth.noise = std::max(kNoiseFloor, SpreadOfPeers(growth.peers_ns));
    if (parameters_peers > 0) growth.parameter_growth = GrowthOf(parameters_own, parameters_peers);
    double grown_ns = 0;
    double excess_ns = 0;
    double typical_ns = 0;
    for (const Row& row : kernels_) {
      const double of_kernel = GrowthOf(row.own_ns, row.peers_ns);
      if (!OnData(row)) continue;
      if (of_kernel >= kHalf * growth.growth) {
        grown_ns += row.peers_ns;
        ++growth.grown_kernels;
      }
      if (of_kernel <= 0) continue;
      excess_ns += row.own_ns - row.peers_ns;
      if (MedianGrowth(row).value_or(of_kernel) >= kHalf * of_kernel) typical_ns += row.own_ns - row.peers_ns;
    }
    growth.uniform = growth.peers_ns > 0 ? grown_ns / growth.peers_ns : 0;
    growth.typical = excess_ns > 0 ? typical_ns / excess_ns : 1;
  }

  double SpreadOfPeers(double peers_ns) const {
    std::vector<double> growths;
    for (size_t i = 0; i < peers_.size(); ++i) {
      double sum = 0;
      for (const Row& row : kernels_) {
        if (OnData(row)) sum += row.peers[i] != nullptr ? NsOn(i, *row.peers[i]) : row.peers_ns;
      }
      growths.push_back(GrowthOf(sum, peers_ns));
    }
    return kSigmaPerMad * TakeMedianAndMad(std::span(growths)).mad;
  }

  // Of the median duration of one call.
  static std::optional<double> MedianGrowth(const Row& row) {
    if (row.own->histogram.empty()) return std::nullopt;
    std::vector<double> medians;
    for (const FunctionPattern* peer : row.peers) {
      if (peer != nullptr && !peer->histogram.empty()) medians.push_back(static_cast<double>(peer->histogram.Quantile(0.5)));
    }
    if (medians.empty()) return std::nullopt;
    return GrowthOf(static_cast<double>(row.own->histogram.Quantile(0.5)), MedianOf(std::move(medians)));
  }

  // Weighted by time, so that short kernels, which samples smear, count little.
  void MeasureClock(ComputeGrowth& growth) const {
    double own = 0;
    double usual = 0;
    std::vector<double> of_peers(peers_.size(), 0);
    for (const Row& row : kernels_) {
      std::vector<double> mu;
      for (const FunctionPattern* peer : row.peers) {
        if (peer != nullptr && peer->resource == Resource::kGpuSm && peer->resource_samples > 0) mu.push_back(peer->mu);
      }
      const bool sampled = row.own->resource == Resource::kGpuSm && row.own->resource_samples > 0;
      if (!sampled || 2 * mu.size() < peers_.size() || mu.empty()) continue;
      const double median = MedianOf(std::move(mu));
      own += row.peers_ns * row.own->mu;
      usual += row.peers_ns * median;
      for (size_t i = 0; i < peers_.size(); ++i) {
        const FunctionPattern* peer = row.peers[i];
        of_peers[i] += row.peers_ns * (peer != nullptr && peer->resource_samples > 0 ? peer->mu : median);
      }
    }
    if (usual <= 0) return;
    growth.clock_growth = GrowthOf(own, usual);
    for (double& sum : of_peers) sum = GrowthOf(sum, usual);
    growth.clock_noise = std::max(kNoiseFloor, kSigmaPerMad * TakeMedianAndMad(std::span(of_peers)).mad);
  }

  GrowthCause CauseOf(const ComputeGrowth& growth, const BusyTime& busy) const {
    const bool grew = growth.growth >= kLeastGrowth;
    if (!grew && growth.bytes_growth.value_or(0) > 0 && growth.routed_ns >= kHalf * busy.excess_ns) return GrowthCause::kRouting;
    if (!grew || own_.host_only) return GrowthCause::kUnclear;        // CPU operators share their cores with whatever else runs on a host
    const double slower_clock = growth.growth / (1 + growth.growth);  // what explains all of the growth
    const double clock = growth.clock_growth.value_or(0);
    if (-clock >= std::max(kHalf * slower_clock, kClockDeviations * growth.clock_noise)) return GrowthCause::kClock;
    const bool every_kernel = growth.uniform >= kMostKernels;
    if (every_kernel && growth.parameter_growth && *growth.parameter_growth >= kHalf * growth.growth) {
      if (growth.typical < kHalf) return GrowthCause::kPauses;
      const bool clock_known = growth.clock_growth && kClockDeviations * growth.clock_noise <= kHalf * slower_clock;
      // What comes and goes within a window may be a clock that dropped between two samples of it.
      return clock_known && busy.slow_steps >= kMostSteps * busy.steps ? GrowthCause::kShared : GrowthCause::kDevice;
    }
    // Inputs that are larger in most steps lengthen most calls.
    if (growth.typical < kHalf && busy.slow_steps >= kMostSteps * busy.steps) return GrowthCause::kPauses;
    const bool parameters_alike = growth.parameter_growth && *growth.parameter_growth <= kQuarter * growth.growth;
    if (every_kernel && growth.grown_kernels >= kFewestKernels && parameters_alike && growth.typical >= kMostKernels)
      return GrowthCause::kData;
    return GrowthCause::kUnclear;
  }

  const CrossRankView& view_;
  const PatternBatch& own_;
  std::vector<RankIndex> peers_;
  std::vector<Row> kernels_;
  std::vector<Row> exchanges_;
};

}  // namespace

bool WorksOnParameters(std::string_view kernel) {
  // PyTorch's fused and foreach optimizers, apex, Transformer Engine, and what they are called in other frameworks.
  static constexpr std::array<std::string_view, 9> kParts = {"multi_tensor_apply", "adam",    "optimizer", "sgd", "adagrad",
                                                             "adafactor",          "rmsprop", "lambstage", "muon"};
  std::string lower(kernel);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::any_of(kParts.begin(), kParts.end(), [&lower](std::string_view part) { return lower.find(part) != std::string::npos; });
}

ComputeGrowth MeasureComputeGrowth(const CrossRankView& view, const BusyTime& busy) { return GrowthTable(view, busy.rank).Measure(busy); }

}  // namespace eroica
