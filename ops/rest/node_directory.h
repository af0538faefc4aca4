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
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/findings/topic_follower.h"
#include "schemas/mutex.h"
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
  // Begins to announce the node and to follow the others; once. When this ends, it says that the
  // node has gone, so that nobody asks it in vain.
  void Start(std::string name, std::string url);

  // Those that have announced themselves of late, but for this one; by name.
  std::vector<KnownNode> Others() const;

 private:
  // When it is due.
  absl::Status Announce();
  absl::Status Send(std::string value);
  void Take(const ConsumerRecord& record);

  Log& log_;
  const std::string topic_;
  const std::function<int64_t()> wall_clock_ms_;
  std::string name_;
  std::string url_;
  std::unique_ptr<LogProducer> producer_;  // of the follower's thread, and
  int64_t announce_at_ms_ = 0;             // so is this
  mutable Mutex mutex_;
  std::map<std::string, KnownNode> nodes_
      EROICA_GUARDED_BY(mutex_);  // by name, this one among them
  TopicFollower follower_;        // ends before what it fills
};

}  // namespace eroica
