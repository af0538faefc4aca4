// The C ABI between Eroica's core inside a training process (libproducer_core.so) and the producers
// that feed it: the Python package, the CUPTI library, the NCCL profiler plugin, the host samplers.
// One core a process, whoever loads it first; plain C, so that ctypes and other languages can call.
//
// Promises to the host process. No call throws, prints, ends the process or waits for a lock that a
// training thread holds. Calls marked [hot] neither allocate nor lock nor make a system call; where
// there is no room they drop the newest event and count it. Calls marked [setup] may lock and
// allocate, in bounds: callers keep what these return. Every call is thread-safe, and a no-op
// before eroica_attach, after eroica_detach, in a forked child and where Eroica is switched off.
//
// Times are nanoseconds of eroica_now_ns: the wall clock as it was when the core attached, advanced
// by CLOCK_MONOTONIC, so that a clock that is set does not disturb the order of events.
//
// Numbers of enumerations are those of the schemas (schemas/function.h, schemas/event_batch.h);
// they are repeated here because C knows no enum class, and producer_core_test.cc holds them
// together.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EROICA_NO_PARENT UINT32_MAX
#define EROICA_NO_SEQUENCE UINT64_MAX  // the core counts: per communicator, operation and peer

// eroica::FunctionClass
enum {
  EROICA_GPU_COMPUTE = 0,
  EROICA_MEMORY_OP = 1,
  EROICA_COLLECTIVE = 2,
  EROICA_PYTHON = 3,
  EROICA_CPU_OP = 4
};
// eroica::WaitKind
enum { EROICA_WAIT_NONE = 0, EROICA_WAIT_PEER = 1, EROICA_WAIT_OTHER = 2 };
// eroica::LaneKind
enum {
  EROICA_HOST_THREAD = 0,
  EROICA_TRAINING_THREAD = 1,
  EROICA_DEVICE_STREAM = 2,
  EROICA_ASYNCHRONOUS = 3
};
// eroica::CollectiveOperation
enum {
  EROICA_UNKNOWN_OPERATION = 0,
  EROICA_ALL_REDUCE = 1,
  EROICA_ALL_GATHER = 2,
  EROICA_REDUCE_SCATTER = 3,
  EROICA_BROADCAST = 4,
  EROICA_REDUCE = 5,
  EROICA_ALL_TO_ALL = 6,
  EROICA_GATHER = 7,
  EROICA_SCATTER = 8,
  EROICA_BARRIER = 9,
  EROICA_SEND = 10,
  EROICA_RECV = 11,
};
// eroica::CollectiveLibrary
enum {
  EROICA_UNKNOWN_LIBRARY = 0,
  EROICA_NCCL = 1,
  EROICA_GLOO = 2,
  EROICA_MPI = 3,
  EROICA_UCC = 4
};
// eroica::Resource
enum {
  EROICA_GPU_SM = 0,
  EROICA_GPU_DRAM = 1,
  EROICA_NVLINK = 2,
  EROICA_PCIE_TX = 3,
  EROICA_NIC = 4,
  EROICA_CPU = 5,
  EROICA_CPU_WAIT = 6,
  EROICA_CPU_STEAL = 7,
  EROICA_MEMORY = 8,
  EROICA_MEMORY_PRESSURE = 9,
  EROICA_DISK = 10,
  EROICA_HOST_NIC = 11,
  EROICA_HOST_CPU = 12,
  EROICA_GPU_CLOCK = 13,
  EROICA_GPU_THROTTLED = 14,
  EROICA_GPU_OTHERS = 15,
  EROICA_GPU_ERRORS = 16,
  EROICA_STACKS = 17,
};
// eroica::MarkKind
enum {
  EROICA_STEP_BEGIN = 0,
  EROICA_STEP_END = 1,
  EROICA_DATALOADER_NEXT = 2,
  EROICA_OPTIMIZER_STEP = 3,
  EROICA_CHECKPOINT_BEGIN = 4,
  EROICA_CHECKPOINT_END = 5,
  EROICA_EVALUATION_BEGIN = 6,
  EROICA_EVALUATION_END = 7,
  EROICA_CAPTURE_SUSPENDED = 8,
  EROICA_CAPTURE_RESUMED = 9,
  EROICA_FORWARD_BEGIN = 10,
  EROICA_BACKWARD_BEGIN = 11,
  EROICA_OPTIMIZER_BEGIN = 12,
};
// eroica::CaptureKind: what EROICA_CAPTURE_SUSPENDED and EROICA_CAPTURE_RESUMED speak of, in the
// lowest 8 bits of their id. Above: of collectives the activation mask that somebody else has set;
// of processes that say they are the same rank how many were refused, which the core itself says.
enum {
  EROICA_CAPTURE_OF_DEVICE_WORK = 0,
  EROICA_CAPTURE_OF_COLLECTIVES = 1,
  EROICA_CAPTURE_OF_PROCESSES = 2
};
// eroica::EventKind, of what was lost
enum {
  EROICA_LOST_INTERVAL = 0,
  EROICA_LOST_COLLECTIVE = 1,
  EROICA_LOST_SAMPLE = 2,
  EROICA_LOST_MARK = 3
};

