// Brings together what a trace tells of one collective in several places: the enqueue (c10d::*),
// the record inside it (record_param_comms) and the annotation around it (nccl:*), the kernel's
// launch, and the execution (a kernel, or gloo:*), none of which says which of the others it
// belongs to. One collector a rank, fed in file order, in any order of time.
//
// Sends and receives of a group (batch_isend_irecv) run as one kernel that is launched behind their
// enqueues and says nothing of them (pytorch issue 194693): it carries those that its thread has
// enqueued since the kernel before.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "producers/import/collective_args.h"
#include "producers/import/flight_recorder_dump.h"
#include "producers/import/rank_trace.h"

namespace eroica {

class CollectiveCalls {
 public:
  struct Span {
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    uint8_t lane = 0;
  };

  void AddEnqueue(Span span, CollectiveOperation operation, CollectiveArgs args);
  // What a thread records of an operation while it enqueues it.
  void AddRecord(Span span, CollectiveArgs args);
  // peer: of a send or receive, within the group; -1 where the annotation does not say it.
  void AddAnnotation(Span span, CollectiveOperation operation, int32_t peer,
                     const CollectiveArgs& args);
  void AddLaunch(Span span, uint64_t correlation);
  // Both return the index of the call in RankTrace::collectives.
  uint32_t AddKernel(Span span, CollectiveOperation operation, CollectiveLibrary library,
                     CollectiveArgs args);
  uint32_t AddExecution(Span span, CollectiveOperation operation, CollectiveLibrary library,
                        CollectiveArgs args);

  // Fills trace->collectives. dump: the rank's, empty where there is none.
  void Finish(FlightRecorderDump dump, RankTrace* trace);

 private:
  // 96 MiB; kernels launched beyond it keep the operation of their name
  static constexpr size_t kMaxLaunches = size_t{4} << 20;

  struct Enqueue {
    Span span;
    CollectiveOperation operation;
    CollectiveArgs args;
    int32_t group = -1;
    int64_t sequence = -1;
    bool taken = false;
  };
  struct Annotation {
    Span span;
    CollectiveOperation operation;
    uint64_t bytes = 0;
  };
  struct Launch {
    uint64_t correlation = 0;
    int64_t start_ns = 0;
    uint8_t lane = 0;
  };
  struct Execution {
    Span span;
    CollectiveOperation operation;
    CollectiveLibrary library;
    CollectiveArgs args;
    bool kernel = false;
  };

  // The operations that a kernel may carry; of more nobody has heard.
  static constexpr size_t kMaxOperationsOfKernel = 256;

  void JoinRecords();
  void JoinDump(FlightRecorderDump dump, RankTrace* trace);
  void JoinExecutions(RankTrace* trace);
  void JoinKernels(RankTrace* trace);
  void JoinGroups(RankTrace* trace);
  void AddWhatNeverRan(RankTrace* trace);
  const Launch* FindLaunch(const Execution& kernel) const;
  Enqueue* FindEnqueue(const Execution& execution, size_t* first_open);
  const Annotation* FindAnnotation(const Launch& launch) const;
  Enqueue* FindEnqueueAround(const Launch& launch);

  std::vector<Enqueue> enqueues_;
  std::vector<Enqueue> records_;   // of sends and receives
  std::vector<Enqueue> launched_;  // records of collectives
  std::vector<Annotation> annotations_;
  std::vector<Launch> launches_;
  std::vector<Execution> executions_;
};

}  // namespace eroica
