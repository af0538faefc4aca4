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
#include "schemas/drop_reason.h"

extern "C" void* __libc_malloc(size_t bytes);

namespace {

thread_local bool has_no_memory = false;

}  // namespace

// The core's operator new, which is its own, takes what it gives from here.
extern "C" void* malloc(size_t bytes) { return has_no_memory ? nullptr : __libc_malloc(bytes); }

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

// A job that has lost events, which is said at its end: for that line this thread has no memory.
void LoseEvents() {
  const AttachedCore core;
  if (!core.attached()) std::_Exit(3);
  eroica_lost(EROICA_LOST_COLLECTIVE, static_cast<uint8_t>(DropReason::kRingFull), 1'000);
}
void EndWithoutMemory() {
  LoseEvents();
  has_no_memory = true;
  std::exit(0);  // detaches
}
void DetachWithoutMemory() {
  LoseEvents();
  has_no_memory = true;
  eroica_detach(60'000);
  std::_Exit(0);
}

constexpr const char* kMayBeLost =
    "what was captured last may be lost: an exception of a library .std::bad_alloc.*Training goes "
    "on";

// Throws at producers/core/producer_core.cc: a call of the host's
TEST(OutOfMemory, SwitchesTheCollectionOffAndTheHostGoesOn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(TrainWithoutMemory(), testing::ExitedWithCode(0),
              "no longer captured: an exception of a library .std::bad_alloc.*Training goes on");
}

// Throws at producers/core/attachment.cc: the end of the process
TEST(OutOfMemory, AnEndThatThrowsIsSaidAndTheExitCodeIsTheHosts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(EndWithoutMemory(), testing::ExitedWithCode(0), kMayBeLost);
}

// Throws at producers/core/producer_core.cc: a detach
TEST(OutOfMemory, ADetachThatThrowsIsSaid) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(DetachWithoutMemory(), testing::ExitedWithCode(0), kMayBeLost);
}

}  // namespace
}  // namespace eroica
