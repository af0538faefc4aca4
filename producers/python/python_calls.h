// What the Python package calls through ctypes, beside the core's own C ABI: one cheap call for
// what a script says at every step, with the time taken here. Python hands in moments of
// CLOCK_MONOTONIC (time.monotonic_ns). All calls are thread-safe, hold no lock and do nothing where
// Eroica is off; the GIL stays with the caller.
#pragma once

#include <stdint.h>

extern "C" {

// Attaches the core as "python". rank, world_size, device: -1 where not known. False: see
// eroica_off_reason.
bool eroica_python_attach(int64_t rank, int64_t world_size, int32_t device);

// The step that runs ends, the next begins: its id.
int64_t eroica_python_step();
void eroica_python_dataloader_next();
// An optimizer steps: what step detection goes by; begins_stage: the first since the backward pass,
// a mark of the stage.
void eroica_python_optimizer_step(bool begins_stage);
// A mark (EROICA_*_BEGIN ...) at this moment.
void eroica_python_mark(int mark_kind);

// The number of a function of class Python without a caller; wait as EROICA_WAIT_*, or -1 to go by
// the name.
uint32_t eroica_python_function(const char* name, int wait);
// The number of a Python frame's function, called by parent (or EROICA_NO_PARENT), named as
// PythonFrameName does; the parent's where the frame is the interpreter's own. search_path: of
// sys.path, a folder a line.
uint32_t eroica_python_frame(uint32_t parent, const char* file, int line, const char* function,
                             const char* search_path);
// The number of a collective's function, e.g. "gloo:all_reduce".
uint32_t eroica_python_collective_function(const char* name);
// A region of that function begins; covers: what stacks show in it is that function's (a wait, a
// compiler). It ends with its interval.
void eroica_python_enter(uint32_t function, bool covers);
// From start_monotonic_ns to now, on the calling thread's lane.
void eroica_python_interval(int64_t start_monotonic_ns, uint32_t function);

// The training thread waits in that function for a batch that this process loads; process 0: it
// does no longer.
void eroica_python_await_worker(int32_t process, uint32_t function);

// Added to an operation: the caller is inside until it ends or is dropped.
enum { EROICA_PYTHON_WAITS = 0x80 };
// Launched now: its ticket. sequence: or EROICA_NO_SEQUENCE.
uint64_t eroica_python_collective_launched(uint16_t communicator, uint8_t operation, int32_t peer,
                                           uint64_t sequence, uint64_t bytes);
// Ended now; it began at start_monotonic_ns. asynchronous: the training thread ran on meanwhile.
void eroica_python_collective_ended(uint64_t ticket, int64_t start_monotonic_ns, uint32_t function,
                                    bool asynchronous);
void eroica_python_collective_dropped(uint64_t ticket);

}  // extern "C"
