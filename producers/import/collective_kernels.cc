#include "producers/import/collective_kernels.h"

#include <algorithm>
#include <array>
#include <string>

namespace eroica {
namespace {

using enum CollectiveOperation;

// The kernel's own name, without return type, arguments and those of templates, as lower case
// letters and digits: "void deep_ep::intranode::combine<__nv_bfloat16, 8>(int4*)" is
// "deepepintranodecombine". Of a mangled name all is kept.
std::string OwnName(std::string_view name) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  std::string own;
  int depth = 0;
  for (size_t at = 0; at < name.size(); ++at) {
    const char c = name[at];
    if (name.substr(at).starts_with(kAnonymous)) {
      at += kAnonymous.size() - 1;
    } else if (c == '<') {
      ++depth;
    } else if (c == '>') {
      depth = std::max(0, depth - 1);
    } else if (depth > 0) {
      continue;
    } else if (c == '(') {
      break;
    } else if (c >= 'A' && c <= 'Z') {
      own.push_back(static_cast<char>(c - 'A' + 'a'));
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      own.push_back(c);
    } else if (c == ' ') {
      own.clear();  // what stood before was the return type
    }
  }
  return own;
}

bool HasPart(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

struct Word {
  std::string_view part;
  CollectiveOperation operation;
};

// A kernel whose name holds one of these operations exchanges data with other ranks, whatever its
// library. PyTorch's symmetric memory (CUDASymmetricMemoryOps.cu: multimem_all_reduce_kernel,
// one_shot_all_reduce_kernel, two_shot_all_reduce_kernel_inplace, multimem_all_gather_kernel),
// IntraNodeComm.cu (oneShotAllReduceKernel, hybridCubeMeshAllReduceKernel), TensorRT-LLM and
// FlashInfer (twoShotAllReduceKernel, one_shot_prenorm_all_reduce_norm_kernel,
// allreduce_fusion_kernel_oneshot_lamport, twoshot_allreduce_kernel), QuickReduce of vLLM, SGLang
// and AITER (allreduce_prototype_twoshot), oneCCL (oneccl_allreduce_pcie, oneccl_allgatherv_pcie),
// NVSHMEM (alltoall_on_stream_kernel), PyTorch's nvshmem_extension.cu (allToAllV).
constexpr std::array<Word, 4> kJointOperations = {{
    {"reducescatter", kReduceScatter},
    {"allreduce", kAllReduce},
    {"allgather", kAllGather},
    {"alltoall", kAllToAll},
}};

// Kernels of other names that wait for peers.
struct Family {
  std::string_view library;                      // a part of the own name; empty: any
  std::string_view part;                         // likewise
  std::optional<CollectiveOperation> operation;  // nothing: it works alone
};
constexpr auto kFamilies = std::to_array<Family>({
    // vLLM, SGLang and AITER, custom_all_reduce.cuh: cross_device_reduce_1stage, _2stage.
    {"", "crossdevicereduce", kAllReduce},
    // TensorRT-LLM and FlashInfer, mnnvlTwoShotAllreduceKernels.cu: RMSNormLamport waits for what
    // peers wrote.
    {"", "lamport", kAllReduce},
    // DeepEP, csrc/kernels/{intranode,internode,internode_ll}.cu: dispatch, combine,
    // notify_dispatch, cached_notify_combine, barrier, clean_low_latency_buffer. Its namespace
    // layout works alone.
    {"deepep", "dispatchlayout", std::nullopt},
    {"deepep", "dispatch", kAllToAll},
    {"deepep", "combine", kAllToAll},
    {"deepep", "cachednotify", kAllToAll},
    {"deepep", "barrier", kBarrier},
    {"deepep", "cleanlowlatency", kBarrier},
    // DeepEP's branch hybrid-ep.
    {"hybridep", "dispatch", kAllToAll},
    {"hybridep", "combine", kAllToAll},
    // Ports of DeepEP: UCCL's, examples/device/ep of NIXL (namespace nixl_ep), NCCL EP (nccl_ep).
    {"nixlep", "dispatch", kAllToAll},
    {"nixlep", "combine", kAllToAll},
    {"ncclep", "dispatch", kAllToAll},
    {"ncclep", "combine", kAllToAll},
    {"uccl", "dispatch", kAllToAll},
    {"uccl", "combine", kAllToAll},
    // MORI of AMD: EpDispatchIntraNodeKernel, EpCombineInterNodeKernel.
    {"", "epdispatchint", kAllToAll},
    {"", "epcombineint", kAllToAll},
    // pplx-kernels: a2a_dispatch_recv_kernel; TensorRT-LLM: moeA2ADispatchKernel.
    {"", "a2adispatch", kAllToAll},
    {"", "a2acombine", kAllToAll},
    {"pplx", "dispatch", kAllToAll},
    {"pplx", "combine", kAllToAll},
    // PyTorch, CUDASymmetricMemory.cu: barrier_kernel, wait_signal_kernel, put_signal_kernel;
    // CUDASymmetricMemoryOps.cu: multimem_one_shot_reduce_kernel; nvshmem_extension.cu:
    // exchangeSplitAndOffset.
    {"symmetricmemory", "barrier", kBarrier},
    {"", "barrierkernel", kBarrier},
    {"", "waitsignalkernel", kUnknown},
    {"", "putsignalkernel", kUnknown},
    {"", "multimem", kAllReduce},
    {"", "exchangesplitandoffset", kAllToAll},
    // NVSHMEM's host library: barrier_on_stream_kernel_threadgroup, sync_on_stream_kernel,
    // rdxn_on_stream_kernel, fcollect_on_stream_kernel, broadcast_on_stream_kernel,
    // signal_wait_until_on_stream_kernel.
    {"onstreamkernel", "barrier", kBarrier},
    {"onstreamkernel", "sync", kBarrier},
    {"onstreamkernel", "rdxn", kAllReduce},
    {"onstreamkernel", "fcollect", kAllGather},
    {"onstreamkernel", "broadcast", kBroadcast},
    {"onstreamkernel", "wait", kUnknown},
    {"", "nvshmem", kUnknown},
    // TransformerEngine and TensorRT-LLM, userbuffers.cu: userbuffers_fp16_sum_inplace_gpu_rw,
    // kuserbuffers_pushsend.
    {"", "userbuffers", kUnknown},
    // MSCCL++.
    {"", "mscclpp", kUnknown},
});

// Prefixes of libraries whose kernels are all operations of several ranks. HCCL of CANN writes
// hcom_allReduce__128_4_1 (hccl's operation names: hcom_broadcast_, hcom_send_,
// hcom_batchSendRecv_); oneCCL's SYCL kernels begin with oneccl_.
constexpr std::array<std::string_view, 3> kLibraries = {"hcom", "hcclbatch", "oneccl"};

// The longest words first: "allreduce" holds "reduce".
constexpr std::array<Word, 10> kLibraryWords = {{
    {"reducescatter", kReduceScatter},
    {"allreduce", kAllReduce},
    {"allgather", kAllGather},
    {"alltoall", kAllToAll},
    {"broadcast", kBroadcast},
    {"barrier", kBarrier},
    {"batchsendrecv", kUnknown},
    {"reduce", kReduce},
    {"receive", kRecv},
    {"send", kSend},
}};

CollectiveOperation OperationIn(std::string_view own) {
  for (const Word& word : kLibraryWords) {
    if (HasPart(own, word.part)) return word.operation;
  }
  return kUnknown;
}

std::optional<CollectiveOperation> JointOperation(std::string_view own) {
  for (const Word& word : kJointOperations) {
    const size_t at = own.find(word.part);
    if (at == std::string_view::npos) continue;
    const bool small = at >= 2 && own.substr(at - 2, 2) == "sm";  // "smallReduce", "smallGather"
    if (!small) return word.operation;
  }
  return std::nullopt;
}

// TorchInductor names its kernels by the operators that it fuses, collectives and waits for them
// among these; the kernel itself works alone.
bool IsInductorKernel(std::string_view name) {
  return name.starts_with("triton_") && HasPart(name, "_fused_");
}

CollectiveOperation OperationOfNccl(std::string_view name) {
  for (const Word& word : {Word{"AllReduce", kAllReduce}, Word{"AllGather", kAllGather},
                           Word{"ReduceScatter", kReduceScatter}, Word{"Broadcast", kBroadcast},
                           Word{"AllToAll", kAllToAll}, Word{"Reduce", kReduce}}) {
    if (HasPart(name, word.part)) return word.operation;
  }
  return kUnknown;
}

}  // namespace

bool IsNcclKernel(std::string_view name) {
  // mcclKernel_SendRecv_RING_SIMPLE_Sum_int8_t: MCCL, which Moore Threads made of NCCL.
  for (const std::string_view prefix : {"nccl", "rccl", "msccl", "mccl"}) {
    if (name.starts_with(prefix) &&
        (HasPart(name, "Kernel") || HasPart(name, "Symk") || HasPart(name, "kernel")))
      return true;
  }
  return false;
}

std::optional<CollectiveOperation> CollectiveKernel(std::string_view name) {
  if (IsNcclKernel(name)) return OperationOfNccl(name);
  if (IsInductorKernel(name)) return std::nullopt;
  const std::string own = OwnName(name);
  for (const std::string_view library : kLibraries) {
    if (own.starts_with(library)) return OperationIn(own);
  }
  if (const std::optional<CollectiveOperation> joint = JointOperation(own)) return joint;
  for (const Family& family : kFamilies) {
    if (HasPart(own, family.library) && HasPart(own, family.part)) return family.operation;
  }
  return std::nullopt;
}

std::string_view WithoutInstance(std::string_view name) {
  if (!name.starts_with("hcom_") && !name.starts_with("hccl_")) return name;
  const size_t numbers = name.find("__");
  return numbers == std::string_view::npos ? name : name.substr(0, numbers + 1);
}

}  // namespace eroica