// ---- Life

// What the framework knows of this process; what it leaves out (NULL, -1, 0) is taken from the
// environment: EROICA_RANK, RANK, SLURM_PROCID, OMPI_COMM_WORLD_RANK, PMI_RANK and the like.
typedef struct {
  const char* component;  // who attaches: "python", "cupti", "nccl"; for messages
  int64_t rank;           // -1: from the environment
  int64_t world_size;     // -1: from the environment
  const char* role;       // position in the parallel layout, e.g. "pp1"; NULL: learnt by diagnosis
  int32_t device;         // index of the rank's accelerator on its host; -1: none, or not known yet
} EroicaAttachOptions;

// Starts the core in this process, once; later calls add what they know. True where events are now
// taken. False: switched off (EROICA_DISABLE), no destination (neither EROICA_RECORDING nor
// EROICA_BOOTSTRAP), not a rank, a child of a process that is attached and keeps its rank, or
// something failed: training continues, and one line on standard error says why (nothing where
// Eroica was not asked for). [setup]
bool eroica_attach(const EroicaAttachOptions* options);
// Sends what is there, for at most timeout_ms, says how much was lost, and stops. At exit the core
// does it by itself. [setup]
void eroica_detach(uint32_t timeout_ms);
// This process is what trains: it keeps its rank. Without this call and without a sign of training
// a process that only starts the trainer hands its rank over, where a process that descends from it
// attaches a second time as the same rank (the first time may be before it trains). A further
// eroica_attach, where it comes to train itself, takes the rank again once it is free. [setup]
void eroica_keep_rank(void);
// Whether events are taken at this moment. [hot]
bool eroica_enabled(void);
// For a producer without a thread: from here on the core's thread calls look(context) once in 5 to
// 500 ms while events are taken. Both stay valid until the process ends. False: not attached, or
// more than 8 of them. [setup]
bool eroica_watch(void (*look)(void* context), void* context);
// Who this process is in its job, as eroica_attach took it; -1: not known, or not attached. [hot]
int64_t eroica_rank(void);
int64_t eroica_world_size(void);
// Why the last eroica_attach of this process returned false; "" where it did not. Never NULL.
const char* eroica_off_reason(void);

// The capture level that holds (schemas/control.h): 0 marks and collectives, 1 patterns, 2 events.
// [hot]
int eroica_capture_level(void);
// Whether functions of a class are wanted at this moment; a producer that would only make what
// nobody takes asks first. [hot]
bool eroica_wants(int function_class);
// Whether a capture window with full tracing of Python is open at this moment. [hot]
bool eroica_wants_full_trace(void);

// ---- Time

int64_t eroica_now_ns(void);  // [hot]
// From another clock's moment: CLOCK_REALTIME (CUPTI), CLOCK_MONOTONIC. [hot]
int64_t eroica_from_realtime_ns(int64_t realtime_ns);
int64_t eroica_from_monotonic_ns(int64_t monotonic_ns);

// ---- Names [setup]

// The number of a function; the same for the same name, class, wait and parent. parent: the
// caller's number, or EROICA_NO_PARENT. Names longer than 4,096 bytes are cut. Where the table is
// full (16,384) all further functions of a class are one, "(other functions)", counted as
// too_many_functions.
uint32_t eroica_function(const char* name, int function_class, int wait, uint32_t parent);
// The number of a thread or device stream, at most 255; the last one stands for all further ones.
uint8_t eroica_lane(const char* name, int lane_kind);
// id: equal on all members. ranks: global ranks in group order, or NULL where not known.
// At most 4,095; UINT16_MAX beyond.
uint16_t eroica_communicator(uint64_t id, const char* name, const char* description, uint32_t size,
                             const uint32_t* ranks);
// Likewise, and which library moves its data: advice about a hang goes by it. The first that names
// an id says it.
uint16_t eroica_communicator_over(int library, uint64_t id, const char* name,
                                  const char* description, uint32_t size, const uint32_t* ranks);

