#include "diagnosis/report/shared_processors.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "diagnosis/measurements/mean_step.h"
#include "diagnosis/measurements/processor_shortage.h"
#include "diagnosis/measurements/starvation.h"
#include "diagnosis/report/duration_text.h"
#include "diagnosis/report/finding_measures.h"

namespace eroica {

void SayThatProcessorsAreShared(const CrossRankView& view, RankIndex rank, Finding* finding) {
  const double others = ShareOthersWaitForProcessors(view, rank);
  if (others < kShareOfShortage) return;
  const PatternBatch& batch = *view.ranks()[rank].batch;
  const MeanStep step = MeanStepOf(batch);
  finding->evidence.push_back({std::string(kSharedProcessors), "ns",
                               CriticalProcessorWaitNs(batch) / step.steps,
                               others * step.duration_ns, kShareOfShortage * step.duration_ns,
                               static_cast<uint64_t>(step.steps)});
  finding->caveats.push_back(fmt::format(
      "The host is short of processors: its other ranks wait for one for {} of the time, and which "
      "rank waits longest is chance, unless it is the same one again and again.",
      PercentText(others)));
}

double LateByWaitsForProcessors(const CrossRankView& view, const BusyTime& busy) {
  const double others = ShareOthersWaitForProcessors(view, busy.rank);
  const PatternBatch& batch = *view.ranks()[busy.rank].batch;
  const MeanStep step = MeanStepOf(batch);
  return std::max(0.0, CriticalProcessorWaitNs(batch) / step.steps - others * step.duration_ns);
}

}  // namespace eroica
