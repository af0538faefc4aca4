// The real libnccl beside the plugin, as far as the machine lets it: EROICA_TEST_LIBNCCL names the
// library (libnccl.so.2 of the nvidia-nccl-cu13 wheel); without it these tests are skipped. Where
// there is a device, NCCL loads the plugin and a communicator of one rank must reach the core;
// where there is none, NCCL gives up before that, and the plugin must not have been touched. What
// NCCL does with profilers is called by itself then: functions of its own that the library does not
// export, and that its symbol table names.
#include <dlfcn.h>
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "producers/core/producer_core.h"
#include "producers/core/testing/recorded_core.h"
#include "schemas/capture_gap.h"

namespace eroica::nccl {
namespace {

struct UniqueId {
  std::array<char, 128> bytes;
};
using Communicator = void*;

template <typename Row>
std::vector<Row> RowsAt(std::ifstream& file, uint64_t offset, uint64_t count) {
  std::vector<Row> rows(count);
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(rows.data()),
            static_cast<std::streamsize>(count * sizeof(Row)));
  return rows;
}

// Of the library's symbol table those that it defines: where they lie, from its beginning.
std::map<std::string, uint64_t> SymbolsOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const Elf64_Ehdr header = RowsAt<Elf64_Ehdr>(file, 0, 1).at(0);
  const auto sections = RowsAt<Elf64_Shdr>(file, header.e_shoff, header.e_shnum);
  std::map<std::string, uint64_t> found;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB) continue;
    const Elf64_Shdr& names = sections.at(section.sh_link);
    const auto text = RowsAt<char>(file, names.sh_offset, names.sh_size);
    for (const Elf64_Sym& symbol :
         RowsAt<Elf64_Sym>(file, section.sh_offset, section.sh_size / sizeof(Elf64_Sym))) {
      if (symbol.st_shndx != SHN_UNDEF) found[text.data() + symbol.st_name] = symbol.st_value;
    }
  }
  return found;
}

class RealNcclTest : public ::testing::Test {
 protected:
  static std::string LogFile() { return ::testing::TempDir() + "eroica_real_nccl.log"; }
  // NCCL opens it once in a process.
  static void SetUpTestSuite() { std::remove(LogFile().c_str()); }

  void SetUp() override {
    const char* path = std::getenv("EROICA_TEST_LIBNCCL");
    if (path == nullptr || *path == '\0') {
      GTEST_SKIP() << "EROICA_TEST_LIBNCCL is not set: the path of a real libnccl.so.2";
    }
    setenv("NCCL_PROFILER_PLUGIN", EROICA_NCCL_PLUGIN, 1);
    setenv("NCCL_DEBUG", "INFO", 1);
    setenv("NCCL_DEBUG_SUBSYS", "ALL", 1);
    setenv("NCCL_DEBUG_FILE", LogFile().c_str(), 1);
    setenv("NCCL_SOCKET_IFNAME", "lo", 1);
    recorded_core::Reset();
    nccl_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(nccl_, nullptr) << dlerror();
  }

  template <typename Function>
  Function* Symbol(const char* name) {
    return reinterpret_cast<Function*>(dlsym(nccl_, name));
  }
  // Of what the library does not export; nullptr: this version has none of it.
  template <typename Thing>
  Thing* Hidden(const char* name) {
    if (hidden_.empty()) hidden_ = SymbolsOf(std::getenv("EROICA_TEST_LIBNCCL"));
    Dl_info library{};
    const auto found = hidden_.find(name);
    if (found == hidden_.end() || dladdr(dlsym(nccl_, "ncclGetVersion"), &library) == 0)
      return nullptr;
    return reinterpret_cast<Thing*>(static_cast<char*>(library.dli_fbase) + found->second);
  }
  int Version() {
    int number = 0;
    EXPECT_EQ(Symbol<int(int*)>("ncclGetVersion")(&number), 0);
    return number;
  }
  static std::string Log() {
    std::ostringstream text;
    text << std::ifstream(LogFile()).rdbuf();
    return text.str();
  }

  void* nccl_ = nullptr;
  std::map<std::string, uint64_t> hidden_;
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

TEST_F(RealNcclTest, AMaskThatItsRasSetsIsLeftAsItIs) {
  auto* begin = Hidden<int(void*)>("_Z22ncclProfilerPluginInitP8ncclComm");
  auto* end = Hidden<int(void*)>("_Z26ncclProfilerPluginFinalizeP8ncclComm");
  auto* set_mask = Hidden<void(int)>("_Z26ncclProfilerSetRasOverridei");
  const int* mask = Hidden<int>("ncclProfilerEventMask");
  if (begin == nullptr || end == nullptr || set_mask == nullptr || mask == nullptr)
    GTEST_SKIP() << "NCCL " << Version() << " has no mask from outside";
  constexpr int kAll = 2 | 4 | 64;
  const auto gaps = [](int kind) {
    std::vector<int64_t> ids;
    for (const auto& mark : recorded_core::Read().marks) {
      if (mark.kind == kind) ids.push_back(mark.id);
    }
    return ids;
  };
  // A communicator, of which these functions read what is null here, and write their context.
  std::vector<uint64_t> first(1 << 20), second(1 << 20);
  ASSERT_EQ(begin(first.data()), 0);
  EXPECT_EQ(*mask, kAll) << Log();
  EXPECT_THAT(Log(), ::testing::HasSubstr(Version() >= 23'100 ? "(v7)" : "(v6)"));
  set_mask(0);
  recorded_core::LookAtWatched();
  const int64_t gap = CaptureGap{CaptureKind::kCollectives, 0}.mark_id();
  EXPECT_THAT(gaps(EROICA_CAPTURE_SUSPENDED), ::testing::ElementsAre(gap));
  ASSERT_EQ(begin(second.data()), 0);
  EXPECT_EQ(*mask, 0);
  set_mask(kAll);
  recorded_core::LookAtWatched();
  EXPECT_THAT(gaps(EROICA_CAPTURE_RESUMED), ::testing::ElementsAre(gap));
  EXPECT_EQ(end(second.data()), 0);
  EXPECT_EQ(end(first.data()), 0);
  std::printf("%s", Log().c_str());
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