// ---- Events [hot]

// How many intervals of the calling thread there is room for at this moment. Who brings many at
// once on a thread of its own waits for room, up to half a second; a training thread never does.
uint32_t eroica_room(void);
void eroica_interval(int64_t start_ns, int64_t end_ns, uint32_t function, uint8_t lane);
// EROICA_CAPTURE_SUSPENDED holds until EROICA_CAPTURE_RESUMED of the same capture; the core repeats
// it in every step.
// Batches, optimizer steps, checkpoints and evaluations count where the calling thread trains.
void eroica_mark(int64_t time_ns, int mark_kind, int64_t id);
// value: share of the resource in use, 0 .. 1.
void eroica_sample(int64_t time_ns, int resource, float value);

// A collective or point-to-point operation. Launch it when it is called or enqueued: what was
// launched and has not ended is what a hang is seen by. Returns a ticket, 0 where there is no room
// (it may be used like any other).
typedef struct {
  uint16_t communicator;
  uint8_t operation;
  int32_t peer;       // global rank, point to point only, else -1
  uint64_t sequence;  // or EROICA_NO_SEQUENCE
  uint64_t bytes;
} EroicaCollective;
uint64_t eroica_collective_launched(const EroicaCollective* collective, int64_t time_ns);
// It runs on the device, or waits there for its peers.
void eroica_collective_started(uint64_t ticket);
// It has ended: an interval of class collective, from any thread. function: an eroica_function of
// EROICA_COLLECTIVE. A ticket 0 is counted as lost.
void eroica_collective_ended(uint64_t ticket, int64_t start_ns, int64_t end_ns, uint32_t function,
                             uint8_t lane);
// It was given up (an error, an aborted communicator): it is no longer in flight.
void eroica_collective_dropped(uint64_t ticket);

// What a connection to a peer carried since its last sample (eroica::ConnectionSample).
typedef struct {
  uint32_t peer;  // global rank
  int resource;   // EROICA_NIC, EROICA_NVLINK
  uint64_t bytes;
  int64_t busy_ns;
  uint64_t retransmits;
  uint8_t channels;       // connections side by side; 0: not known
  uint16_t communicator;  // UINT16_MAX: not known
} EroicaConnection;
void eroica_connection(int64_t time_ns, const EroicaConnection* connection);

// The innermost function of the training thread, for progress reports; EROICA_NO_PARENT: not known.
void eroica_training_function(uint32_t function);
// Something that the producer could not take. kind: EROICA_LOST_*, reason: a DropReason of
// producers.
void eroica_lost(int kind, uint8_t reason, uint64_t count);

// ---- The training thread [hot]

// The thread that trains (producers/core/trainer.h says which one that is): steps, optimizer steps,
// batches and EROICA_BACKWARD_BEGIN are its signs, by the thread that calls. The main thread until
// then.
typedef struct {
  int32_t thread;   // as gettid() says; 0: not attached
  uint32_t number;  // of that thread, never given twice; 0: nobody has shown a sign
} EroicaTrainer;
EroicaTrainer eroica_trainer(void);
// Whether it is the calling thread; false where nothing is attached.
bool eroica_trains(void);
// The caller has seen in /proc that the thread of this number has ended.
void eroica_trainer_ended(uint32_t number);
// The caller emits that thread's waits for a processor as intervals, with the functions that they
// interrupted. The core's host sampler then emits none for it.
void eroica_reports_processor_waits(bool reports);
bool eroica_processor_waits_are_reported(void);

// ---- Steps [hot]

// The script counts its own steps: the step before ends, the next begins. What the detector has
// found counts no longer. Returns the id of the step that begins.
int64_t eroica_step(int64_t time_ns);
// What step detection goes by where nobody counts (METHODS 1.4). They are marks, too.
// eroica_mark of EROICA_STEP_END, after an optimizer's step: the step at hand ends here, where
// nothing follows.
void eroica_dataloader_next(int64_t time_ns);
void eroica_optimizer_step(int64_t time_ns);

// ---- What it costs

typedef struct {
  uint64_t events_taken;  // pushed into rings
  uint64_t events_sent;   // in batches that the transport took
  uint64_t events_lost;   // for whatever reason
  uint64_t batches_sent;
  uint64_t bytes_sent;
  uint64_t emitter_cpu_ns;  // processor time of the emitter thread
  uint64_t memory_bytes;    // that the core holds: rings, tables, batches
} EroicaCoreStatistics;
void eroica_core_statistics(EroicaCoreStatistics* out);

#ifdef __cplusplus
}  // extern "C"
#endif
