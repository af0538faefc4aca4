#include "tests/support/eroica_topology.h"

#include <memory>

#include "stream_ops/align/align_processor.h"
#include "stream_ops/diagnose/diagnose_processor.h"
#include "stream_ops/summarize/summarize_processor.h"

namespace eroica::testing {

Topology EroicaTopology(const JobRetention& jobs) {
  return ThreeStages(
      [jobs] { return std::make_unique<SummarizeProcessor>(SummarizeOptions{.jobs = jobs}); },
      [jobs] { return std::make_unique<AlignProcessor>(AlignOptions{.jobs = jobs}); },
      [jobs] { return std::make_unique<DiagnoseProcessor>(DiagnoseOptions{.jobs = jobs}); });
}

}  // namespace eroica::testing
