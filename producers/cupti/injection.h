// What liberoica_cupti.so exports. The CUDA driver loads the library by CUDA_INJECTION64_PATH and
// calls InitializeInjection in cuInit; whoever loads it otherwise calls that by hand, before or
// after CUDA has started. Nothing here throws or ends the process: what a library throws stops in
// InitializeInjection and in the capture's thread, and the other calls only lock and wait.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Attaches to the core and starts to take device work. Once a process; always 1: whatever is
// missing, CUDA goes on, and at most one line on standard error says why nothing is taken.
int InitializeInjection(void);

// Around another CUPTI client's session (torch.profiler): yield before it starts, resume after it
// has stopped. Yield waits until CUPTI is free, at most timeout_ms; false: it is not. Both may be
// called more often than needed, from any thread, and are no-ops where nothing is taken.
bool eroica_cupti_yield(uint32_t timeout_ms);
void eroica_cupti_resume(void);
// Where the capture stands: 0 off, 1 idle (capture level 0), 2 taking, 3 yielded, 4 another client
// has CUPTI.
int eroica_cupti_state(void);

#ifdef __cplusplus
}  // extern "C"
#endif
