// The built libnccl-profiler-eroica.so as NCCL uses it: dlopen, dlsym of a function table, a job
// from NCCL's threads, dlclose. The core's calls are this program's (it exports them before the
// library is loaded), so that what came can be read.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "producers/core/producer_core.h"
#include "producers/core/testing/recorded_core.h"
#include "producers/nccl/abi_types.h"
#include "producers/nccl/testing/harness_job.h"
#include "producers/nccl/testing/nccl_harness.h"

// This program as an NCCL that says its version.
namespace {

int nccl_version = 23'203;

}  // namespace

extern "C" int ncclGetVersion(int* version) {
  *version = nccl_version;
  return 0;
}

namespace eroica::nccl {
namespace {

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};
using Library = std::unique_ptr<void, CloseLibrary>;

Library OpenPlugin() { return Library(dlopen(EROICA_NCCL_PLUGIN, RTLD_NOW | RTLD_LOCAL)); }

void* TableOf(const Library& library, int version) {
  return dlsym(library.get(), ("ncclProfiler_v" + std::to_string(version)).c_str());
}

class PluginLibraryTest : public ::testing::TestWithParam<int> {
 protected:
  PluginLibraryTest() {
    recorded_core::Reset();
    const EroicaAttachOptions job = {
        .component = "test", .rank = 0, .world_size = 4, .role = nullptr, .device = 0};
    eroica_attach(&job);
  }
};
INSTANTIATE_TEST_SUITE_P(Abi, PluginLibraryTest, ::testing::Values(3, 4, 5, 6, 7));

TEST(PluginLibrary, ExportsTheVersionsThatItKnowsAndNoOther) {
  const Library library = OpenPlugin();
  ASSERT_NE(library, nullptr) << dlerror();
  for (int version = 1; version <= 9; ++version) {
    EXPECT_EQ(TableOf(library, version) != nullptr, version >= 3 && version <= 7) << version;
  }
  // Every table begins with the profiler's name, and holds five functions.
  for (int version = 3; version <= 7; ++version) {
    void* const* table = static_cast<void* const*>(TableOf(library, version));
    EXPECT_EQ(std::string(static_cast<const char*>(table[0])), "Eroica");
    EXPECT_TRUE(std::all_of(table, table + 6, [](const void* entry) { return entry != nullptr; }));
  }
}

// A fork of NCCL 2.30 has another layout under the name of version 7, and asks for version 6 where
// there is none.
TEST(PluginLibrary, OffersVersion7OnlyToAnNcclThatHasIt) {
  const Library library = OpenPlugin();
  ASSERT_NE(library, nullptr) << dlerror();
  for (const auto& [version, offered] :
       {std::pair(22'602, false), {23'007, false}, {23'100, true}, {23'203, true}}) {
    nccl_version = version;
    EXPECT_EQ(TableOf(library, 7) != nullptr, offered) << version;
    EXPECT_NE(TableOf(library, 6), nullptr);
  }
}

TEST_P(PluginLibraryTest, TakesAJobLoadedAsNcclLoadsIt) {
  const Library library = OpenPlugin();
  ASSERT_NE(library, nullptr) << dlerror();
  const std::unique_ptr<NcclHarness> harness =
      MakeNcclHarness(GetParam(), TableOf(library, GetParam()));
  const uint64_t launched = PlayJob(harness.get(), {.communicators = 2, .kernels = 50});
  EXPECT_EQ(launched, 300u);
  const recorded_core::Recorded all = recorded_core::Read();
  EXPECT_EQ(all.operations.size(), launched);
  EXPECT_EQ(all.misuse, 0u);
  EXPECT_TRUE(std::all_of(all.operations.begin(), all.operations.end(),
                          [](const auto& taken) { return taken.ended != taken.dropped; }));
  EXPECT_NE(harness->mask, 0);
}

// NCCL closes the library with its last communicator, and opens it again with the next.
TEST_P(PluginLibraryTest, IsClosedAndOpenedAgain) {
  for (int round = 0; round < 20; ++round) {
    recorded_core::Reset();
    HarnessCommunicator communicator = {.id = 5, .name = "dp", .nodes = 1, .ranks = 4, .rank = 0};
    void* operation = nullptr;
    std::unique_ptr<NcclHarness> harness;
    {
      const Library library = OpenPlugin();
      ASSERT_NE(library, nullptr) << dlerror();
      harness = MakeNcclHarness(GetParam(), TableOf(library, GetParam()));
      ASSERT_EQ(harness->Init(&communicator), 0);
      operation = harness->Start(communicator, {});
      ASSERT_NE(operation, nullptr);
      harness->Finalize(communicator.context);
    }
    // A proxy thread that comes late finds the code still there.
    EXPECT_EQ(harness->StartKernelChannel(communicator, operation, 0, 1), nullptr);
    EXPECT_EQ(harness->Stop(operation), 0);
    EXPECT_EQ(recorded_core::Read().misuse, 0u);
  }
}

TEST_P(PluginLibraryTest, IsQuietWhereEroicaIsOff) {
  recorded_core::Reset(false);
  const Library library = OpenPlugin();
  ASSERT_NE(library, nullptr) << dlerror();
  const std::unique_ptr<NcclHarness> harness =
      MakeNcclHarness(GetParam(), TableOf(library, GetParam()));
  HarnessCommunicator communicator = {.id = 5, .name = "dp", .nodes = 1, .ranks = 4, .rank = 0};
  EXPECT_EQ(harness->Init(&communicator), 0) << "an init that fails would be tried again for ever";
  EXPECT_EQ(static_cast<uint64_t>(harness->mask), kGroupEvent);
  EXPECT_EQ(harness->Start(communicator, {}), nullptr);
  EXPECT_EQ(harness->Finalize(communicator.context), 0);
}

}  // namespace
}  // namespace eroica::nccl
