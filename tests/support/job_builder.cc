#include "tests/support/job_builder.h"

#include <algorithm>
#include <utility>

namespace eroica::testing {
namespace {

constexpr int64_t kUs = 1'000;
constexpr int64_t kStart = 1'700'000'000'000'000'000;  // some day of 2023
constexpr int64_t kBetweenRuns = 60'000'000 * kUs;
constexpr int64_t kSkew = 1'300 * kUs;  // between the clocks of neighboring ranks
constexpr int64_t kLoad = 300 * kUs;
constexpr int64_t kCopy = 40 * kUs;
constexpr int64_t kMatrix = 220 * kUs;
constexpr int64_t kPointwise = 30 * kUs;
constexpr int64_t kTransfer = 150 * kUs;
constexpr int64_t kOptimizer = 120 * kUs;
constexpr int64_t kHostGap = 15 * kUs;
constexpr int64_t kSamplePeriod = 250 * kUs;
constexpr int kBuckets = 2;

// Rows of every batch's function table. Parents come first.
enum Function : uint32_t {
  kTrainStep,
  kNextBatch,
  kSlowRead,
  kSynchronize,
  kMatrixMultiply,
  kActivation,
  kHostToDevice,
  kAllReduce,
  kAdam,
  kFunctionCount
};
enum LaneIndex : uint8_t { kMainThread, kComputeStream, kCommunicationStream };

std::vector<FunctionDef> FunctionTable() {
  std::vector<FunctionDef> table(kFunctionCount);
  table[kTrainStep] = {"train.py: train_step", FunctionClass::kPython, WaitKind::kNone, kNoParent};
  table[kNextBatch] = {"loader.py: next_batch", FunctionClass::kPython, WaitKind::kNone,
                       kTrainStep};
  table[kSlowRead] = {kSlowFunction, FunctionClass::kPython, WaitKind::kNone, kNextBatch};
  table[kSynchronize] = {"cudaStreamSynchronize", FunctionClass::kCpuOp, WaitKind::kPeer,
                         kNoParent};
  table[kMatrixMultiply] = {kMatrixKernel, FunctionClass::kGpuCompute, WaitKind::kNone, kNoParent};
  table[kActivation] = {"fused_gelu", FunctionClass::kGpuCompute, WaitKind::kNone, kNoParent};
  table[kHostToDevice] = {"Memcpy HtoD", FunctionClass::kMemoryOp, WaitKind::kNone, kNoParent};
  table[kAllReduce] = {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", FunctionClass::kCollective,
                       WaitKind::kNone, kNoParent};
  table[kAdam] = {"multi_tensor_adam", FunctionClass::kGpuCompute, WaitKind::kNone, kNoParent};
  return table;
}

uint64_t Mix(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

struct Interval {
  int64_t start = 0;
  int64_t duration = 0;
  Function function = kTrainStep;
  LaneIndex lane = kMainThread;
  uint64_t sequence = 0;  // of a collective
};

// One rank while the job is being acted out, in true time.
struct RankTrace {
  int64_t now = 0;      // the main thread
  int64_t device = 0;   // the compute stream is free from here
  int64_t network = 0;  // the communication stream is free from here
  int64_t step_begin = 0;
  std::vector<int64_t> ready;  // of the step's collectives
  std::vector<Interval> intervals;
  std::vector<Mark> marks;
};

class Job {
 public:
  explicit Job(const JobOptions& options) : options_(options), ranks_(options.ranks) {
    for (RankTrace& rank : ranks_) rank.now = start_;
  }

  std::vector<EventBatch> Build() {
    for (int step = 0; step < options_.steps; ++step) {
      for (uint32_t rank = 0; rank < options_.ranks; ++rank) Compute(rank, step);
      for (int bucket = 0; bucket < kBuckets; ++bucket) Communicate(bucket, step);
      for (uint32_t rank = 0; rank < options_.ranks; ++rank) Finish(rank, step);
    }
    std::vector<EventBatch> batches;
    for (uint32_t rank = 0; rank < options_.ranks; ++rank) Cut(rank, &batches);
    return batches;
  }

 private:
  // +- 1 %, never the same for two operations.
  int64_t Jitter(int64_t duration, uint32_t rank, int step, int operation) const {
    const uint64_t h = Mix(Mix(Mix(options_.seed + rank) + static_cast<uint64_t>(step)) +
                           static_cast<uint64_t>(operation));
    return duration + duration * (static_cast<int64_t>(h % 2001) - 1000) / 100'000;
  }

  bool IsCulprit(uint32_t rank, JobFault fault) const {
    return options_.fault == fault && rank == options_.culprit;
  }

  double WorkFactor(uint32_t rank) const {
    if (IsCulprit(rank, JobFault::kSlowKernel)) return options_.factor;
    if (options_.fault != JobFault::kDataImbalance || options_.ranks < 2) return 1;
    return 1 + (options_.factor - 1) * rank / (options_.ranks - 1);
  }

  bool ReadsSlowly(uint32_t rank, int step) const {
    return IsCulprit(rank, JobFault::kSlowPython) ||
           (IsCulprit(rank, JobFault::kSlowPythonOften) && step % 2 == 0);
  }

  int64_t StepTime() const {
    return kLoad + kCopy + options_.layers * 3 * (kMatrix + kPointwise) + kTransfer + kOptimizer;
  }

  // Data loading, forward and backward: all that a rank does without the others.
  void Compute(uint32_t number, int step) {
    RankTrace& rank = ranks_[number];
    rank.step_begin = rank.now;
    rank.marks.push_back({rank.now, MarkKind::kStepBegin, step});
    rank.marks.push_back({rank.now, MarkKind::kDataloaderNext, step});
    const int64_t load_begin = rank.now + kHostGap;
    int64_t load_end = load_begin + Jitter(kLoad, number, step, 1);
    if (ReadsSlowly(number, step)) {
      const auto read = static_cast<int64_t>(static_cast<double>(StepTime()) * options_.factor);
      rank.intervals.push_back({load_end, Jitter(read, number, step, 2), kSlowRead, kMainThread});
      load_end += rank.intervals.back().duration + kHostGap;
    }
    rank.intervals.push_back({load_begin, load_end - load_begin, kNextBatch, kMainThread});
    rank.now = load_end;
    rank.device = load_end + kHostGap;
    Run(&rank, kHostToDevice, Jitter(kCopy, number, step, 3));
    rank.ready.clear();
    for (int layer = 0; layer < 3 * options_.layers;
         ++layer) {  // a third forward, two thirds backward
      Run(&rank, kMatrixMultiply,
          static_cast<int64_t>(static_cast<double>(Jitter(kMatrix, number, step, 10 + layer)) *
                               WorkFactor(number)));
      Run(&rank, kActivation, Jitter(kPointwise, number, step, 100 + layer));
      if (layer == 2 * options_.layers || layer + 1 == 3 * options_.layers)
        rank.ready.push_back(rank.device);
    }
  }

  void Run(RankTrace* rank, Function function, int64_t duration) {
    rank->intervals.push_back({rank->device, duration, function, kComputeStream});
    rank->device += duration + kUs;
  }

  // Nobody leaves before the last one has come.
  void Communicate(int bucket, int step) {
    int64_t last = 0;
    for (RankTrace& rank : ranks_)
      last = std::max({last, rank.ready[static_cast<size_t>(bucket)], rank.network});
    const double slow = options_.fault == JobFault::kSlowNetwork ? options_.factor : 1;
    const int64_t end =
        last +
        static_cast<int64_t>(static_cast<double>(Jitter(kTransfer, 0, step, 200 + bucket)) * slow);
    const auto sequence = static_cast<uint64_t>(step) * kBuckets + static_cast<uint64_t>(bucket);
    for (RankTrace& rank : ranks_) {
      const int64_t start = std::max(rank.ready[static_cast<size_t>(bucket)], rank.network);
      rank.intervals.push_back({start, end - start, kAllReduce, kCommunicationStream, sequence});
      rank.network = end + kUs;
    }
  }

  void Finish(uint32_t number, int step) {
    RankTrace& rank = ranks_[number];
    rank.device = std::max(rank.device, rank.network);
    Run(&rank, kAdam, Jitter(kOptimizer, number, step, 4));
    rank.intervals.push_back(
        {rank.now + kHostGap, rank.device - rank.now - kHostGap, kSynchronize, kMainThread});
    rank.marks.push_back({rank.device - kOptimizer, MarkKind::kOptimizerStep, step});
    rank.now = rank.device + kHostGap;
    rank.intervals.push_back(
        {rank.step_begin, rank.now - rank.step_begin, kTrainStep, kMainThread});
    rank.marks.push_back({rank.now, MarkKind::kStepEnd, step});
    rank.now += kUs;
  }

  // Into batches, by start time; what a batch says of samples and marks ends where the next batch
  // begins.
  void Cut(uint32_t number, std::vector<EventBatch>* batches) const {
    RankTrace rank = ranks_[number];
    std::stable_sort(rank.intervals.begin(), rank.intervals.end(),
                     [](const Interval& a, const Interval& b) {
                       return std::pair(a.start, -a.duration) < std::pair(b.start, -b.duration);
                     });
    const int64_t skew = kSkew * number;
    int64_t sample_time = start_;
    size_t mark = 0;
    uint64_t sequence = 0;
    for (size_t begin = 0; begin < rank.intervals.size();) {
      const size_t end = std::min(begin + options_.batch_events, rank.intervals.size());
      const bool final = end == rank.intervals.size();
      const int64_t until = final ? rank.now + 1 : rank.intervals[end].start;
      EventBatch batch = Empty(number, sequence++);
      batch.final = final && !options_.killed;
      for (; begin < end; ++begin) AddInterval(rank.intervals[begin], skew, &batch);
      for (; mark < rank.marks.size() && rank.marks[mark].time_ns < until; ++mark) {
        batch.marks.push_back(rank.marks[mark]);
        batch.marks.back().time_ns += skew;
      }
      for (; sample_time < until; sample_time += kSamplePeriod) {
        batch.samples.push_back({sample_time + skew, Resource::kGpuSm,
                                 IsComputing(rank, sample_time) ? 0.875f : 0.125f});
      }
      batches->push_back(std::move(batch));
    }
  }

  EventBatch Empty(uint32_t rank, uint64_t sequence) const {
    EventBatch batch;
    batch.identity = {JobId(options_.job),
                      RankId(rank),
                      options_.ranks,
                      "",
                      "host-" + std::to_string(rank / 8),
                      100 + rank,
                      static_cast<int32_t>(rank % 8),
                      "job_builder",
                      "1",
                      false,
                      options_.window_steps};
    if (!options_.same_pids) batch.identity.pid += 1'000 * options_.run;
    batch.identity.started_ns = start_;
    batch.sequence = sequence;
    batch.functions = FunctionTable();
    batch.lanes = {{"main", LaneKind::kTrainingThread},
                   {"stream 7", LaneKind::kDeviceStream},
                   {"stream 20", LaneKind::kDeviceStream}};
    Communicator world{CommId(0xc0ffee), "0", "default_pg", options_.ranks, {}};
    for (uint32_t i = 0; i < options_.ranks; ++i) world.ranks.push_back(i);
    batch.communicators = {std::move(world)};
    return batch;
  }

  static void AddInterval(const Interval& interval, int64_t skew, EventBatch* batch) {
    if (interval.function == kAllReduce) {
      const auto index = static_cast<uint32_t>(batch->intervals.size());
      batch->collectives.push_back(
          {index, 0, CollectiveOperation::kAllReduce, -1, interval.sequence, uint64_t{25} << 20});
    }
    batch->intervals.push_back(interval.start + skew, interval.duration, interval.function,
                               interval.lane);
  }

  static bool IsComputing(const RankTrace& rank, int64_t time) {
    auto it =
        std::upper_bound(rank.intervals.begin(), rank.intervals.end(), time,
                         [](int64_t t, const Interval& interval) { return t < interval.start; });
    for (int back = 0; back < 4 && it != rank.intervals.begin();
         ++back) {  // kernels follow each other on one stream
      --it;
      if (it->lane == kComputeStream && time < it->start + it->duration) return true;
    }
    return false;
  }

  const JobOptions options_;
  const int64_t start_ = kStart + options_.run * kBetweenRuns;
  std::vector<RankTrace> ranks_;
};

}  // namespace

std::vector<EventBatch> BuildJob(const JobOptions& options) { return Job(options).Build(); }

}  // namespace eroica::testing
