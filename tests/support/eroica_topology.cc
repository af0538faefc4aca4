#include "tests/support/eroica_topology.h"

#include <memory>

#include "stream_ops/align/align_processor.h"
#include "stream_ops/diagnose/diagnose_processor.h"
#include "stream_ops/summarize/summarize_processor.h"

namespace eroica::testing {

Topology EroicaTopology() {
  return ThreeStages([] { return std::make_unique<SummarizeProcessor>(SummarizeOptions{}); },
                     [] { return std::make_unique<AlignProcessor>(); },
                     [] { return std::make_unique<DiagnoseProcessor>(); });
}

}  // namespace eroica::testing
