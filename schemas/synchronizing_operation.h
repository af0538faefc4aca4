// Collectives that no member leaves before every member has entered. Of the others (broadcast,
// reduce, send, receive) some members may be done while one has not come. And collectives whose
// members give and take equally much.
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

// NCCL's all-gather takes one size, and so does gloo's; PyTorch makes uneven ones of broadcasts.
constexpr bool NeedsOneSize(CollectiveOperation operation) {
  switch (operation) {
    case CollectiveOperation::kAllReduce:
    case CollectiveOperation::kAllGather:
    case CollectiveOperation::kBroadcast:
    case CollectiveOperation::kReduce:
    case CollectiveOperation::kReduceScatter: return true;
    default: return false;
  }
}

}  // namespace eroica
