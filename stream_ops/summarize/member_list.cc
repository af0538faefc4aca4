#include "stream_ops/summarize/member_list.h"

#include <algorithm>

namespace eroica {

bool ListsMembers(const Communicator& communicator, RankId rank, int64_t window_index) {
  const size_t size = communicator.ranks.size();
  if (size <= kListedByAll) return true;
  const size_t first = static_cast<uint64_t>(window_index) % size;
  for (size_t i = 0; i < kListers; ++i) {
    if (communicator.ranks[(first + i * size / kListers) % size] == rank.value) return true;
  }
  return false;
}

Communicator AsSaidBy(const Communicator& communicator, RankId rank, int64_t window_index) {
  if (ListsMembers(communicator, rank, window_index)) return communicator;
  return {.id = communicator.id,
          .name = communicator.name,
          .description = communicator.description,
          .size = std::max(communicator.size, static_cast<uint32_t>(communicator.ranks.size())),
          .ranks = {},
          .library = communicator.library};
}

}  // namespace eroica
