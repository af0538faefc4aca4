#include "producers/import/function_classifier.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace eroica {
namespace {

template <size_t N>
bool AnyOf(std::string_view text, const std::array<std::string_view, N>& list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Lower case letters and digits only, so that "_all_gather_base", "allgather_" and "AllGather" are
// one word.
std::string Squeeze(std::string_view name) {
  std::string squeezed;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') squeezed.push_back(static_cast<char>(c - 'A' + 'a'));
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) squeezed.push_back(c);
  }
  return squeezed;
}

// The longest words first: "allreduce" holds "reduce", "allgather" holds "gather", "reducescatter"
// both.
constexpr std::array<std::pair<std::string_view, CollectiveOperation>, 12> kOperationWords = {{
    {"reducescatter", CollectiveOperation::kReduceScatter},
    {"allreduce", CollectiveOperation::kAllReduce},
    {"allgather", CollectiveOperation::kAllGather},
    {"alltoall", CollectiveOperation::kAllToAll},
    {"broadcast", CollectiveOperation::kBroadcast},
    {"barrier", CollectiveOperation::kBarrier},
    {"scatter", CollectiveOperation::kScatter},
    {"gather", CollectiveOperation::kGather},
    {"reduce", CollectiveOperation::kReduce},
    {"recv", CollectiveOperation::kRecv},
    {"receive", CollectiveOperation::kRecv},
    {"send", CollectiveOperation::kSend},
}};

CollectiveOperation OperationOfWord(std::string_view word) {
  for (const auto& [prefix, operation] : kOperationWords) {
    if (word.starts_with(prefix)) return operation;
  }
  return CollectiveOperation::kUnknown;
}

}  // namespace

TraceCategory ParseCategory(std::string_view category) {
  // Kineto's ActivityType.cpp, and what older versions and other vendors' plugins call the same.
  static constexpr std::array<std::string_view, 11> kRuntime = {
      "cuda_runtime",       "cuda_driver",  "runtime",     "hip_runtime",
      "xpu_runtime",        "xpu_driver",   "driver",      "privateuse1_runtime",
      "privateuse1_driver", "mtia_runtime", "glow_runtime"};
  static constexpr std::array<std::string_view, 5> kKernel = {"kernel", "Kernel", "hpu_op",
                                                              "mtia_ccp_events", "collective_comm"};
  // cuda_sync says on the device's time line what the host's call says on its thread.
  static constexpr std::array<std::string_view, 9> kUnwanted = {
      "Trace",     "gpu_user_annotation", "overhead", "fwdbwd", "ac2g", "async_cpu_to_gpu",
      "cuda_sync", "cuda_profiler_range", "profiler"};
  if (category == "cpu_op" || category == "Operator") return TraceCategory::kCpuOp;
  if (category == "python_function") return TraceCategory::kPython;
  if (AnyOf(category, kKernel)) return TraceCategory::kKernel;
  if (category == "gpu_memcpy" || category == "gpu_memset" || category == "Memcpy" ||
      category == "Memset")
    return TraceCategory::kGpuMemory;
  if (category == "user_annotation") return TraceCategory::kAnnotation;
  if (AnyOf(category, kRuntime)) return TraceCategory::kRuntime;
  if (AnyOf(category, kUnwanted)) return TraceCategory::kUnwanted;
  return TraceCategory::kUnknown;
}

CollectiveOperation OperationOfName(std::string_view name) {
  if (const size_t colon = name.rfind(':'); colon != std::string_view::npos)
    name.remove_prefix(colon + 1);
  return OperationOfWord(Squeeze(name));
}

CollectiveLibrary LibraryOfName(std::string_view name) {
  if (name.starts_with("nccl")) return CollectiveLibrary::kNccl;
  if (name.starts_with("gloo:")) return CollectiveLibrary::kGloo;
  if (name.starts_with("mpi:")) return CollectiveLibrary::kMpi;
  return name.starts_with("ucc:") ? CollectiveLibrary::kUcc : CollectiveLibrary::kUnknown;
}

// cudaStreamSynchronize and its kin (cuCtxSynchronize, hipEventSynchronize_spt,
// zeEventHostSynchronize, AscendCL@aclrtSynchronizeStreamWithTimeout, cnrtQueueSync), and Unified
// Runtime's urQueueFinish, urEventWait.
WaitKind WaitOfRuntimeCall(std::string_view name) {
  const bool waits = Contains(name, "Sync") || name == "urQueueFinish" || name == "urEventWait";
  return waits ? WaitKind::kPeer : WaitKind::kNone;
}

WaitKind WaitOfOperator(std::string_view name) {
  if (const size_t colon = name.rfind(':'); colon != std::string_view::npos)
    name.remove_prefix(colon + 1);
  return name == "wait_tensor" || name == "wait_tensors" ? WaitKind::kPeer : WaitKind::kNone;
}

WaitKind WaitOfAnnotation(std::string_view name) {
  if (Contains(name, "Awaitable wait()") || Contains(name, "Request wait()") ||
      Contains(name, "wait_sparse_data_dist")) {
    return WaitKind::kPeer;
  }
  return Contains(name, "wait_for_batch") ? WaitKind::kOther : WaitKind::kNone;
}

std::string StripLine(std::string_view name) {
  const size_t close = name.find("): ");
  const size_t open = close == std::string_view::npos ? close : name.rfind('(', close);
  if (open == std::string_view::npos || open + 1 == close) return std::string(name);
  const std::string_view line = name.substr(open + 1, close - open - 1);
  const bool digits =
      std::all_of(line.begin(), line.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) return std::string(name);
  return std::string(name.substr(0, open)) + std::string(name.substr(close + 1));
}

int32_t PeerOfAnnotation(std::string_view name) {
  for (const std::string_view arrow : {"->", "<-"}) {
    const size_t at = name.find(arrow);
    if (at == std::string_view::npos) continue;
    const char* const first = name.data() + at + arrow.size();
    int32_t peer = -1;
    const auto [rest, error] = std::from_chars(first, name.data() + name.size(), peer);
    return error == std::errc() && peer >= 0 ? peer : -1;
  }
  return -1;
}

int64_t StepOfAnnotation(std::string_view name) {
  constexpr std::string_view kPrefix = "ProfilerStep#";
  if (!name.starts_with(kPrefix)) return -1;
  int64_t step = -1;
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + kPrefix.size(), end, step);
  constexpr int64_t kMaxStep = int64_t{1} << 53;
  return error == std::errc() && rest == end && step >= 0 && step <= kMaxStep ? step : -1;
}

uint64_t BytesOfType(std::string_view type) {
  const std::string word = Squeeze(type);
  for (const std::string_view wide : {"double", "long", "longint", "int64", "uint64", "fp64",
                                      "complexfloat", "c10complexfloat", "unsignedlong"}) {
    if (word == wide) return 8;
  }
  for (const std::string_view four : {"float", "int", "int32", "unsignedint", "uint32", "fp32"}) {
    if (word == four) return 4;
  }
  for (const std::string_view two : {"half", "c10half", "bfloat16", "c10bfloat16", "short", "int16",
                                     "shortint", "fp16", "bf16", "bfp16"}) {
    if (word == two) return 2;
  }
  for (const std::string_view one :
       {"bool", "byte", "char", "signedchar", "unsignedchar", "int8", "uint8"}) {
    if (word == one) return 1;
  }
  return word.starts_with("float8") || word.starts_with("c10float8") ? 1 : 0;
}

}  // namespace eroica
