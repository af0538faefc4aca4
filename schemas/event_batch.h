// EventBatch in memory: what one producer of one rank saw. The wire form is schemas/event.fbs, the
// way between them schemas/codec.h. Invariants of a batch that the codec let through (invariants.h
// checks them): columns of one group are equally long; indices are in range; start times, sample
// times and mark times do not decrease; durations are not negative; rank < world_size; job is not
// empty.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/drop_reason.h"
#include "schemas/function.h"
#include "schemas/ids.h"

namespace eroica {

// kAsynchronous: no thread and no stream, but operations on host memory that are under way beside
// what the training thread runs (torch.distributed.isend, all_reduce with async_op, and Work.wait
// later). The thread waits for them where it says so, by a function of WaitKind::kPeer.
enum class LaneKind : uint8_t {
  kHostThread = 0,
  kTrainingThread = 1,
  kDeviceStream = 2,
  kAsynchronous = 3
};
inline constexpr int kLaneKindCount = 4;

// What intervals of the rank run on, or beside.
struct Lane {
  std::string name;
  LaneKind kind = LaneKind::kHostThread;
  friend bool operator==(const Lane&, const Lane&) = default;
};

enum class CollectiveOperation : uint8_t {
  kUnknown = 0,
  kAllReduce = 1,
  kAllGather = 2,
  kReduceScatter = 3,
  kBroadcast = 4,
  kReduce = 5,
  kAllToAll = 6,
  kGather = 7,
  kScatter = 8,
  kBarrier = 9,
  kSend = 10,
  kRecv = 11,
};
inline constexpr int kCollectiveOperationCount = 12;
std::string_view ToString(CollectiveOperation operation);
constexpr bool IsPointToPoint(CollectiveOperation operation) {
  return operation == CollectiveOperation::kSend || operation == CollectiveOperation::kRecv;
}

// What moves the data of a communicator. kNccl: RCCL, too, which has its names and switches.
enum class CollectiveLibrary : uint8_t { kUnknown = 0, kNccl = 1, kGloo = 2, kMpi = 3, kUcc = 4 };
inline constexpr int kCollectiveLibraryCount = 5;
// Its transfers run on threads of the process, and no device takes part.
constexpr bool RunsOnHost(CollectiveLibrary library) {
  return library == CollectiveLibrary::kGloo || library == CollectiveLibrary::kMpi;
}

struct Communicator {
  CommId id;
  std::string name;  // as the framework calls it, e.g. the process group's name
  std::string description;
  uint32_t size = 0;            // 0 where unknown
  std::vector<uint32_t> ranks;  // global ranks in group order; empty where unknown
  // in events and standings only
  CollectiveLibrary library = CollectiveLibrary::kUnknown;
  friend bool operator==(const Communicator&, const Communicator&) = default;
};

struct Collective {
  // Index of the interval that it is. Operations of a group, as in batch_isend_irecv, run as one
  // kernel: they name the same one.
  uint32_t interval = 0;
  uint16_t communicator = 0;  // index into EventBatch::communicators
  CollectiveOperation operation = CollectiveOperation::kUnknown;
  int32_t peer = -1;  // global rank, point to point only
  // counted per communicator and operation; point to point: per peer and direction
  uint64_t sequence = 0;
  uint64_t bytes = 0;
  friend bool operator==(const Collective&, const Collective&) = default;
};

// Below kCpuWait: what functions use, by which mu and sigma are measured. From there on: how the
// rank, its device and its host fare, whatever runs.
enum class Resource : uint8_t {
  kGpuSm = 0,
  kGpuDram = 1,
  kNvlink = 2,
  kPcieTx = 3,
  kNic = 4,
  kCpu = 5,
  kCpuWait = 6,   // share of time that the training thread was runnable and had no processor
  kCpuSteal = 7,  // of the host's processor time, what the hypervisor gave to others
  kMemory = 8,    // of the host's memory, what is not available
  // share of time in which some task of the host stood still for want of memory
  kMemoryPressure = 9,
  kDisk = 10,  // share of time in which the busiest disk of the host was busy
  // of its rate, what the busiest network port of the host carried in its busier direction
  kHostNic = 11,
  kHostCpu = 12,       // of the host's processor time, what was used
  kGpuClock = 13,      // of the highest SM clock, the clock
  kGpuThrottled = 14,  // 1 where the device was slowed down by heat or by its power supply, else 0
  kGpuOthers = 15,     // share of the device's time that other processes used
  kGpuErrors = 16,     // 1 where memory errors were added since the last sample, else 0
  // 1 for each stack of the training thread that a sampler has read: how many there are is what
  // functions are known by
  kStacks = 17,
  kNone = 255,
};
inline constexpr int kResourceCount = 18;
std::string_view ToString(Resource resource);

struct ResourceSample {
  int64_t time_ns = 0;
  Resource resource = Resource::kCpu;
  float value = 0;  // share in use, 0 .. 1; on the wire in steps of 1 / 65535
  friend bool operator==(const ResourceSample&, const ResourceSample&) = default;
};

enum class MarkKind : uint8_t {
  kStepBegin = 0,  // id: step number
  kStepEnd = 1,    // id: step number
  kDataloaderNext = 2,
  kOptimizerStep = 3,
  kCheckpointBegin = 4,
  kCheckpointEnd = 5,
  kEvaluationBegin = 6,
  kEvaluationEnd = 7,
  kCaptureSuspended = 8,
  kCaptureResumed = 9,
  // Where the stages of a step begin on the training thread, each where it first begins in the
  // step; the data stage begins with the step.
  kForwardBegin = 10,
  kBackwardBegin = 11,
  kOptimizerBegin = 12,
};
inline constexpr int kMarkKindCount = 13;

struct Mark {
  int64_t time_ns = 0;
  MarkKind kind = MarkKind::kStepBegin;
  int64_t id = 0;
  friend bool operator==(const Mark&, const Mark&) = default;
};

inline bool IsStepMark(const Mark& mark) {
  return mark.kind == MarkKind::kStepBegin || mark.kind == MarkKind::kStepEnd;
}

// What a connection from the rank to a peer carried since its last sample: counters of NCCL's proxy
// or of the NIC's queue pairs, or TCP_INFO. Only what the rank sends: what it receives is told by
// the other end.
struct ConnectionSample {
  int64_t time_ns = 0;  // end of the stretch that it speaks of
  uint32_t peer = 0;    // global rank at the other end
  Resource resource = Resource::kNic;
  uint64_t bytes = 0;
  int64_t busy_ns = 0;  // in which data was under way; of several channels the sum
  uint64_t retransmits = 0;
  // connections side by side that it tells of (NCCL's channels); 0: not known
  uint8_t channels = 0;
  uint32_t communicator = 0;  // 1 + index into EventBatch::communicators; 0: not known
  friend bool operator==(const ConnectionSample&, const ConnectionSample&) = default;
};

// A collective that the rank has launched and that has not ended.
struct InFlightCollective {
  uint16_t communicator = 0;  // index into EventBatch::communicators
  CollectiveOperation operation = CollectiveOperation::kUnknown;
  bool started = false;   // its kernel runs on the device, or waits there for the peers
  int32_t peer = -1;      // global rank, point to point only
  uint64_t sequence = 0;  // as Collective::sequence
  uint64_t bytes = 0;
  int64_t launched_ns = 0;  // equal of operations that run as one kernel
  // Members on different sides of one operation cannot meet: their sizes or plans disagree.
  uint8_t side = 0;
  friend bool operator==(const InFlightCollective&, const InFlightCollective&) = default;
};

// How far the rank has come with one kind of operation on a communicator. Sequence numbers as
// Collective::sequence.
struct OperationCount {
  uint16_t communicator = 0;  // index into EventBatch::communicators
  // kUnknown: all kinds, where they are numbered together
  CollectiveOperation operation = CollectiveOperation::kUnknown;
  int32_t peer = -1;       // global rank, point to point only
  uint64_t launched = 0;   // every sequence number below has been launched
  uint64_t completed = 0;  // and every one below this has ended
  friend bool operator==(const OperationCount&, const OperationCount&) = default;
};

// Where a rank stands while nothing ends: producers send one about every second as long as the rank
// makes no progress. What a hang is told by.
struct ProgressReport {
  int64_t time_ns = 0;
  int64_t step = -1;  // that the rank is in
  // that the training thread is in, index into EventBatch::functions; kNoParent where unknown. Of a
  // dump (timed_out): what launched what is in flight, else what was launched last
  uint32_t function = kNoParent;
  std::vector<InFlightCollective> in_flight;  // by communicator, operation, peer, sequence
  // by communicator, operation, peer; empty where the producer does not count
  std::vector<OperationCount> operations;
  // the framework itself gave the job up as hung (a watchdog's dump): how long it stood is not
  // known
  bool timed_out = false;
  // a capture of collectives stands still (schemas/capture_gap.h): what was launched since is not
  // known
  bool collectives_suspended = false;
  // nobody recorded which of in_flight have started: what is not `started` may be
  bool starts_unknown = false;
  // a dump (timed_out) that may be of a job that ran: nothing shows when it was written
  bool moment_unknown = false;
  friend bool operator==(const ProgressReport&, const ProgressReport&) = default;
};

struct LossEntry {
  EventKind kind = EventKind::kInterval;
  DropReason reason = DropReason::kNone;
  uint64_t count = 0;
  friend bool operator==(const LossEntry&, const LossEntry&) = default;
};

struct ClockSnapshot {
  int64_t realtime_ns = 0;
  int64_t monotonic_ns = 0;
  int64_t device_ns = 0;
  friend bool operator==(const ClockSnapshot&, const ClockSnapshot&) = default;
};

// Who sends: the same in every batch of one producer.
struct ProducerIdentity {
  JobId job;
  RankId rank;
  uint32_t world_size = 1;
  std::string role;  // empty: learnt by diagnosis
  std::string host;
  uint32_t pid = 0;
  int32_t device = -1;
  std::string producer;
  std::string producer_version;
  bool host_only = false;  // no device on this rank
  // > 0: windows are [offset + n * window_steps, offset + (n + 1) * window_steps) training steps,
  // where offset is window_offset, less than window_steps; 0: windows of time, and no offset.
  uint32_t window_steps = 0;
  uint32_t window_offset = 0;
  // When the process attached; 0: not known. Host and pid may be those of the process before, where
  // a container is started again.
  int64_t started_ns = 0;
  friend bool operator==(const ProducerIdentity&, const ProducerIdentity&) = default;
};

// Intervals as columns, by start time. All four are equally long.
struct IntervalColumns {
  std::vector<int64_t> start_ns;
  std::vector<int64_t> duration_ns;
  std::vector<uint32_t> function;  // index into EventBatch::functions
  std::vector<uint8_t> lane;       // index into EventBatch::lanes

