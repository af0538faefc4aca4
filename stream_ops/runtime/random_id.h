// An identity that nobody else has had: of a writer of changelogs, of a member without a name.
#pragma once

#include <cstdint>
#include <random>

namespace eroica {

inline uint64_t RandomId() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

}  // namespace eroica
