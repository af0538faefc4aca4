// Resource samples of a rank: what ran, averaged over equal periods of true time. A sample stands
// for the period that ends with it. A period is reported when the training thread has passed its
// end: nothing that it launches later runs before that.
// All periods are written, idle ones too: diagnosis tells busy from idle by counting samples.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "schemas/event_batch.h"
#include "tests/evaluation/simulate/rank_state.h"
#include "tests/evaluation/simulate/roofline.h"
#include "tests/evaluation/simulate/simulated_job.h"
#include "tests/evaluation/simulate/step_runner.h"

namespace eroica::simulate {

class SampleWriter {
 public:
  // Both must outlive the writer. begin_ns: before it there is nothing to report.
  SampleWriter(const SimulatedJob& job, const StepRunner& runner, int64_t begin_ns = 0);

  // Samples of the periods that are over, by true time; valid until the next call. To be called
  // before the rank's rows are reported and forgotten.
  std::span<const ResourceSample> Collect(const RankState& rank);

 private:
  // Of one period: nanoseconds x 2^16 of use; of the processor: of waiting.
  using Sums = std::array<int64_t, kResourceCount>;
  struct OpenPeriods {
    int64_t first = 0;  // number of the period that sums[0] belongs to
    std::vector<Sums> sums;
  };

  void AddRows(const RankState& rank, OpenPeriods& open) const;
  void AddTransfers(const RankStream& stream, OpenPeriods& open) const;
  void Add(Resource resource, int64_t start_ns, int64_t end_ns, int64_t level,
           OpenPeriods& open) const;
  void AddActivity(const LinkActivity& activity, int64_t begin_ns, Factor noise,
                   OpenPeriods& open) const;
  int64_t OfMemory(Resource link, int64_t level) const {
    return level * memory_of_link_[static_cast<size_t>(link)] / kUnit;
  }
  void Emit(const RankState& rank, OpenPeriods& open);

  const StepRunner& runner_;
  Roofline roofline_;
  // What moves over a full link is so much of the memory's bandwidth: read where it comes from,
  // written where it goes to.
  std::array<int64_t, kResourceCount> memory_of_link_ = {};
  int64_t period_ns_ = 0;  // 0: no samples
  std::array<bool, kResourceCount> has_ = {};
  std::vector<OpenPeriods> open_;  // by rank
  std::vector<ResourceSample> samples_;
};

}  // namespace eroica::simulate
