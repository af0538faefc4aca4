#include "diagnosis/differential/shared_sample.h"

#include <algorithm>
#include <numeric>

#include "schemas/check.h"

namespace eroica {

uint64_t SampleRandom::Next() {
  state_ += 0x9e3779b97f4a7c15;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

size_t SampleRandom::Below(size_t bound) {
  EROICA_CHECK(bound > 0);
  return static_cast<size_t>(Next() % bound);
}

uint64_t MixSeed(uint64_t seed, uint64_t value) {
  return SampleRandom(seed ^ SampleRandom(value).Next()).Next();
}

uint64_t MixSeed(uint64_t seed, std::string_view text) {
  for (const char c : text)
    seed = MixSeed(seed, static_cast<uint64_t>(static_cast<unsigned char>(c)));
  return MixSeed(seed, text.size());
}

std::vector<uint32_t> DrawRows(size_t count, size_t rows, SampleRandom* random) {
  std::vector<uint32_t> drawn(std::min(count, rows));
  if (count >= rows) {
    std::iota(drawn.begin(), drawn.end(), 0u);
    return drawn;
  }
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = i * rows / count;
    const size_t end = (i + 1) * rows / count;
    drawn[i] = static_cast<uint32_t>(begin + random->Below(end - begin));
  }
  return drawn;
}

size_t RunningShare(size_t sample, size_t running, size_t members) {
  if (sample >= members) return running;
  return std::min(running, (sample * running + members / 2) / members);
}

}  // namespace eroica
