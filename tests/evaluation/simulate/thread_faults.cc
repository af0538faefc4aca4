// Faults of the training thread, the host's and the code's: functions that it runs or waits in, and
// all that it does taking longer.
#include <algorithm>
#include <span>

#include "tests/evaluation/simulate/fault_effects.h"
#include "tests/evaluation/simulate/noise.h"

namespace eroica::simulate {
namespace {

struct ThreadFunction {
  Phase phase;
  std::string_view stack;  // callers
  std::string_view name;
  FunctionClass function_class = FunctionClass::kPython;
  WaitKind wait = WaitKind::kNone;
};

constexpr std::string_view kItem =
    "train.py: main > dataloader.py: __next__ > dataset.py: __getitem__";
constexpr std::string_view kLoader = "train.py: main > dataloader.py: __next__";
constexpr std::string_view kForward =
    "train.py: main > train.py: train_step > schedules.py: forward_step";
constexpr std::string_view kModel =
    "train.py: main > train.py: train_step > schedules.py: forward_step > gpt_model.py: forward";
constexpr std::string_view kBackward =
    "train.py: main > train.py: train_step > schedules.py: backward_step";
constexpr std::string_view kAutograd =
    "train.py: main > train.py: train_step > schedules.py: backward_step > "
    "torch/autograd/graph.py: _engine_run_backward";
constexpr std::string_view kOptimizer =
    "train.py: main > train.py: train_step > optimizer.py: step";
constexpr std::string_view kLogging = "train.py: main > train.py: training_log";

constexpr ThreadFunction kStorageRead[] = {
    {Phase::kData,
     "train.py: main > dataloader.py: __next__ > dataset.py: __getitem__ > storage.py: read > "
     "socket.py: readinto",
     "<built-in method recv_into of _socket.socket>", FunctionClass::kPython, WaitKind::kOther}};
constexpr ThreadFunction kLoaderQueue[] = {
    {Phase::kData, "train.py: main > dataloader.py: __next__ > dataloader.py: _get_data",
     "queue.py: get", FunctionClass::kPython, WaitKind::kOther}};
constexpr ThreadFunction kPinning[] = {
    {Phase::kData, "train.py: main > dataloader.py: __next__ > pin_memory.py: pin_memory",
     "<built-in method pin_memory of Tensor>"}};
constexpr ThreadFunction kCollections[] = {
    {Phase::kData, kItem, "<built-in function collect>"},
    {Phase::kData, kLoader, "<built-in function collect>"},
    {Phase::kForward, kForward, "<built-in function collect>"},
    {Phase::kForward, kModel, "<built-in function collect>"},
    {Phase::kBackward, kBackward, "<built-in function collect>"},
    {Phase::kBackward, kAutograd, "<built-in function collect>"},
    {Phase::kOptimizer, kOptimizer, "<built-in function collect>"},
    {Phase::kStepEnd, kLogging, "<built-in function collect>"}};
constexpr ThreadFunction kRetries[] = {
    {Phase::kForward, kModel, "cudaFree", FunctionClass::kCpuOp},
    {Phase::kForward, kModel, "cudaMalloc", FunctionClass::kCpuOp}};
constexpr ThreadFunction kMasks[] = {{Phase::kForward, kModel, "masks.py: build_attention_mask"}};
constexpr ThreadFunction kStatistics[] = {
    {Phase::kForward, kForward, "metrics.py: record_activation_histogram"}};
constexpr ThreadFunction kFullQueue[] = {
    {Phase::kData, "train.py: main > dataloader.py: __next__ > dataset.py: _preload",
     "queue.py: put", FunctionClass::kPython, WaitKind::kOther}};

std::span<const ThreadFunction> ThreadFunctionsOf(FaultKind kind) {
  switch (kind) {
    case FaultKind::kStorageSlow:
    case FaultKind::kStorageSlowEverywhere: return kStorageRead;
    case FaultKind::kDataLoaderSlow: return kLoaderQueue;
    case FaultKind::kPinMemory: return kPinning;
    case FaultKind::kGarbageCollection: return kCollections;
    case FaultKind::kMemoryFragmentation: return kRetries;
    case FaultKind::kCpuBoundForward: return kMasks;
    case FaultKind::kSlowFunction: return kStatistics;
    case FaultKind::kHostHang: return kFullQueue;
    default: return {};
  }
}

void Insert(const FaultMoment& moment, StepEffects& effects) {
  for (const PlannedFunction& run : moment.fault.functions) {
    effects.insertions.push_back(
        {.phase = run.phase, .function = run.function, .duration_ns = moment.fault.duration_ns});
  }
}

// Reads and queues take now longer, now shorter, evenly.
void Wait(const FaultMoment& moment, StepEffects& effects) {
  const PlannedFunction& waited = moment.fault.functions.front();
  const double spread = moment.fault.shape.wait_spread;
  const int64_t duration_ns =
      Scale(moment.fault.duration_ns, ToFactor(1 - spread + 2 * spread * UniformOf(moment.key)));
  effects.insertions.push_back(
      {.phase = waited.phase, .function = waited.function, .duration_ns = duration_ns});
}

void CollectGarbage(const FaultMoment& moment, StepEffects& effects) {
  if (UniformOf(moment.key) >= moment.fault.shape.collecting_share) return;
  const PlannedFunction& interrupted =
      moment.fault.functions[Mix(moment.key) % moment.fault.functions.size()];
  effects.insertions.push_back({.phase = interrupted.phase,
                                .function = interrupted.function,
                                .duration_ns = moment.fault.duration_ns});
}

void SlowThread(const FaultMoment& moment, StepEffects& effects) {
  Multiply(effects.host, moment.amount);
}

void StealProcessor(const FaultMoment& moment, StepEffects& effects) {
  Multiply(effects.host, moment.amount);
  const uint64_t stolen = kUnit - Inverse(moment.amount);
  Multiply(effects.cpu_level,
           kUnit - static_cast<Factor>(stolen * ToFactor(moment.fault.shape.seen_share) >> 16));
}

void SlowAttention(const FaultMoment& moment, StepEffects& effects) {
  Multiply(effects.kernel[static_cast<size_t>(KernelKind::kAttention)], moment.amount);
}

}  // namespace

std::vector<PlannedFunction> FunctionsOf(const Fault& fault, FunctionCatalog& catalog) {
  std::vector<PlannedFunction> functions;
  std::span<const ThreadFunction> runs = ThreadFunctionsOf(fault.kind);
  if (fault.kind == FaultKind::kGarbageCollection)
    runs = runs.first(std::min<size_t>(runs.size(), fault.shape.collecting_places));
  for (const ThreadFunction& run : runs) {
    functions.push_back(
        {.phase = run.phase,
         .function = catalog.Add(run.stack, run.name, run.function_class, run.wait)});
  }
  return functions;
}

FaultEffect FindThreadFault(FaultKind kind) {
  switch (kind) {
    case FaultKind::kStorageSlow:
    case FaultKind::kStorageSlowEverywhere:
    case FaultKind::kDataLoaderSlow: return Wait;
    case FaultKind::kPinMemory:
    case FaultKind::kCpuBoundForward:
    case FaultKind::kSlowFunction: return Insert;
    case FaultKind::kGarbageCollection: return CollectGarbage;
    case FaultKind::kGilContention: return SlowThread;
    case FaultKind::kCpuStolen: return StealProcessor;
    case FaultKind::kCodeRegression: return SlowAttention;
    default: return nullptr;
  }
}

}  // namespace eroica::simulate
