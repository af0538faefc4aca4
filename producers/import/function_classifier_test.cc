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

TEST(FunctionClassifier, LibrariesByTheirNames) {
  EXPECT_EQ(LibraryOfName("nccl:all_reduce"), CollectiveLibrary::kNccl);
  EXPECT_EQ(LibraryOfName("ncclDevKernel_AllGather_RING_LL"), CollectiveLibrary::kNccl);
  EXPECT_EQ(LibraryOfName("gloo:recv 3<-0"), CollectiveLibrary::kGloo);
  EXPECT_EQ(LibraryOfName("mpi:all_reduce"), CollectiveLibrary::kMpi);
  EXPECT_EQ(LibraryOfName("ucc:all_reduce"), CollectiveLibrary::kUcc);
  EXPECT_EQ(LibraryOfName("xccl:all_reduce"), CollectiveLibrary::kUnknown);
}

TEST(FunctionClassifier, WaitsForPeersAreSymptoms) {
  EXPECT_EQ(WaitOfRuntimeCall("cudaStreamSynchronize"), WaitKind::kPeer);
  for (const char* name :
       {"cuCtxSynchronize", "hipEventSynchronize_spt", "zeEventHostSynchronize",
        "AscendCL@aclrtSynchronizeStreamWithTimeout", "cnrtQueueSync", "urQueueFinish"}) {
    EXPECT_EQ(WaitOfRuntimeCall(name), WaitKind::kPeer) << name;
  }
  // The stream waits, the host does not.
  for (const char* name : {"cudaStreamWaitEvent", "cudaMemcpyAsync", "AscendCL@aclrtMemcpyAsync"})
    EXPECT_EQ(WaitOfRuntimeCall(name), WaitKind::kNone) << name;
  EXPECT_EQ(WaitOfOperator("_c10d_functional::wait_tensor"), WaitKind::kPeer);
}

TEST(FunctionClassifier, NamesAreEqualOnAllRanks) {
  EXPECT_EQ(StripLine("train.py(220): main"), "train.py: main");
  EXPECT_EQ(StripLine("f(x).py(1): <lambda>"), "f(x).py: <lambda>");
  for (const char* name : {"<built-in function len>", "nn.Module: Block_0", "a(b): c", "(): x", ""})
    EXPECT_EQ(StripLine(name), name);
}

TEST(FunctionClassifier, StepsAndTypes) {
  EXPECT_EQ(StepOfAnnotation("ProfilerStep#1009"), 1'009);
  for (const char* name : {"ProfilerStep#", "ProfilerStep#-1", "ProfilerStep#1x", "ProfilerStep",
                           "ProfilerStep#99999999999999999999"}) {
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