  size_t size() const { return start_ns.size(); }
  void clear() {
    start_ns.clear();
    duration_ns.clear();
    function.clear();
    lane.clear();
  }
  void push_back(int64_t start, int64_t duration, uint32_t function_index, uint8_t lane_index) {
    start_ns.push_back(start);
    duration_ns.push_back(duration);
    function.push_back(function_index);
    lane.push_back(lane_index);
  }
  friend bool operator==(const IntervalColumns&, const IntervalColumns&) = default;
};

struct EventBatch {
  ProducerIdentity identity;
  uint64_t sequence = 0;  // from 0, without gaps
  bool final = false;     // the producer's last batch
  ClockSnapshot clock;
  // all interval, sample and mark times are multiples of it relative to the first
  uint32_t time_unit_ns = 1;
  std::vector<FunctionDef> functions;
  std::vector<Lane> lanes;
  std::vector<Communicator> communicators;
  IntervalColumns intervals;
  std::vector<Collective> collectives;        // by interval index
  std::vector<ResourceSample> samples;        // by time
  std::vector<Mark> marks;                    // by time
  std::vector<ProgressReport> progress;       // by time
  std::vector<ConnectionSample> connections;  // by time
  std::vector<LossEntry> losses;
  friend bool operator==(const EventBatch&, const EventBatch&) = default;
};

}  // namespace eroica
