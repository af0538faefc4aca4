#include "producers/import/function_classifier.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

TEST(FunctionClassifier, OperationsByAllTheirNames) {
  EXPECT_EQ(OperationOfName("nccl:all_reduce"), CollectiveOperation::kAllReduce);
  EXPECT_EQ(OperationOfName("gloo:all_gather"), CollectiveOperation::kAllGather);
  EXPECT_EQ(OperationOfName("nccl:_all_gather_base"), CollectiveOperation::kAllGather);
  EXPECT_EQ(OperationOfName("c10d::_reduce_scatter_base_"), CollectiveOperation::kReduceScatter);
  EXPECT_EQ(OperationOfName("c10d::alltoall_base_"), CollectiveOperation::kAllToAll);
  EXPECT_EQ(OperationOfName("all_to_allv"), CollectiveOperation::kAllToAll);
  EXPECT_EQ(OperationOfName("allreduce_coalesced"), CollectiveOperation::kAllReduce);
  EXPECT_EQ(OperationOfName("c10d::recv_"), CollectiveOperation::kRecv);
  EXPECT_EQ(OperationOfName("c10d::reduce_"), CollectiveOperation::kReduce);
  EXPECT_EQ(OperationOfName("aten::add"), CollectiveOperation::kUnknown);
}

TEST(FunctionClassifier, CollectiveKernels) {
  for (const char* name : {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
                           "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                           "ncclKernel_AllReduce_TREE_LL_Sum_float(ncclWorkElem)"}) {
    EXPECT_TRUE(IsCollectiveKernel(name));
    EXPECT_EQ(OperationOfKernel(name), CollectiveOperation::kAllReduce);
  }
  EXPECT_TRUE(IsCollectiveKernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"));
  EXPECT_EQ(OperationOfKernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"), CollectiveOperation::kUnknown);
  EXPECT_EQ(OperationOfKernel("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(x)"), CollectiveOperation::kReduceScatter);
  EXPECT_FALSE(IsCollectiveKernel("void gemm_kernel<float>()"));
}

TEST(FunctionClassifier, WaitsForPeersAreSymptoms) {
  EXPECT_EQ(WaitOfPythonFrame("<built-in method wait of pybind11_builtins.pybind11_detail_function_record_v1 object>"), WaitKind::kPeer);
  EXPECT_EQ(WaitOfPythonFrame("<built-in method wait of torch._C._distributed_c10d.Work object>"), WaitKind::kPeer);
  EXPECT_EQ(WaitOfPythonFrame("torch/cuda/__init__.py(783): synchronize"), WaitKind::kPeer);
  EXPECT_EQ(WaitOfRuntimeCall("cudaStreamSynchronize"), WaitKind::kPeer);
  EXPECT_EQ(WaitOfRuntimeCall("cudaStreamWaitEvent"), WaitKind::kNone);  // the stream waits, the host does not
  EXPECT_EQ(WaitOfOperator("_c10d_functional::wait_tensor"), WaitKind::kPeer);
}

TEST(FunctionClassifier, OtherWaitsAreWhereToLookFurther) {
  for (const char* name :
       {"<built-in method acquire of _thread.lock object>", "<built-in method poll of select.poll object>", "<built-in function select>",
        "<built-in method recv_into of SSLSocket object>", "<built-in method __enter__ of _thread.lock object>", "threading.py(295): wait",
        "multiprocessing/queues.py(98): get", "python3.11/selectors.py(402): select"}) {
    EXPECT_EQ(WaitOfPythonFrame(name), WaitKind::kOther) << name;
  }
}

TEST(FunctionClassifier, WorkIsNoWait) {
  for (const char* name :
       {"<built-in function sleep>", "<built-in method get of dict object>", "train.py(10): wait", "train.py(20): synchronize",
        "<built-in method recv of pybind11_builtins.pybind11_detail_function_record_v1 object>", "nn.Module: Block_0", "x"}) {
    EXPECT_EQ(WaitOfPythonFrame(name), WaitKind::kNone) << name;
  }
}

TEST(FunctionClassifier, NamesAreEqualOnAllRanks) {
  EXPECT_EQ(StripAddress("<built-in method get of dict object at 0x7ff32c314800>"), "<built-in method get of dict object>");
  EXPECT_EQ(StripAddress("<a at 0x1F> and <b at 0xab>"), "<a> and <b>");
  EXPECT_EQ(StripLine("train.py(220): main"), "train.py: main");
  EXPECT_EQ(StripLine("f(x).py(1): <lambda>"), "f(x).py: <lambda>");
  for (const char* name : {"<built-in function len>", "nn.Module: Block_0", "a(b): c", "(): x", ""}) EXPECT_EQ(StripLine(name), name);
}

TEST(FunctionClassifier, StepsAndTypes) {
  EXPECT_EQ(StepOfAnnotation("ProfilerStep#1009"), 1'009);
  for (const char* name : {"ProfilerStep#", "ProfilerStep#-1", "ProfilerStep#1x", "ProfilerStep", "ProfilerStep#99999999999999999999"}) {
    EXPECT_EQ(StepOfAnnotation(name), -1) << name;
  }
  EXPECT_EQ(BytesOfType("float"), 4u);
  EXPECT_EQ(BytesOfType("long int"), 8u);
  EXPECT_EQ(BytesOfType("c10::BFloat16"), 2u);
  EXPECT_EQ(BytesOfType("signed char"), 1u);
  EXPECT_EQ(BytesOfType("TensorList"), 0u);
}

}  // namespace
}  // namespace eroica
