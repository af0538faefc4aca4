#include "tests/support/eroica_topology.h"

#include <memory>

#include "stream_ops/align/align_processor.h"
#include "stream_ops/diagnose/diagnose_processor.h"
#include "stream_ops/summarize/summarize_processor.h"

namespace eroica::testing {

Topology EroicaTopology(const JobRetention& jobs, const StagePools& pools) {
  const SummarizeOptions summarize{.jobs = jobs, .memory = pools.summarize};
  const AlignOptions align{.memory = pools.align, .jobs = jobs};
  const DiagnoseOptions diagnose{.jobs = jobs, .memory = pools.diagnose};
  return ThreeStages([summarize] { return std::make_unique<SummarizeProcessor>(summarize); },
                     [align] { return std::make_unique<AlignProcessor>(align); },
                     [diagnose] { return std::make_unique<DiagnoseProcessor>(diagnose); }, pools);
}

}  // namespace eroica::testing
