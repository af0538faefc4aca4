// How a process ended that is not this one's child.
#pragma once

#include <sys/types.h>

#include "schemas/process_end.h"

namespace eroica {

// From a status of waitpid(2).
ProcessEnd EndOfStatus(int wait_status);

// Of the process behind the descriptor, which has ended. Its launcher may take its status at any
// moment: before that /proc has it, after that the kernel from 6.15 on. Where neither has it, how
// it ended is not known.
ProcessEnd ReadEnd(int pid_descriptor, pid_t pid);

}  // namespace eroica
