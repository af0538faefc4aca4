// The draw of a sample that all ranks of a role share: the same on every machine and in every run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace eroica {

// splitmix64 (Steele, Lea, Flood 2014): one multiplication chain a number, good enough to draw
// rows.
class SampleRandom {
 public:
  explicit SampleRandom(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  size_t Below(size_t bound);  // bound > 0

 private:
  uint64_t state_;
};

uint64_t MixSeed(uint64_t seed, uint64_t value);
uint64_t MixSeed(uint64_t seed, std::string_view text);

// `count` of `rows` row numbers, ascending: one from each of `count` equal stretches, so that every
// host and replica has its share. All if count >= rows.
std::vector<uint32_t> DrawRows(size_t count, size_t rows, SampleRandom* random);

// How many of a sample of `sample` of `members` ranks have the function that `running` of them run:
// in proportion.
size_t RunningShare(size_t sample, size_t running, size_t members);

}  // namespace eroica
