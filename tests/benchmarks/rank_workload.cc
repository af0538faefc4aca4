#include "tests/benchmarks/rank_workload.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <random>
#include <string>

namespace eroica {
namespace {

constexpr int64_t kMicrosecond = 1000;
enum LaneIndex : uint8_t { kMain = 0, kAutograd = 1, kCompute = 2, kCopy = 3, kNetwork = 4 };

class Workload {
 public:
  explicit Workload(const WorkloadOptions& options) : options_(options), random_(options.rank) {
    DefineFunctions();
    for (int step = 0; step < options_.steps; ++step) Step(step);
    SortByStart();
  }
  std::vector<EventBatch> Cut() const;

 private:
  struct Row {
    int64_t start;
    int64_t duration;
    uint32_t function;
    uint8_t lane;
    uint64_t bytes;  // > 0: a collective
  };
  struct LayerFunctions {
    std::vector<uint32_t> frames;  // layer, attention, projection, mlp and what they call
    std::vector<uint32_t> operators;
    std::vector<uint32_t> kernels;
  };

  uint32_t Define(std::string name, FunctionClass function_class, uint32_t parent = kNoParent,
                  WaitKind wait = WaitKind::kNone) {
    functions_.push_back({std::move(name), function_class, wait, parent});
    return static_cast<uint32_t>(functions_.size() - 1);
  }
  void DefineFunctions();
  void Step(int step);
  void Forward(const LayerFunctions& layer);
  void Backward(const LayerFunctions& layer);
  void Operator(const LayerFunctions& layer, size_t index, uint8_t lane, int64_t* now);
  void Communicate(uint32_t function, int64_t duration);
  void SortByStart();
  void Add(uint32_t function, uint8_t lane, int64_t start, int64_t end, uint64_t bytes = 0) {
    rows_.push_back({start, end - start, function, lane, bytes});
  }
  int64_t About(int64_t ns) {
    return ns - ns / 8 + static_cast<int64_t>(random_() % static_cast<uint64_t>(ns / 4));
  }

