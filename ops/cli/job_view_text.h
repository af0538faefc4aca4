// The view of a job as lines of a terminal. Pure functions, any thread.
#pragma once

#include <string>
#include <vector>

#include "ops/cli/job_view.h"
#include "ops/cli/terminal.h"

namespace eroica {

struct JobViewTextOptions {
  ScreenSize size;     // no line is wider; at most so many lines
  bool color = false;  // of severities
  bool utf8 = false;   // blocks in the line of steps
};

// note: of the node: which one it is, or that it does not answer.
std::vector<std::string> JobViewText(const JobView& view, const std::string& note,
                                     const JobViewTextOptions& options);

}  // namespace eroica
