#include "ops/config/memory_shares.h"

#include <algorithm>

namespace eroica {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
// librdkafka unpacks all of a broker's answer before it looks at its bounds, so that an answer has
// little in it: one record set, or small ones of this part of the memory together. A set shrinks to
// a hundredth or less of itself.
constexpr int64_t kAnswersOfAll = 32'768;
constexpr int64_t kAnswerMin = 4 << 10;
// Larger than any set that our producers make, and than what brokers say of a large cluster.
constexpr int64_t kUnpackedMin = int64_t{16} << 20;
constexpr int64_t kUnpackedMax = int64_t{100} << 20;
// What librdkafka keeps of a record beside its bytes is not counted by its bound in bytes.
constexpr int64_t kOfRecord = 512;
// How old what metrics show of Kafka's clients may be.
constexpr int64_t kStatisticsMs = 5'000;

}  // namespace

MemoryShares SharesOf(const NodeConfig& config) {
  const int64_t all = config.runtime.memory_mib * kMiB;
  const auto share = [](int64_t mib, int64_t otherwise) {
    return mib > 0 ? mib * kMiB : otherwise;
  };
  const int64_t threads = static_cast<int64_t>(std::max<size_t>(1, config.node.roles.size())) *
                          config.runtime.threads_per_stage;
  return {.state = share(config.state.memory_mib, all / 8),
          .summarize = share(config.summarize.memory_mib, all / 4),
          .align = share(config.align.memory_mib, all / 8),
          .diagnose = share(config.diagnose.memory_mib, all * 3 / 16),
          .shown = share(config.rest.memory_mib, all / 16),
          .fetched = std::max(kMiB, all / 16 / threads),
          .fetch = std::clamp(all / kAnswersOfAll, kAnswerMin, kMiB),
          .unpacked = std::clamp(all / 16, kUnpackedMin, kUnpackedMax),
          .unsent = std::max(kMiB, all / 32 / threads)};
}

std::map<std::string, std::string> KafkaPropertiesOf(const NodeConfig& config) {
  const MemoryShares shares = SharesOf(config);
  std::map<std::string, std::string> properties = config.kafka.properties;
  properties.insert({{"queued.max.messages.kbytes", std::to_string(shares.fetched >> 10)},
                     {"queued.min.messages", std::to_string(shares.fetched / kOfRecord)},
                     {"fetch.max.bytes", std::to_string(shares.fetch)},
                     {"receive.message.max.bytes", std::to_string(shares.unpacked)},
                     {"queue.buffering.max.kbytes", std::to_string(shares.unsent >> 10)},
                     {"statistics.interval.ms", std::to_string(kStatisticsMs)}});
  return properties;
}

}  // namespace eroica
