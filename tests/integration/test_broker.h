// The brokers of integration tests: the shared one that ops/test.sh starts, and brokers of a test's
// own that it may kill. Tests run in the root of the repository, where ops/kafka.sh is.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "schemas/check.h"

namespace eroica {

inline constexpr const char* kNoBrokerMessage =
    "EROICA_TEST_BROKER is not set: run ops/test.sh, or export EROICA_TEST_BROKER=$(ops/kafka.sh "
    "start)";

// host:port of the shared broker, or nothing: skip the test with kNoBrokerMessage then.
inline std::optional<std::string> SharedBroker() {
  const char* address = std::getenv("EROICA_TEST_BROKER");
  if (address == nullptr || *address == '\0') return std::nullopt;
  return address;
}

// A name for a topic or group that no other test and no earlier run uses.
inline std::string UniqueName(const std::string& name) {
  static int count = 0;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return name + "-" + std::to_string(::getpid()) + "-" + std::to_string(now.tv_sec % 1'000'000) +
         std::to_string(now.tv_nsec / 1'000) + "-" + std::to_string(count++);
}

// A broker of the test's own, on a free port.
class OwnBroker {
 public:
  // flags: more for `ops/kafka.sh start`. version: one of those that it knows; empty: its own.
  explicit OwnBroker(const std::string& flags = "", std::string version = "")
      : version_(std::move(version)) {
    folder_ = ::testing::TempDir() + "eroica-broker-XXXXXX";
    EROICA_CHECK(::mkdtemp(folder_.data()) != nullptr);
    address_ = Run("start --free-port " + flags);
  }
  ~OwnBroker() {
    Run("kill");
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  OwnBroker(const OwnBroker&) = delete;
  OwnBroker& operator=(const OwnBroker&) = delete;

  // Empty: it did not start; kafka.sh has said why.
  const std::string& address() const { return address_; }
  const std::string& folder() const { return folder_; }
  void Kill() { Run("kill"); }
  // On the same address. False: it did not start.
  bool Restart() { return Run("start") == address_; }

 private:
  // The last line that kafka.sh prints.
  std::string Run(const std::string& arguments) const {
    const std::string version = version_.empty() ? "" : "KAFKA_VERSION=" + version_ + " ";
    const std::string command = version + "ops/kafka.sh " + arguments + " '" + folder_ + "'";
    FILE* output = ::popen(command.c_str(), "r");
    EROICA_CHECK(output != nullptr);
    std::string line;
    std::array<char, 256> buffer;
    while (std::fgets(buffer.data(), buffer.size(), output) != nullptr) line = buffer.data();
    if (::pclose(output) != 0) return "";
    if (!line.empty() && line.back() == '\n') line.pop_back();
    return line;
  }

  const std::string version_;
  std::string folder_;
  std::string address_;
};

}  // namespace eroica
