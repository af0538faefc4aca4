// The nodes of a cluster and where they answer HTTP: each announces itself on the topic
// PREFIX.nodes (compacted, keyed by the node's name) every few seconds, and forgets who has not for
// a while. A thread of its own announces and follows; Kafka alone has such a topic.
//
// Start and the destructor are for the owner; the rest is thread-safe.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "stream_ops/log/log.h"

namespace eroica {

struct KnownNode {
  std::string name;
  std::string url;  // "http://10.0.0.7:8470"
  int64_t announced_ms = 0;
  friend bool operator==(const KnownNode&, const KnownNode&) = default;
};

struct NodeUrl {
  bool tls = false;
  std::string host;  // IPv6 without brackets
  std::string port;
};
// Nothing where it is not http://HOST:PORT or https://HOST:PORT.
std::optional<NodeUrl> ParseNodeUrl(std::string_view url);

std::string NodesTopicName(std::string_view prefix);
std::string EncodeNode(const KnownNode& node);
// Nothing where it is none.
std::optional<KnownNode> DecodeNode(std::string_view json);

class NodeDirectory {
 public:
  static constexpr int64_t kAnnounceEveryMs = 5'000;
  static constexpr int64_t kForgottenAfterMs = 20'000;
  static constexpr size_t kNodesMax = 1'000;

  // log must outlive this.
  NodeDirectory(Log& log, std::string_view topic_prefix, std::function<int64_t()> wall_clock_ms);
  // Says that the node has gone, so that nobody asks it in vain.
  ~NodeDirectory();
  // Begins to announce the node and to follow the others; once.
  void Start(std::string name, std::string url);

  // Those that have announced themselves of late, but for this one; by name.
  std::vector<KnownNode> Others() const;

 private:
  void Run(const std::stop_token& stop);
  absl::Status Follow(const std::stop_token& stop);
  absl::Status Announce(LogProducer& producer, bool going);
  void Take(const ConsumerRecord& record);

  Log& log_;
  const std::string topic_;
  const std::function<int64_t()> wall_clock_ms_;
  std::string name_;
  std::string url_;
  mutable std::mutex mutex_;                // guards nodes_
  std::map<std::string, KnownNode> nodes_;  // by name, this one among them
  std::jthread thread_;
};

}  // namespace eroica
