// The thread of a running node that looks at its stages and stops them when the node is asked to
// stop. Nothing else would stop the node: where this thread ends by an exception, the stages are
// stopped, too, and the node ends with the error.
#pragma once

#include <absl/status/status.h>

#include <functional>
#include <stop_token>

#include "schemas/boundary_thread.h"

namespace eroica {

class NodeWatch {
 public:
  // Both are called on the thread. look: at once, then every second. stop_stages: once, when
  // StopRequested() or End() asks for it, or when a look has thrown.
  NodeWatch(std::function<void()> look, std::function<void()> stop_stages);

  // Ends the thread, if it has not ended by itself. kInternal: an exception had ended it.
  absl::Status End();

 private:
  void Watch(const std::stop_token& stop);

  const std::function<void()> look_;
  const std::function<void()> stop_stages_;
  absl::Status ended_by_;  // the thread's until it has ended
  BoundaryThread thread_;  // ends first
};

}  // namespace eroica