  WorkloadOptions options_;
  std::mt19937_64 random_;
  std::vector<FunctionDef> functions_;
  std::vector<LayerFunctions> layers_;
  uint32_t train_step_ = 0, forward_ = 0, backward_ = 0, next_batch_ = 0, optimizer_ = 0;
  uint32_t copy_to_device_ = 0, reduce_scatter_ = 0, all_gather_ = 0, fused_adam_ = 0;
  std::vector<Row> rows_;
  std::vector<Mark> marks_;
  int64_t host_ns_ = int64_t{1'700'000'000} * 1'000'000'000;
  int64_t device_free_ns_ = 0;
  int64_t network_free_ns_ = 0;
};

void Workload::DefineFunctions() {
  train_step_ = Define("train.py(120): train_step", FunctionClass::kPython);
  next_batch_ = Define("loader.py(80): __next__", FunctionClass::kPython, train_step_);
  forward_ = Define("model.py(200): forward", FunctionClass::kPython, train_step_);
  backward_ = Define("autograd.py(340): backward", FunctionClass::kPython, train_step_);
  optimizer_ = Define("optimizer.py(90): step", FunctionClass::kPython, train_step_);
  copy_to_device_ = Define("Memcpy HtoD (Pinned -> Device)", FunctionClass::kMemoryOp);
  reduce_scatter_ =
      Define("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", FunctionClass::kCollective);
  all_gather_ = Define("ncclDevKernel_AllGather_RING_LL", FunctionClass::kCollective);
  fused_adam_ = Define("void multi_tensor_apply_kernel<FusedAdam>", FunctionClass::kGpuCompute);
  const char* calls[] = {"norm",       "query_key_value", "rotary", "attention", "dropout",
                         "projection", "residual",        "up",     "gelu",      "down"};
  for (int i = 0; i < options_.layers; ++i) {
    LayerFunctions& layer = layers_.emplace_back();
    layer.frames.push_back(
        Define("nn.Module: Layer_" + std::to_string(i), FunctionClass::kPython, forward_));
    for (const char* call : calls) {
      const uint32_t frame =
          Define(std::string("layer.py(50): ") + call, FunctionClass::kPython, layer.frames[0]);
      layer.frames.push_back(frame);
      layer.frames.push_back(
          Define(std::string("functional.py(10): ") + call, FunctionClass::kPython, frame));
      if (i > 0) continue;  // kernels and operators are the same in every layer
      layer.operators.push_back(Define(std::string("aten::") + call, FunctionClass::kCpuOp));
      layer.kernels.push_back(Define(std::string("void ") + call + "_kernel<bf16, 128, 64, 32>",
                                     FunctionClass::kGpuCompute));
    }
    layer.operators = layers_[0].operators;
    layer.kernels = layers_[0].kernels;
  }
}

// A host operator and the kernel that it launches.
void Workload::Operator(const LayerFunctions& layer, size_t index, uint8_t lane, int64_t* now) {
  const int64_t start = *now;
  const int64_t work = options_.host_only ? About(20 * kMicrosecond) : About(5 * kMicrosecond);
  *now += work;
  Add(layer.operators[index], lane, start, *now);
  if (options_.host_only) return;
  const int64_t launch = std::max(device_free_ns_ + 800, start + 4 * kMicrosecond);
  device_free_ns_ = launch + About(18 * kMicrosecond);
  Add(layer.kernels[index], kCompute, launch, device_free_ns_);
}

void Workload::Forward(const LayerFunctions& layer) {
  const int64_t start = host_ns_;
  host_ns_ += 2 * kMicrosecond;
  for (size_t call = 0; call * 2 + 2 < layer.frames.size(); ++call) {
    const int64_t outer = host_ns_;
    host_ns_ += kMicrosecond;
    const int64_t inner = host_ns_;
    host_ns_ += 500;
    Operator(layer, call, kMain, &host_ns_);
    host_ns_ += 500;
    Add(layer.frames[call * 2 + 2], kMain, inner, host_ns_);
    host_ns_ += kMicrosecond;
    Add(layer.frames[call * 2 + 1], kMain, outer, host_ns_);
  }
  host_ns_ += kMicrosecond;
  Add(layer.frames[0], kMain, start, host_ns_);
  Communicate(all_gather_, 120 * kMicrosecond);
}

void Workload::Backward(const LayerFunctions& layer) {
  for (size_t call = layer.operators.size(); call-- > 0;) {
    for (int half = 0; half < 2; ++half) Operator(layer, call, kAutograd, &host_ns_);
    host_ns_ += kMicrosecond;
  }
  Communicate(reduce_scatter_, 260 * kMicrosecond);
}

void Workload::Communicate(uint32_t function, int64_t duration) {
  const int64_t start = std::max(
      {network_free_ns_ + 5 * kMicrosecond, host_ns_, device_free_ns_ - 40 * kMicrosecond});
  network_free_ns_ = start + About(duration);
  Add(function, kNetwork, start, network_free_ns_, 25'000'000);
}

void Workload::Step(int step) {
  const int64_t begin =
      std::max(host_ns_, std::max(device_free_ns_, network_free_ns_)) + 10 * kMicrosecond;
  host_ns_ = begin;
  marks_.push_back({begin, MarkKind::kStepBegin, step});
  host_ns_ += About(300 * kMicrosecond);
  Add(next_batch_, kMain, begin + 1, host_ns_);
  if (!options_.host_only) {
    for (int i = 0; i < 64; ++i)
      Add(copy_to_device_, kCopy, begin + i * 4 * kMicrosecond,
          begin + i * 4 * kMicrosecond + About(3 * kMicrosecond));
  }
  const int64_t forward = host_ns_;
  for (const LayerFunctions& layer : layers_) Forward(layer);
  Add(forward_, kMain, forward, host_ns_);
  const int64_t backward = host_ns_;
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) Backward(*layer);
  host_ns_ = std::max(host_ns_, network_free_ns_);
  Add(backward_, kMain, backward, host_ns_);
  const int64_t optimizer = host_ns_;
  host_ns_ += About(900 * kMicrosecond);
  if (!options_.host_only) {
    device_free_ns_ = std::max(device_free_ns_, optimizer) + About(800 * kMicrosecond);
    Add(fused_adam_, kCompute, device_free_ns_ - 700 * kMicrosecond, device_free_ns_);
  }
  Add(optimizer_, kMain, optimizer, host_ns_);
  host_ns_ = std::max(host_ns_, device_free_ns_);
  Add(train_step_, kMain, begin, host_ns_);
  marks_.push_back({host_ns_, MarkKind::kStepEnd, step});
}

void Workload::SortByStart() {
  std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
    return a.start != b.start ? a.start < b.start : a.duration > b.duration;
  });
}

