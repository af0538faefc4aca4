#include "tests/evaluation/simulate/job_stretch.h"

namespace eroica::simulate {

std::vector<JobStretch> StretchesOf(const SimulatedJob& job) {
  std::vector<JobStretch> stretches = {{.layout = job.layout}};
  for (const Resize& resize : job.resizes) {
    JobStretch next{.number = stretches.back().number + 1,
                    .first_step = resize.step,
                    .pause_ns = resize.pause_ns,
                    .layout = job.layout};
    next.layout.data = resize.data;
    stretches.back().end_step = resize.step;
    stretches.back().leaves_from = next.layout.world_size();
    stretches.push_back(next);
  }
  stretches.back().end_step = job.steps;
  return stretches;
}

}  // namespace eroica::simulate
