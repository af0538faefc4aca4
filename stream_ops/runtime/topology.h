// The one definition of what runs after what: stages, each with the topic that it reads and the
// logic that it runs. A node, a bounded run and the tests all run this same definition. Immutable
// once made; processors are made by its factories, one a task.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stream_ops/memory_pool.h"
#include "stream_ops/processor.h"
#include "stream_ops/topics.h"

namespace eroica {

// Called once a task, on the task's thread.
using ProcessorFactory = std::function<std::unique_ptr<Processor>()>;

struct Stage {
  std::string name;  // part of the group id and of the store's keys: never rename a released stage
  Topic input = Topic::kEvents;
  ProcessorFactory new_processor;
  // What its processors hold on this node; without one there is no bound.
  std::shared_ptr<MemoryPool> memory = nullptr;
};

// In the order of the data: no stage writes to the input of an earlier one, so that a bounded run
// may drain them one after the other.
class Topology {
 public:
  explicit Topology(std::vector<Stage> stages);

  const std::vector<Stage>& stages() const { return stages_; }
  // nullptr where there is no such stage.
  const Stage* Find(std::string_view name) const;

 private:
  std::vector<Stage> stages_;
};

inline constexpr std::string_view kSummarizeStage = "summarize";
inline constexpr std::string_view kAlignStage = "align";
inline constexpr std::string_view kDiagnoseStage = "diagnose";

// summarize (events) -> align (collectives) -> diagnose (patterns), as DESIGN 2 draws it.
// pools: those that the processors are made with; without any there is no bound.
struct StagePools {
  std::shared_ptr<MemoryPool> summarize = nullptr;
  std::shared_ptr<MemoryPool> align = nullptr;
  std::shared_ptr<MemoryPool> diagnose = nullptr;
};
Topology ThreeStages(ProcessorFactory summarize, ProcessorFactory align, ProcessorFactory diagnose,
                     const StagePools& pools = {});

}  // namespace eroica
