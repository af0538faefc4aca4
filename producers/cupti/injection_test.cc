// liberoica_cupti.so in a process of its own, without a driver: it may only be useless.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace eroica {
namespace {

struct Ran {
  int status = -1;
  std::string out;
  std::string err;
};

Ran RunHost(const std::string& environment, const std::string& host = INJECTION_HOST,
            const std::string& argument = "") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / ("injection_" + std::to_string(getpid()));
  fs::create_directories(folder);
  const fs::path err = folder / "err";
  const std::string command =
      "env -u EROICA_DISABLE EROICA_RANK=0 EROICA_NULL=1 EROICA_EXCHANGE='" +
      (folder / "exchange").string() + "' " + environment + " '" + host +
      "' '" INJECTED_LIBRARY "' " + argument + " 2>'" + err.string() + "'";
  Ran ran;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return ran;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    ran.out.push_back(static_cast<char>(c));
  }
  ran.status = pclose(pipe);
  std::ifstream file(err);
  ran.err.assign(std::istreambuf_iterator<char>(file), {});
  fs::remove_all(folder);
  return ran;
}

void ExpectUnhurt(const Ran& ran) {
  EXPECT_EQ(ran.status, 0) << ran.out << ran.err;
  EXPECT_EQ(ran.out, "went on\n");
  EXPECT_LE(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
}

TEST(Injection, ALibraryThatIsNotThereIsOneLine) {
  const Ran ran = RunHost("EROICA_CUPTI_LIBRARY=/nonexistent/libcupti.so");
  ExpectUnhurt(ran);
  EXPECT_NE(ran.err.find("libcupti was not found"), std::string::npos) << ran.err;
}

TEST(Injection, SwitchedOffItSaysNothingOfItsOwn) {
  const Ran ran = RunHost("EROICA_DISABLE=1 EROICA_CUPTI_LIBRARY=/nonexistent/libcupti.so");
  ExpectUnhurt(ran);
}

TEST(Injection, SettingsThatMakeNoSenseDoNoHarm) {
  for (const char* setting :
       {"EROICA_CUPTI_FLUSH_MS=x", "EROICA_CUPTI_FLUSH_MS=-9", "EROICA_CUPTI_FLUSH_MS=1e99",
        "EROICA_CUPTI_COLLECTIVES=perhaps",
        "EROICA_CUPTI_LIBRARY=", "CUDA_HOME=", "EROICA_CUPTI_LIBRARY=/dev/null"}) {
    ExpectUnhurt(RunHost(setting));
  }
}

// A library that is none of NVIDIA's: no function of CUPTI is in it.
TEST(Injection, ALibraryWithoutCuptisFunctions) {
  const Ran ran = RunHost("EROICA_CUPTI_LIBRARY=libm.so.6");
  ExpectUnhurt(ran);
  EXPECT_NE(ran.err.find("is missing in the libcupti"), std::string::npos) << ran.err;
}

TEST(Injection, WithADeviceItTakesYieldsTakesBackAndFlushesAtExit) {
  const Ran ran = RunHost("EROICA_CUPTI_FLUSH_MS=50", DEVICE_HOST, "'" FAKE_LIBCUPTI "'");
  EXPECT_EQ(ran.status, 0) << ran.out << ran.err;
  EXPECT_EQ(ran.out, "flushed at exit\n");
}

// torchrun starts CUDA, and is not rank 0.
TEST(Injection, AProcessThatNobodyCallsARankIsNotAttached) {
  const std::string no_rank = "EROICA_RANK= RANK= OMPI_COMM_WORLD_RANK= PMI_RANK= PMIX_RANK= ";
  ExpectUnhurt(
      RunHost(no_rank + "EROICA_CUPTI_LIBRARY='" FAKE_LIBCUPTI "'", INJECTION_HOST, "no-rank"));
}

TEST(Injection, TheRealLibraryWithoutADriverIsOneLine) {
  const char* library = std::getenv("EROICA_TEST_CUPTI_LIBRARY");
  if (library == nullptr)
    GTEST_SKIP()
        << "needs NVIDIA's libcupti, which Debian has not: ops/cuda_headers.sh fetches it, "
           "EROICA_TEST_CUPTI_LIBRARY names it; the fake in its place is tested always";
  const Ran ran = RunHost("EROICA_CUPTI_LIBRARY='" + std::string(library) + "'");
  ExpectUnhurt(ran);
  if (std::filesystem::exists("/dev/nvidiactl"))
    GTEST_SKIP() << "there is a driver: what is said without one cannot be tested here";
  EXPECT_NE(ran.err.find("no device work is recorded"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace eroica
