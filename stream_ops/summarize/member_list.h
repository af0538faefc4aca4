// Who says who belongs to a communicator. A list in every batch of every member would grow with the
// square of the ranks: 400 MB a window at 10,000.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schemas/event_batch.h"

namespace eroica {

// Up to so many members, every batch has the list.
inline constexpr size_t kListedByAll = 64;
// Of larger communicators, the batches of so many members: others in each window and far apart, so
// that no rank and no host is needed for it.
inline constexpr size_t kListers = 3;

bool ListsMembers(const Communicator& communicator, RankId rank, int64_t window_index);

// What the rank's batch for the window says of the communicator: without the list its size stays.
Communicator AsSaidBy(const Communicator& communicator, RankId rank, int64_t window_index);

}  // namespace eroica
