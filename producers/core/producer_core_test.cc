// The numbers of the C ABI are those of the schemas. Whoever adds one there has to add it here.
#include "producers/core/producer_core.h"

#include <gtest/gtest.h>

#include "schemas/capture_gap.h"
#include "schemas/drop_reason.h"
#include "schemas/event_batch.h"
#include "schemas/function.h"

namespace eroica {
namespace {

#define EROICA_SAME(number, value) static_assert((number) == static_cast<int>(value))
// A kind that C does not know would be refused by the calls, and lost without anybody noticing.
#define EROICA_COUNTED(last, count) static_assert((last) + 1 == (count))

EROICA_SAME(EROICA_GPU_COMPUTE, FunctionClass::kGpuCompute);
EROICA_SAME(EROICA_MEMORY_OP, FunctionClass::kMemoryOp);
EROICA_SAME(EROICA_COLLECTIVE, FunctionClass::kCollective);
EROICA_SAME(EROICA_PYTHON, FunctionClass::kPython);
EROICA_SAME(EROICA_CPU_OP, FunctionClass::kCpuOp);
EROICA_COUNTED(EROICA_CPU_OP, kFunctionClassCount);

EROICA_SAME(EROICA_WAIT_NONE, WaitKind::kNone);
EROICA_SAME(EROICA_WAIT_PEER, WaitKind::kPeer);
EROICA_SAME(EROICA_WAIT_OTHER, WaitKind::kOther);
EROICA_COUNTED(EROICA_WAIT_OTHER, kWaitKindCount);

EROICA_SAME(EROICA_CAPTURE_OF_DEVICE_WORK, CaptureKind::kDeviceWork);
EROICA_SAME(EROICA_CAPTURE_OF_COLLECTIVES, CaptureKind::kCollectives);
EROICA_SAME(EROICA_CAPTURE_OF_PROCESSES, CaptureKind::kProcesses);
EROICA_COUNTED(EROICA_CAPTURE_OF_PROCESSES, kCaptureKindCount);

EROICA_SAME(EROICA_HOST_THREAD, LaneKind::kHostThread);
EROICA_SAME(EROICA_TRAINING_THREAD, LaneKind::kTrainingThread);
EROICA_SAME(EROICA_DEVICE_STREAM, LaneKind::kDeviceStream);
EROICA_SAME(EROICA_ASYNCHRONOUS, LaneKind::kAsynchronous);
EROICA_COUNTED(EROICA_ASYNCHRONOUS, kLaneKindCount);

EROICA_SAME(EROICA_UNKNOWN_OPERATION, CollectiveOperation::kUnknown);
EROICA_SAME(EROICA_ALL_REDUCE, CollectiveOperation::kAllReduce);
EROICA_SAME(EROICA_ALL_GATHER, CollectiveOperation::kAllGather);
EROICA_SAME(EROICA_REDUCE_SCATTER, CollectiveOperation::kReduceScatter);
EROICA_SAME(EROICA_BROADCAST, CollectiveOperation::kBroadcast);
EROICA_SAME(EROICA_REDUCE, CollectiveOperation::kReduce);
EROICA_SAME(EROICA_ALL_TO_ALL, CollectiveOperation::kAllToAll);
EROICA_SAME(EROICA_GATHER, CollectiveOperation::kGather);
EROICA_SAME(EROICA_SCATTER, CollectiveOperation::kScatter);
EROICA_SAME(EROICA_BARRIER, CollectiveOperation::kBarrier);
EROICA_SAME(EROICA_SEND, CollectiveOperation::kSend);
EROICA_SAME(EROICA_RECV, CollectiveOperation::kRecv);
EROICA_COUNTED(EROICA_RECV, kCollectiveOperationCount);
EROICA_SAME(EROICA_UNKNOWN_LIBRARY, CollectiveLibrary::kUnknown);
EROICA_SAME(EROICA_NCCL, CollectiveLibrary::kNccl);
EROICA_SAME(EROICA_GLOO, CollectiveLibrary::kGloo);
EROICA_SAME(EROICA_MPI, CollectiveLibrary::kMpi);
EROICA_SAME(EROICA_UCC, CollectiveLibrary::kUcc);
EROICA_COUNTED(EROICA_UCC, kCollectiveLibraryCount);

EROICA_SAME(EROICA_GPU_SM, Resource::kGpuSm);
EROICA_SAME(EROICA_GPU_DRAM, Resource::kGpuDram);
EROICA_SAME(EROICA_NVLINK, Resource::kNvlink);
EROICA_SAME(EROICA_PCIE_TX, Resource::kPcieTx);
EROICA_SAME(EROICA_NIC, Resource::kNic);
EROICA_SAME(EROICA_CPU, Resource::kCpu);
EROICA_SAME(EROICA_CPU_WAIT, Resource::kCpuWait);
EROICA_SAME(EROICA_CPU_STEAL, Resource::kCpuSteal);
EROICA_SAME(EROICA_MEMORY, Resource::kMemory);
EROICA_SAME(EROICA_MEMORY_PRESSURE, Resource::kMemoryPressure);
EROICA_SAME(EROICA_DISK, Resource::kDisk);
EROICA_SAME(EROICA_HOST_NIC, Resource::kHostNic);
EROICA_SAME(EROICA_HOST_CPU, Resource::kHostCpu);
EROICA_SAME(EROICA_GPU_CLOCK, Resource::kGpuClock);
EROICA_SAME(EROICA_GPU_THROTTLED, Resource::kGpuThrottled);
EROICA_SAME(EROICA_GPU_OTHERS, Resource::kGpuOthers);
EROICA_SAME(EROICA_GPU_ERRORS, Resource::kGpuErrors);
EROICA_SAME(EROICA_STACKS, Resource::kStacks);
EROICA_COUNTED(EROICA_STACKS, kResourceCount);

EROICA_SAME(EROICA_STEP_BEGIN, MarkKind::kStepBegin);
EROICA_SAME(EROICA_STEP_END, MarkKind::kStepEnd);
EROICA_SAME(EROICA_DATALOADER_NEXT, MarkKind::kDataloaderNext);
EROICA_SAME(EROICA_OPTIMIZER_STEP, MarkKind::kOptimizerStep);
EROICA_SAME(EROICA_CHECKPOINT_BEGIN, MarkKind::kCheckpointBegin);
EROICA_SAME(EROICA_CHECKPOINT_END, MarkKind::kCheckpointEnd);
EROICA_SAME(EROICA_EVALUATION_BEGIN, MarkKind::kEvaluationBegin);
EROICA_SAME(EROICA_EVALUATION_END, MarkKind::kEvaluationEnd);
EROICA_SAME(EROICA_CAPTURE_SUSPENDED, MarkKind::kCaptureSuspended);
EROICA_SAME(EROICA_CAPTURE_RESUMED, MarkKind::kCaptureResumed);
EROICA_SAME(EROICA_FORWARD_BEGIN, MarkKind::kForwardBegin);
EROICA_SAME(EROICA_BACKWARD_BEGIN, MarkKind::kBackwardBegin);
EROICA_SAME(EROICA_OPTIMIZER_BEGIN, MarkKind::kOptimizerBegin);
EROICA_COUNTED(EROICA_OPTIMIZER_BEGIN, kMarkKindCount);

EROICA_SAME(EROICA_LOST_INTERVAL, EventKind::kInterval);
EROICA_SAME(EROICA_LOST_COLLECTIVE, EventKind::kCollective);
EROICA_SAME(EROICA_LOST_SAMPLE, EventKind::kSample);
EROICA_SAME(EROICA_LOST_MARK, EventKind::kMark);
// What is lost of whole batches only the core knows.
EROICA_COUNTED(EROICA_LOST_MARK, static_cast<int>(EventKind::kBatch));
EROICA_COUNTED(static_cast<int>(EventKind::kBatch), kEventKindCount);

static_assert(EROICA_NO_PARENT == kNoParent);

// Before eroica_attach every call is a call to nothing, misuse included.
TEST(ProducerCore, IsANoOpBeforeItIsAttached) {
  EXPECT_FALSE(eroica_enabled());
  EXPECT_EQ(eroica_rank(), -1);
  EXPECT_EQ(eroica_step(1), -1);
  EXPECT_FALSE(eroica_wants(EROICA_COLLECTIVE));
  EXPECT_EQ(eroica_collective_launched(nullptr, 1), 0u);
  eroica_collective_ended(77, 1, 2, 3, 4);
  eroica_connection(1, nullptr);
  eroica_mark(1, -5, 0);
  eroica_sample(1, 900, 2.0F);
  eroica_lost(99, 99, 1);
  EXPECT_FALSE(eroica_trains());
  EXPECT_EQ(eroica_trainer().thread, 0);
  eroica_trainer_ended(1);
  eroica_detach(1);
  EroicaCoreStatistics statistics;
  eroica_core_statistics(&statistics);
  EXPECT_EQ(statistics.events_taken + statistics.events_lost, 0u);
  EXPECT_STRNE(eroica_off_reason(), nullptr);
}

}  // namespace
}  // namespace eroica
