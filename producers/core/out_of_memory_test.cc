// A training process that has no memory left: what Eroica throws for want of it must not end the
// process.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "producers/core/producer_core.h"
#include "producers/core/testing/attached_core.h"

namespace eroica {
namespace {

rlim_t AddressSpaceBytes() {
  unsigned long pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%lu", &pages) != 1) std::_Exit(2);
  std::fclose(file);
  return static_cast<rlim_t>(pages) * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

// Names communicators of 4 MiB each until one of them throws.
void TrainWithoutMemory() {
  const AttachedCore core;
  if (!core.attached()) std::_Exit(3);
  const std::vector<uint32_t> ranks(uint32_t{1} << 20);
  constexpr rlim_t kLeft = 16 << 20;
  const rlimit limit{.rlim_cur = AddressSpaceBytes() + kLeft, .rlim_max = RLIM_INFINITY};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(4);
  for (uint64_t id = 1; id < 100 && eroica_enabled(); ++id)
    eroica_communicator(id, "name", "", static_cast<uint32_t>(ranks.size()), ranks.data());
  std::_Exit(eroica_enabled() ? 5 : 0);
}

TEST(OutOfMemory, SwitchesTheCollectionOffAndTheHostGoesOn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(TrainWithoutMemory(), testing::ExitedWithCode(0),
              "no longer captured: an exception of a library .std::bad_alloc.*Training goes on");
}

}  // namespace
}  // namespace eroica
