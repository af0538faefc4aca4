// Signals that ask a process to end, as schedulers, people and launchers send them, and whether a
// process that lives has got one. Pure but for /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace eroica {

// SIGTERM, SIGINT or SIGHUP.
bool AsksForEnd(int32_t signal);

// Whether it is certain that nobody has sent the signal to the process yet: it would end by it, and
// it neither has it pending nor ends. The caller holds a descriptor of the process, and looks after
// this whether it lives. False where it handles, blocks or ignores the signal: it may have got it.
bool IsUntold(pid_t pid, int32_t signal);

}  // namespace eroica
