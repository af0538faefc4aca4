#include "stream_ops/runtime/topology.h"

#include <utility>

#include "schemas/check.h"

namespace eroica {

Topology::Topology(std::vector<Stage> stages) : stages_(std::move(stages)) {
  for (size_t i = 0; i < stages_.size(); ++i) {
    EROICA_CHECK(!stages_[i].name.empty());
    // separates the parts of a task's keys
    EROICA_CHECK(stages_[i].name.find('/') == std::string::npos);
    EROICA_CHECK(stages_[i].new_processor != nullptr);
    for (size_t j = 0; j < i; ++j) EROICA_CHECK(stages_[i].name != stages_[j].name);
  }
}

const Stage* Topology::Find(std::string_view name) const {
  for (const Stage& stage : stages_) {
    if (stage.name == name) return &stage;
  }
  return nullptr;
}

Topology ThreeStages(ProcessorFactory summarize, ProcessorFactory align, ProcessorFactory diagnose,
                     const StagePools& pools) {
  return Topology(
      {{std::string(kSummarizeStage), Topic::kEvents, std::move(summarize), pools.summarize},
       {std::string(kAlignStage), Topic::kCollectives, std::move(align), pools.align},
       {std::string(kDiagnoseStage), Topic::kPatterns, std::move(diagnose), pools.diagnose}});
}

}  // namespace eroica
