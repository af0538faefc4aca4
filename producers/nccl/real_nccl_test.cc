// The real libnccl beside the plugin, as far as the machine lets it: EROICA_TEST_LIBNCCL names the
// library (libnccl.so.2 of the nvidia-nccl-cu13 wheel); without it these tests are skipped. Where
// there is a device, NCCL loads the plugin and a communicator of one rank must reach the core;
// where there is none, NCCL gives up before that, and the plugin must not have been touched.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "producers/core/producer_core.h"
#include "producers/core/testing/recorded_core.h"

namespace eroica::nccl {
namespace {

struct UniqueId {
  std::array<char, 128> bytes;
};
using Communicator = void*;

class RealNcclTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("EROICA_TEST_LIBNCCL");
    if (path == nullptr || *path == '\0') {
      GTEST_SKIP() << "EROICA_TEST_LIBNCCL is not set: the path of a real libnccl.so.2";
    }
    log_ = ::testing::TempDir() + "eroica_real_nccl.log";
    std::remove(log_.c_str());
    setenv("NCCL_PROFILER_PLUGIN", EROICA_NCCL_PLUGIN, 1);
    setenv("NCCL_DEBUG", "INFO", 1);
    setenv("NCCL_DEBUG_SUBSYS", "ALL", 1);
    setenv("NCCL_DEBUG_FILE", log_.c_str(), 1);
    setenv("NCCL_SOCKET_IFNAME", "lo", 1);
    recorded_core::Reset();
    nccl_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(nccl_, nullptr) << dlerror();
  }

  template <typename Function>
  Function* Symbol(const char* name) {
    return reinterpret_cast<Function*>(dlsym(nccl_, name));
  }
  std::string Log() const {
    std::ostringstream text;
    text << std::ifstream(log_).rdbuf();
    return text.str();
  }

  void* nccl_ = nullptr;
  std::string log_;
};

TEST_F(RealNcclTest, LoadsBesideThePlugin) {
  void* plugin = dlopen(EROICA_NCCL_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(plugin, nullptr) << dlerror();
  auto* version = Symbol<int(int*)>("ncclGetVersion");
  auto* unique_id = Symbol<int(UniqueId*)>("ncclGetUniqueId");
  ASSERT_TRUE(version != nullptr && unique_id != nullptr);
  int number = 0;
  EXPECT_EQ(version(&number), 0);
  EXPECT_GE(number, 22'600) << "the first version with kernel channels";
  RecordProperty("nccl_version", number);
  UniqueId id{};
  EXPECT_EQ(unique_id(&id), 0);
  dlclose(plugin);
}

TEST_F(RealNcclTest, ACommunicatorLoadsThePluginWhereThereIsADevice) {
  auto* unique_id = Symbol<int(UniqueId*)>("ncclGetUniqueId");
  auto* init_rank = Symbol<int(Communicator*, int, UniqueId, int)>("ncclCommInitRank");
  auto* destroy = Symbol<int(Communicator)>("ncclCommDestroy");
  ASSERT_TRUE(unique_id != nullptr && init_rank != nullptr && destroy != nullptr);
  UniqueId id{};
  ASSERT_EQ(unique_id(&id), 0);
  Communicator communicator = nullptr;
  const int result = init_rank(&communicator, 1, id, 0);
  RecordProperty("ncclCommInitRank", result);
  std::printf("ncclCommInitRank: %d\n%s", result, Log().c_str());
  const recorded_core::Recorded all = recorded_core::Read();
  if (result != 0) {
    EXPECT_TRUE(all.attached.empty());
    EXPECT_TRUE(all.communicators.empty());
    return;
  }
  EXPECT_EQ(all.communicators.size(), 1u);
  EXPECT_EQ(all.communicators.at(0).size, 1u);
  EXPECT_EQ(destroy(communicator), 0);
}

}  // namespace
}  // namespace eroica::nccl
