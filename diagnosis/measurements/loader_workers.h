// Where the workers of a data loader were while the training thread waited for their batches. Live
// producers look at a worker's stack during the wait (producers/python/worker_stacks.h): the rows
// are hidden (schemas/hidden_row.h), and called by the wait.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schemas/pattern_batch.h"

namespace eroica {

// PyTorch's own: it calls the data set and what makes a batch of samples, which are the script's.
inline bool IsOfDataLoader(std::string_view frame) {
  return frame.starts_with("torch/utils/data/") || frame.starts_with("enumerate(DataLoader)");
}

struct WorkersPlace {
  std::string function;  // the innermost one that holds most of the time
  std::string stack;     // its callers within the worker, outermost first, from the script's on
  double share = 0;      // of the time for which a worker's stack is known
};

// wait: the function's name. Nothing where no stack is known, or most of the time was in no single
// function.
std::optional<WorkersPlace> PlaceOfWorkers(const PatternBatch& batch, std::string_view wait);

}  // namespace eroica
