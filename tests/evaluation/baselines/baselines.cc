#include "tests/evaluation/baselines/baselines.h"

#include "tests/evaluation/baselines/aegis.h"
#include "tests/evaluation/baselines/eroica_printed.h"
#include "tests/evaluation/baselines/holmes.h"
#include "tests/evaluation/baselines/longest_duration.h"
#include "tests/evaluation/baselines/stage_frontier.h"
#include "tests/evaluation/baselines/three_sigma.h"

namespace eroica {
namespace {

template <typename Operator>
std::unique_ptr<DiagnosisOperator> Make() {
  return std::make_unique<Operator>();
}

}  // namespace

std::vector<BaselineMethod> Baselines() {
  return {
      {"longest_duration",
       "blames the rank and function whose mean duration is the most times the fleet's median",
       "the habit of reading profiles", Make<LongestDurationBaseline>},
      {"three_sigma",
       "blames, function by function, ranks above mean + 3 sigma of the mean durations",
       "a baseline of Holmes, NSDI'25", Make<ThreeSigmaBaseline>},
      {"eroica_printed",
       "expectation ranges and differential distance of patterns, as the paper prints them",
       "EROICA, NSDI'26, arXiv 2506.08528", Make<EroicaPrintedBaseline>},
      {"aegis",
       "short collectives name who computes slowly, low throughput who communicates slowly, launch "
       "counts who hangs",
       "Aegis, NSDI'25; C4D, HPCA'25, arXiv 2406.04594", Make<AegisBaseline>},
      {"holmes", "the normal operator among abnormal ones, followed back over groups and pipeline",
       "Holmes, NSDI'25", Make<HolmesBaseline>},
      {"stage_frontier",
       "the leader of the frontier of cumulative stage times, where it is decided",
       "StageFrontier, arXiv 2606.06751", Make<StageFrontierBaseline>},
  };
}

}  // namespace eroica
