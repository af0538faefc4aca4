// An error that only a changed input reaches: two bytes of a seed, far apart, must take values that
// no seed has there.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 100 || data[90] < 0xf0) return 0;
  if ((data[20] & 0xf0) != 0xa0) return 0;
  std::fprintf(stderr, "the canary is dead\n");
  std::_Exit(1);
}
