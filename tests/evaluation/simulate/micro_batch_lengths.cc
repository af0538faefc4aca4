#include "tests/evaluation/simulate/micro_batch_lengths.h"

#include <algorithm>

#include "tests/evaluation/simulate/fault_effects.h"

namespace eroica::simulate {

MicroBatchLengths::MicroBatchLengths(double spread, uint32_t micro_batches, uint64_t key)
    : table_(spread),
      to_mean_(LogFactor(-spread * spread / 2)),
      micro_batches_(micro_batches),
      key_(key) {}

void MicroBatchLengths::MultiplyInto(uint32_t replica, uint32_t step,
                                     std::vector<Factor>& lengths) const {
  lengths.resize(micro_batches_, kUnit);
  for (uint32_t i = 0; i < micro_batches_; ++i) {
    Multiply(lengths[i], table_.Of(NoiseKey(key_, replica, step, i)));
    Multiply(lengths[i], to_mean_);
    lengths[i] = std::max(lengths[i], Factor{1});
  }
}

}  // namespace eroica::simulate
