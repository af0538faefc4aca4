#include "producers/simulate/rendezvous.h"

namespace eroica::simulate {

void Rendezvous::Forget() {
  if (ended_ == base_) return;
  last_forgotten_end_ns_ = EndOf(ended_ - 1);
  slots_.erase(slots_.begin(), slots_.begin() + static_cast<ptrdiff_t>(ended_ - base_));
  base_ = ended_;
  if (transfers.size() > kMostTransfers) transfers.clear();
}

}  // namespace eroica::simulate
