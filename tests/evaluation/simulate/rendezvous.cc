#include "tests/evaluation/simulate/rendezvous.h"

namespace eroica::simulate {

void Rendezvous::Forget() {
  open_.erase(open_.begin(), open_.begin() + static_cast<ptrdiff_t>(first_open_));
  first_open_ = 0;
  if (ended_.empty()) return;
  last_forgotten_end_ns_ = ended_.back().end_ns;
  base_ = ended();
  ended_.clear();
  if (transfers.size() > kMostTransfers) transfers.clear();
}

}  // namespace eroica::simulate
