#include "diagnosis/report/shared_processors.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "diagnosis/measurements/processor_shortage.h"
#include "diagnosis/report/duration_text.h"
#include "diagnosis/report/finding_measures.h"

namespace eroica {

void SayThatProcessorsAreShared(const CrossRankView& view, RankIndex rank, Finding* finding) {
  const ProcessorWaits waits = ProcessorWaitsOf(view, rank);
  if (!waits.are_shared()) return;
  finding->evidence.push_back({std::string(kSharedProcessors), "ns", waits.own_ns, waits.others_ns,
                               kShareOfShortage * waits.step_ns,
                               static_cast<uint64_t>(waits.steps)});
  finding->caveats.push_back(fmt::format(
      "The host is short of processors: its other ranks wait for one for {} of the time, and which "
      "rank waits longest is chance, unless it is the same one again and again.",
      PercentText(waits.others_ns / waits.step_ns)));
}

}  // namespace eroica
