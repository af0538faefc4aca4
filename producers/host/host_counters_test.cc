#include "producers/host/host_counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producers/core/testing/recorded_core.h"
#include "producers/host/testing/made_up_files.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::IsEmpty;
using ::testing::Pair;

class HostCountersTest : public ::testing::Test {
 protected:
  HostCountersTest() { recorded_core::Reset(); }
  // All kinds, at one moment.
  void ReadAt(int64_t second) {
    for (int kind = 0; kind < 5; ++kind)
      counters_.Step(1'000 * kNsPerSecond + second * kNsPerSecond);
  }
  static std::vector<float> Samples(int resource) {
    std::vector<float> values;
    for (const auto& sample : recorded_core::Read().samples) {
      if (sample.resource == resource) values.push_back(sample.value);
    }
    return values;
  }
  void Port(const std::string& name, uint64_t sent, uint64_t received) {
    files_.Write("sys/class/net/" + name + "/device/vendor", "x");
    files_.Write("sys/class/net/" + name + "/speed", "1000\n");
    files_.Write("sys/class/net/" + name + "/statistics/tx_bytes", std::to_string(sent) + "\n");
    files_.Write("sys/class/net/" + name + "/statistics/rx_bytes", std::to_string(received) + "\n");
  }
  static auto Near(double value) { return FloatNear(static_cast<float>(value), 1e-5f); }

  MadeUpFiles files_;
  HostCounters counters_{files_.At("proc"), files_.At("sys")};
};

TEST_F(HostCountersTest, ProcessorsOfTheHost) {
  files_.Write("proc/stat", "cpu  100 0 100 800 0 0 0 0 50 0\ncpu0 1 1\n");
  ReadAt(0);
  files_.Write("proc/stat", "cpu  120 0 110 850 10 0 0 10 60 0\ncpu0 1 1\n");
  ReadAt(1);
  EXPECT_THAT(Samples(EROICA_CPU_STEAL), ElementsAre(Near(0.1)));
  EXPECT_THAT(Samples(EROICA_HOST_CPU), ElementsAre(Near(0.3)));
  files_.Write("proc/stat", "cpu  1 0 1 1 1 0 0 1 1 0\n");  // went back
  ReadAt(2);
  files_.Write("proc/stat", "cpu  x\n");
  ReadAt(3);
  files_.Remove("proc/stat");
  ReadAt(4);
  EXPECT_EQ(Samples(EROICA_CPU_STEAL).size(), 1u);
}

TEST_F(HostCountersTest, MemoryInUseAndItsPressure) {
  files_.Write("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 250 kB\n");
  files_.Write("proc/pressure/memory",
               "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\nfull avg10=0 total=0\n");
  ReadAt(0);
  files_.Write("proc/pressure/memory",
               "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\nfull avg10=0 total=0\n");
  ReadAt(2);
  EXPECT_THAT(Samples(EROICA_MEMORY), ElementsAre(Near(0.75), Near(0.75)));
  EXPECT_THAT(Samples(EROICA_MEMORY_PRESSURE), ElementsAre(Near(0.25)));
}

TEST_F(HostCountersTest, TheBusiestDisk) {
  const auto disks = [&](uint64_t sda, uint64_t nvme) {
    files_.Write(
        "proc/diskstats",
        "8 0 sda 1 1 1 1 1 1 1 1 0 " + std::to_string(sda) +
            " 1\n8 1 sda1 1 1 1 1 1 1 1 1 0 999999 1\n" + "259 0 nvme0n1 1 1 1 1 1 1 1 1 0 " +
            std::to_string(nvme) +
            " 1\n259 1 nvme0n1p1 1 1 1 1 1 1 1 1 0 5 1\n7 0 loop0 1 1 1 1 1 1 1 1 0 5 1\n");
  };
  disks(4'294'967'000, 100);
  ReadAt(0);
  disks(204, 200);  // sda's counter of 32 bits wrapped: 500 ms
  ReadAt(1);
  disks(100, 300);  // and went back: another disk
  ReadAt(2);
  EXPECT_THAT(Samples(EROICA_DISK), ElementsAre(Near(0.5), Near(0.1)));
}

TEST_F(HostCountersTest, TheBusiestPortInItsBusierDirection) {
  Port("eth0", 0, 0);
  Port("eth1", 0, 0);
  files_.Write("sys/class/net/docker0/speed", "1000\n");  // no hardware
  files_.Write("sys/class/infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)\n");
  files_.Write("sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "0\n");
  files_.Write("sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", "0\n");
  ReadAt(0);
  Port("eth0", 12'500'000, 62'500'000);
  ReadAt(1);
  files_.Write("sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data",
               "2500000000\n");  // times 4: 80 %
  Port("eth0", 0, 0);            // a port that was reset
  ReadAt(2);
  EXPECT_THAT(Samples(EROICA_HOST_NIC), ElementsAre(Near(0.5), Near(0.8)));
}

TEST_F(HostCountersTest, AHostThatShowsNothingIsSilent) {
  for (int second = 0; second < 100; ++second) ReadAt(second);
  EXPECT_THAT(recorded_core::Read().samples, IsEmpty());
}

TEST_F(HostCountersTest, WhoSpeaksAnewDoesNotReachBack) {
  files_.Write("proc/stat", "cpu  100 0 100 800 0 0 0 0 50 0\n");
  ReadAt(0);
  counters_.Forget();
  files_.Write("proc/stat", "cpu  200 0 100 800 0 0 0 0 50 0\n");
  ReadAt(500);
  EXPECT_THAT(Samples(EROICA_HOST_CPU), IsEmpty());
}

TEST(HostCounterTexts, TakeAnyBytes) {
  for (const char* text : {"", "\n", "cpu \n", "cpu 1 2 3\n", "cpu  1 1 1 1 1 1 1 -1\n",
                           "cpu  99999999999999999999 1 1 1 1 1 1 1\n"}) {
    EXPECT_FALSE(ParseProcessorTicks(text)) << text;
  }
  for (const char* text :
       {"", "MemTotal: 0 kB\nMemAvailable: 0 kB\n", "MemTotal: 5 kB\nMemAvailable: 6 kB\n",
        "MemTotal: 5 kB\nMemAvailable: 5"}) {
    EXPECT_FALSE(ParseMemoryInUse(text)) << text;
  }
  for (const char* text : {"", "some\n", "some total=\n", "some total=x\n", "full total=5\n"})
    EXPECT_FALSE(ParsePressureUs(text)) << text;
  for (const char* text : {"", "100\n", "x Gb/sec\n", "100 Mb/sec\n", "99999999999 Gb/sec\n"})
    EXPECT_FALSE(ParsePortRate(text)) << text;
  EXPECT_DOUBLE_EQ(*ParsePortRate("2.5 Gb/sec (1X SDR)\n"), 2.5e9 / 8);
  EXPECT_THAT(ParseDiskBusyMs("8 0 sda 1\n8 16\n\n8 32 sdc 1 1 1 1 1 1 1 1 0 7 1\n"),
              ElementsAre(Pair("sdc", 7)));
}

}  // namespace
}  // namespace eroica
