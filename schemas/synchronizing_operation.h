// Collectives that no member leaves before every member has entered. Of the others (broadcast,
// reduce, send, receive) some members may be done while one has not come.
#pragma once

#include "schemas/event_batch.h"

namespace eroica {

constexpr bool Synchronizes(CollectiveOperation operation) {
  switch (operation) {
    case CollectiveOperation::kAllReduce:
    case CollectiveOperation::kAllGather:
    case CollectiveOperation::kReduceScatter:
    case CollectiveOperation::kAllToAll:
    case CollectiveOperation::kBarrier: return true;
    default: return false;
  }
}

}  // namespace eroica
