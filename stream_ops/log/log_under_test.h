// What the conformance test of logs (log_conformance.h) runs over, sends and listens with.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "stream_ops/log/log.h"

namespace eroica {

// A log together with what it stands on.
class LogUnderTest {
 public:
  virtual ~LogUnderTest() = default;
  virtual Log& log() = 0;
  // A name that nothing else uses, where logs are shared between tests.
  virtual std::string Unique(std::string name) { return name; }
};

struct LogFactory {
  std::string name;
  // nullptr: what it stands on is not there; the tests are skipped, saying `missing`.
  std::function<std::unique_ptr<LogUnderTest>()> make;
  std::string missing;
  friend std::ostream& operator<<(std::ostream& out, const LogFactory& factory) {
    return out << factory.name;
  }
};

class RecordingListener final : public RebalanceListener {
 public:
  std::optional<int64_t> OnPartitionAssigned(const TopicPartition& partition) override {
    assigned.push_back(partition);
    const auto found = starts.find(partition);
    return found == starts.end() ? std::nullopt : std::optional(found->second);
  }
  void OnPartitionRevoked(const TopicPartition& partition, bool) override {
    revoked.push_back(partition);
  }

  std::map<TopicPartition, int64_t> starts;
  std::vector<TopicPartition> assigned;
  std::vector<TopicPartition> revoked;
};

inline constexpr int64_t kTestTimeMs = 1'700'000'000'000;

inline ProducerRecord TestRecord(std::string topic, std::string value,
                                 std::optional<int32_t> partition = std::nullopt,
                                 std::string key = "k") {
  return {.topic = std::move(topic),
          .key = std::move(key),
          .value = std::move(value),
          .headers = {},
          .timestamp_ms = kTestTimeMs,
          .partition = partition};
}

}  // namespace eroica