std::vector<EventBatch> Workload::Cut() const {
  std::vector<EventBatch> batches;
  size_t mark = 0;
  int64_t sample_ns = rows_.front().start;
  std::array<uint64_t, 2> sequence{};
  for (size_t first = 0; first < rows_.size(); first += options_.intervals_per_batch) {
    const size_t last = std::min(first + options_.intervals_per_batch, rows_.size());
    EventBatch& batch = batches.emplace_back();
    batch.identity = {.job = JobId{options_.job},
                      .rank = RankId{options_.rank},
                      .world_size = options_.world_size,
                      .role = "",
                      .host = "host",
                      .pid = 1,
                      .device = 0,
                      .producer = "workload",
                      .producer_version = "1",
                      .host_only = options_.host_only,
                      .window_steps = options_.window_steps};
    batch.sequence = batches.size() - 1;
    batch.final = last == rows_.size();
    batch.functions = functions_;
    batch.lanes = {{"main", LaneKind::kTrainingThread},
                   {"autograd", LaneKind::kHostThread},
                   {"stream 7", LaneKind::kDeviceStream},
                   {"stream 8", LaneKind::kDeviceStream},
                   {"stream 20", LaneKind::kDeviceStream}};
    std::vector<uint32_t> members(options_.world_size);
    std::iota(members.begin(), members.end(), 0u);
    batch.communicators = {{CommId{77}, "default_pg", "", options_.world_size, members}};
    for (size_t i = first; i < last; ++i) {
      const Row& row = rows_[i];
      if (row.bytes > 0) {
        const bool gather = row.function == all_gather_;
        batch.collectives.push_back({.interval = static_cast<uint32_t>(batch.intervals.size()),
                                     .communicator = 0,
                                     .operation = gather ? CollectiveOperation::kAllGather
                                                         : CollectiveOperation::kReduceScatter,
                                     .peer = -1,
                                     .sequence = sequence[gather ? 1 : 0]++,
                                     .bytes = row.bytes});
      }
      batch.intervals.push_back(row.start, row.duration, row.function, row.lane);
    }
    const int64_t end = batch.final ? std::numeric_limits<int64_t>::max() : rows_[last].start;
    while (mark < marks_.size() && marks_[mark].time_ns < end)
      batch.marks.push_back(marks_[mark++]);
    for (; options_.samples && sample_ns < rows_[last - 1].start; sample_ns += 100 * kMicrosecond) {
      const float value = static_cast<float>(sample_ns / (100 * kMicrosecond) % 10) / 10;
      for (Resource resource : {Resource::kGpuSm, Resource::kNic, Resource::kCpu})
        batch.samples.push_back({sample_ns, resource, value});
    }
  }
  return batches;
}

}  // namespace

std::vector<EventBatch> MakeRankWorkload(const WorkloadOptions& options) {
  return Workload(options).Cut();
}

}  // namespace eroica
